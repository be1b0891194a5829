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
	mu               sync.Mutex
	on               bool
	spanStart        time.Time // start of the current span
	transactionEnded bool      // storing a message ended, with or without success, in this span
	fastestStore     time.Duration
	storingCount     *atomic.Int32 // messages being stored now; read elsewhere too
	lastEnd          time.Time     // or when the first of those in progress began
}

// acceptsMessages reports whether new messages are accepted.
func (p *pushback) acceptsMessages(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rollSpan(now)
	return !p.on || p.storingCount.Load() < pushbackQueue
}

// beginStore and end must enclose the storing of a message.
func (p *pushback) beginStore(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rollSpan(now)
	if p.storingCount.Add(1) == 1 {
		p.lastEnd = now
	}
}

func (p *pushback) endStore(began, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rollSpan(now)
	p.storingCount.Add(-1)
	if took := now.Sub(began); !p.transactionEnded || took < p.fastestStore {
		p.fastestStore = took
	}
	p.transactionEnded, p.lastEnd = true, now
}

// rollSpan decides when a span is over, and begins the next.
func (p *pushback) rollSpan(now time.Time) {
	if now.Sub(p.spanStart) < pushbackSpan {
		return
	}
	if p.on = p.fastestStore >= pushbackTarget; !p.transactionEnded {
		p.on = p.storingCount.Load() > 0 && now.Sub(p.lastEnd) >= pushbackTarget
	}
	p.spanStart, p.transactionEnded = now, false
}
