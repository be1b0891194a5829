package lines

import "time"

const (
	// minProgress is what a span must bring, in octets. A peer slower than that is not
	// sending mail.
	minProgress = 1 << 10
	// heldProgress is the part of the memory it holds that a body must bring in a span: at 30 s
	// the pace at which 15 minutes are just enough, so that memory is held by sending alone.
	heldProgress = 32
)

// Progress bounds the time of a body: so many octets in every span, more when it holds much
// memory, and the whole by end.
// Only the session's goroutine uses it.
type Progress struct {
	Until  time.Time // the next octets must come by then
	span   time.Duration
	end    time.Time
	octets int64
}

// NewProgress begins a body now.
func NewProgress(span, whole time.Duration) Progress {
	now := time.Now()
	p := Progress{span: span, end: now.Add(whole)}
	p.restart(now)
	return p
}

// Moved counts octets that came for a body that holds so many.
func (p *Progress) Moved(n int, held int64) {
	if p.octets += int64(n); p.octets >= max(minProgress, held/heldProgress) {
		p.Restart()
	}
}

// Restart begins a span now; the end of the whole stays.
func (p *Progress) Restart() { p.restart(time.Now()) }

func (p *Progress) restart(now time.Time) {
	p.octets = 0
	if p.Until = now.Add(p.span); p.Until.After(p.end) {
		p.Until = p.end
	}
}
