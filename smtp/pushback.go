package smtp

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// pushbackTarget is how long storing even the fastest message may take before new messages are
	// deferred. Beyond it, work only queues up. A spam scanner may take five seconds, which does
	// not mean that there is a queue.
	pushbackTarget = 6 * time.Second
	// pushbackSpan is how long a decision holds. It is shorter than pushbackTarget, so that what is
	// queued when messages are deferred keeps the server busy until they are accepted again.
	pushbackSpan = time.Second
	// pushbackQueue is how many messages must be in progress for messages to be deferred. Fewer are
	// not a queue, however long a huge message takes.
	pushbackQueue = 50
)

// pushback defers new messages at MAIL while storing is overloaded, so that accepted messages are
// stored in time. Like CoDel it looks at the fastest message of a span: a burst has fast ones, a
// standing queue has none.
//
// Every session uses it; mu guards all fields below.
type pushback struct {
	mu       sync.Mutex
	on       bool
	from     time.Time // start of the current span
	ended    bool      // storing a message ended, with or without success, in this span
	quickest time.Duration
	storing  *atomic.Int32 // messages being stored now; read elsewhere too
	lastEnd  time.Time     // or when the first of those in progress began
}

// takes reports whether new messages are accepted.
func (p *pushback) takes(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.roll(now)
	return !p.on || p.storing.Load() < pushbackQueue
}

// begin and end must enclose the storing of a message.
func (p *pushback) begin(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.roll(now)
	if p.storing.Add(1) == 1 {
		p.lastEnd = now
	}
}

func (p *pushback) end(began, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.roll(now)
	p.storing.Add(-1)
	if took := now.Sub(began); !p.ended || took < p.quickest {
		p.quickest = took
	}
	p.ended, p.lastEnd = true, now
}

// roll decides when a span is over, and begins the next.
func (p *pushback) roll(now time.Time) {
	if now.Sub(p.from) < pushbackSpan {
		return
	}
	if p.on = p.quickest >= pushbackTarget; !p.ended {
		p.on = p.storing.Load() > 0 && now.Sub(p.lastEnd) >= pushbackTarget
	}
	p.from, p.ended = now, false
}
