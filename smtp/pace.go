package smtp

import (
	"slices"
	"sync"
	"time"
)

const (
	paceLook = 100 * time.Millisecond
	// pacePatience is the longest that a sender waits for its turn, after which it goes on without: others may
	// hold theirs for minutes, for they wait for their peers.
	pacePatience = time.Second
	// paceLeast is how many mails are always under way.
	paceLeast = 8
)

// pace lets fewer mails be under way at once while mail crowds others out (Options.Crowds). Who comes at MAIL beyond
// that waits a moment for the reply: a queue at the door costs nothing, one before the processors is everybody's. No
// mail is refused for it.
//
// Every session uses it; mu guards all below.
type pace struct {
	mu    sync.Mutex
	under int             // mails under way
	most  int             // how many may be before others wait
	line  []chan struct{} // those who wait, who came first in front
	paced uint64          // mails that waited
}

// enter waits for a turn, but not long, nor once stop is closed. leave ends it.
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

// ask takes a turn, or a place in the line.
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

// goOn leaves the line for a turn beyond those that there are, unless one was given meanwhile.
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

// judge lets fewer be under way while they crowd others out, and more when they no longer do, up to all.
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

// serve gives out the turns that there are.
func (p *pace) serve() {
	for p.under < p.most && len(p.line) > 0 {
		close(p.line[0])
		p.line = p.line[1:]
		p.under++
	}
}

// keepPace judges until the server ends.
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
