package lines

import "time"

const (
	// minProgress is how many octets must arrive in a span. A peer that is slower is not sending a
	// message.
	minProgress = 1 << 10
	// heldProgress sets the share of its held memory that a body must receive in a span. With spans
	// of 30 s, a body at that rate needs 15 minutes. So only a peer that keeps sending can hold
	// memory.
	heldProgress = 32
)

// Progress limits the time of a body: a number of octets in every span, more if the body holds much
// memory, and the whole body by end. Only the session's goroutine uses it.
type Progress struct {
	Until  time.Time // the octets of this span must arrive by then
	span   time.Duration
	end    time.Time
	octets int64
}

// NewProgress returns the limits of a body that begins now.
func NewProgress(span, whole time.Duration) Progress {
	now := time.Now()
	p := Progress{span: span, end: now.Add(whole)}
	p.restart(now)
	return p
}

// Moved counts n octets that arrived for a body that holds held octets of memory.
func (p *Progress) Moved(n int, held int64) {
	if p.octets += int64(n); p.octets >= max(minProgress, held/heldProgress) {
		p.Restart()
	}
}

// Restart begins a new span now. The end of the whole body does not move.
func (p *Progress) Restart() { p.restart(time.Now()) }

func (p *Progress) restart(now time.Time) {
	p.octets = 0
	if p.Until = now.Add(p.span); p.Until.After(p.end) {
		p.Until = p.end
	}
}
