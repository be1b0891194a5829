package smtp

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	// pushbackTarget is how long storing even the quickest mail may take before new mail
	// is put off: beyond it work only queues. A spam scanner may take five seconds, which
	// is no queue.
	pushbackTarget = 6 * time.Second
	// pushbackSpan is how long it stays decided. Shorter than pushbackTarget, so that what
	// queues when mail is put off keeps the house busy until it no longer is.
	pushbackSpan = time.Second
	// pushbackQueue is how many mails must be underway for that: fewer are no queue,
	// however long a huge mail takes.
	pushbackQueue = 50
)

// pushback puts mail off at MAIL while what is being stored queues, so that what was let in
// is stored in time. Like CoDel it looks at the quickest mail of a span: a burst has quick
// ones, a standing queue has none.
//
// Every session uses it; mu guards all below.
type pushback struct {
	mu       sync.Mutex
	on       bool
	from     time.Time // when this span began
	ended    bool      // a mail was stored, or refused, in this span
	quickest time.Duration
	storing  *atomic.Int32 // mails, now; others read it
	lastEnd  time.Time     // or when the first of those underway began
}

// takes reports whether new mail is taken.
func (p *pushback) takes(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.roll(now)
	return !p.on || p.storing.Load() < pushbackQueue
}

// begin and end enclose the storing of a mail.
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

// roll judges a span that is over and begins the next.
func (p *pushback) roll(now time.Time) {
	if now.Sub(p.from) < pushbackSpan {
		return
	}
	if p.on = p.quickest >= pushbackTarget; !p.ended {
		p.on = p.storing.Load() > 0 && now.Sub(p.lastEnd) >= pushbackTarget
	}
	p.from, p.ended = now, false
}
