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
	NextDeadline  time.Time // the octets of this span must arrive by then
	spanLength    time.Duration
	finalDeadline time.Time
	spanOctets    int64
}

// NewProgress returns the limits of a body that begins now.
func NewProgress(span, whole time.Duration) Progress {
	now := time.Now()
	p := Progress{spanLength: span, finalDeadline: now.Add(whole)}
	p.restartSpan(now)
	return p
}

// AddOctets counts n octets that arrived for a body that holds held octets of memory.
func (p *Progress) AddOctets(n int, held int64) {
	if p.spanOctets += int64(n); p.spanOctets >= max(minProgress, held/heldProgress) {
		p.RestartSpan()
	}
}

// RestartSpan begins a new span now. The end of the whole body does not move.
func (p *Progress) RestartSpan() { p.restartSpan(time.Now()) }

func (p *Progress) restartSpan(now time.Time) {
	p.spanOctets = 0
	if p.NextDeadline = now.Add(p.spanLength); p.NextDeadline.After(p.finalDeadline) {
		p.NextDeadline = p.finalDeadline
	}
}
