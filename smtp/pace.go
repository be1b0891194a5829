package smtp

import (
	"slices"
	"sync"
	"time"
)

const (
	// paceLook is how often Options.Crowds is polled.
	paceLook = 100 * time.Millisecond
	// pacePatience is the longest that a sender waits for a slot. After that it continues without
	// one, because other transactions may hold their slots for minutes while they wait for their
	// peers.
	pacePatience = time.Second
	// paceLeast is how many transactions may always be open.
	paceLeast = 8
)

// pace limits how many transactions are open at once while mail takes too much of the CPU
// (Options.Crowds). A sender beyond that limit waits briefly for the reply to MAIL: a queue before
// the work begins costs nothing, while one for the CPU delays everybody. No message is refused
// because of it.
//
// Every session uses it; mu guards all fields below.
type pace struct {
	mu    sync.Mutex
	under int             // open transactions
	most  int             // how many may be open before others wait
	line  []chan struct{} // waiting transactions, first in, first out
	paced uint64          // transactions that waited
}

// enter waits for a slot, at most pacePatience and until stop is closed. leave frees the slot.
func (p *pace) enter(stop <-chan struct{}) {
	turn := p.ask()
	if turn == nil {
		return
	}
	patience := time.NewTimer(pacePatience)
	defer patience.Stop()
	select {
	case <-turn:
	case <-patience.C:
		p.goOn(turn)
	case <-stop:
		p.goOn(turn)
	}
}

// ask takes a slot and returns nil, or queues up and returns a channel that is closed with a slot.
func (p *pace) ask() (turn chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.under < p.most {
		p.under++
		return nil
	}
	p.paced++
	turn = make(chan struct{})
	p.line = append(p.line, turn)
	return turn
}

// goOn leaves the queue and takes a slot beyond the limit, unless one was granted meanwhile.
func (p *pace) goOn(turn chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.line, turn); i >= 0 {
		p.line = slices.Delete(p.line, i, i+1)
		p.under++
	}
}

func (p *pace) waited() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.paced
}

func (p *pace) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.under--
	p.serve()
}

// judge lowers the limit while mail takes too much of the CPU; otherwise it raises it, up to all.
func (p *pace) judge(crowds bool, all int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if crowds {
		p.most = max(paceLeast, min(p.most, p.under)*3/4)
	} else {
		p.most = min(all, p.most+p.most/16+1)
	}
	p.serve()
}

// serve grants the free slots.
func (p *pace) serve() {
	for p.under < p.most && len(p.line) > 0 {
		close(p.line[0])
		p.line = p.line[1:]
		p.under++
	}
}

// keepPace adjusts the limit until the server shuts down.
func (s *Server) keepPace() {
	tick := time.NewTicker(paceLook)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.pace.judge(s.opts.Crowds(), s.opts.MaxConns)
		case <-s.stop:
			return
		}
	}
}
