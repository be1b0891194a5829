package lines

import "time"

// minProgress is what a span must bring, in octets. A peer slower than that is not sending
// mail.
const minProgress = 1 << 10

// Progress bounds the time of a body: so many octets in every span, and the whole by end.
// Only the session's goroutine uses it.
type Progress struct {
	Until  time.Time // the next octets must come by then
	span   time.Duration
	end    time.Time
	octets int
}

// NewProgress begins a body now.
func NewProgress(span, whole time.Duration) Progress {
	now := time.Now()
	p := Progress{span: span, end: now.Add(whole)}
	p.restart(now)
	return p
}

// Moved counts octets that came.
func (p *Progress) Moved(n int) {
	if p.octets += n; p.octets >= minProgress {
		p.restart(time.Now())
	}
}

func (p *Progress) restart(now time.Time) {
	p.octets = 0
	if p.Until = now.Add(p.span); p.Until.After(p.end) {
		p.Until = p.end
	}
}
