package smtp

import (
	"slices"
	"sync"
	"time"
)

const (
	// paceLook is how often Options.MailDominates is polled.
	paceLook = 100 * time.Millisecond
	// pacePatience is the longest that a sender waits for a slot. After that it continues without
	// one, because other transactions may hold their slots for minutes while they wait for their
	// peers.
	pacePatience = time.Second
	// paceLeast is how many transactions may always be open.
	paceLeast = 8
)

// admissionControl limits how many transactions are open at once while mail takes too much of the
// CPU (Options.MailDominates). A sender beyond that limit waits briefly for the reply to MAIL: a
// queue before the work begins costs nothing, while one for the CPU delays everybody. No message is
// refused because of it.
//
// Every session uses it; mu guards all fields below.
type admissionControl struct {
	mu          sync.Mutex
	activeCount int             // open transactions
	maxActive   int             // how many may be open before others wait
	waitQueue   []chan struct{} // waiting transactions, first in, first out
	waitedCount uint64          // transactions that waited
	isIdle      bool            // no transaction is open, and the limit is all
	idleEnds    chan struct{}   // isIdle became false; has room for it
}

// acquireSlot waits for a slot, at most pacePatience and until stop is closed. leave frees the slot.
func (p *admissionControl) acquireSlot(stop <-chan struct{}) {
	turn := p.requestSlot()
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

// requestSlot takes a slot and returns nil, or queues up and returns a channel that is closed with
// a slot.
func (p *admissionControl) requestSlot() (turn chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isIdle {
		p.isIdle = false
		p.idleEnds <- struct{}{}
	}
	if p.activeCount < p.maxActive {
		p.activeCount++
		return nil
	}
	p.waitedCount++
	turn = make(chan struct{})
	p.waitQueue = append(p.waitQueue, turn)
	return turn
}

// goOn leaves the queue and takes a slot beyond the limit, unless one was granted meanwhile.
func (p *admissionControl) goOn(turn chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.waitQueue, turn); i >= 0 {
		p.waitQueue = slices.Delete(p.waitQueue, i, i+1)
		p.activeCount++
	}
}

func (p *admissionControl) totalWaited() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waitedCount
}

func (p *admissionControl) releaseSlot() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.activeCount--
	p.grantSlots()
}

// adjustLimit lowers the limit while mail takes too much of the CPU; otherwise it raises it, up to all.
// It reports whether there is nothing more to adjust until idleEnds.
func (p *admissionControl) adjustLimit(crowds bool, all int) (idle bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if crowds {
		p.maxActive = max(paceLeast, min(p.maxActive, p.activeCount)*3/4)
	} else {
		p.maxActive = min(all, p.maxActive+p.maxActive/16+1)
	}
	p.grantSlots()
	p.isIdle = p.activeCount == 0 && p.maxActive == all
	return p.isIdle
}

// grantSlots grants the free slots.
func (p *admissionControl) grantSlots() {
	for p.activeCount < p.maxActive && len(p.waitQueue) > 0 {
		close(p.waitQueue[0])
		p.waitQueue = p.waitQueue[1:]
		p.activeCount++
	}
}

// keepPace adjusts the limit until the server shuts down. An idle server does not wake for it.
func (s *Server) keepPace() {
	next := time.NewTimer(paceLook)
	defer next.Stop()
	for {
		select {
		case <-s.stopChan:
			return
		case <-s.admissionControl.idleEnds:
			next.Reset(paceLook)
		case <-next.C:
			if !s.admissionControl.adjustLimit(s.opts.MailDominates(), s.opts.MaxConns) {
				next.Reset(paceLook)
			}
		}
	}
}
