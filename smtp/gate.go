package smtp

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// gateTarget is how long even the quickest delivery may take before new mail is put
	// off: beyond it work only queues. A spam scanner may take five seconds, which is no
	// queue.
	gateTarget = 6 * time.Second
	// gateWindow is how long the gate stays as it is. Shorter than gateTarget, so that
	// what queues when it closes keeps the house busy until it opens.
	gateWindow = time.Second
	// gateQueue is how many deliveries must be running for that: fewer are no queue,
	// however long a huge mail takes.
	gateQueue = 50
)

// gate puts mail off at MAIL while deliveries queue, so that what was let in is stored in
// time. Like CoDel it looks at the quickest delivery of a window: a burst has quick ones, a
// standing queue has none.
type gate struct {
	mu       sync.Mutex
	closed   bool
	from     time.Time // when this window began
	ended    bool      // a delivery ended in this window
	quickest time.Duration
	running  atomic.Int32 // written under mu
	lastEnd  time.Time    // of a delivery, or when the first of those running began
}

// open reports whether new mail is taken.
func (g *gate) open(now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.roll(now)
	return !g.closed || g.running.Load() < gateQueue
}

// begin and end enclose a delivery.
func (g *gate) begin(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.roll(now)
	if g.running.Add(1) == 1 {
		g.lastEnd = now
	}
}

func (g *gate) end(began, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.roll(now)
	g.running.Add(-1)
	if took := now.Sub(began); !g.ended || took < g.quickest {
		g.quickest = took
	}
	g.ended, g.lastEnd = true, now
}

// roll judges a window that is over and begins the next.
func (g *gate) roll(now time.Time) {
	if now.Sub(g.from) < gateWindow {
		return
	}
	stuck := g.running.Load() > 0 && now.Sub(g.lastEnd) >= gateTarget
	g.closed = g.ended && g.quickest >= gateTarget || !g.ended && stuck
	g.from, g.ended = now, false
}
