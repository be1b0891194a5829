package smtp

import "sync/atomic"

// budget bounds the octets that the bodies of all sessions hold, from the first that does
// not fit a pooled buffer until the mail is stored. Small mails are not counted: what a
// thousand sessions hold of those is bounded by their number. Every session uses it.
type budget struct {
	limit int64
	held  atomic.Int64
}

// take reserves n octets if there is room.
func (b *budget) take(n int64) bool {
	if b.held.Add(n) > b.limit {
		b.held.Add(-n)
		return false
	}
	return true
}

func (b *budget) give(n int64) { b.held.Add(-n) }

// fits reports whether n octets could be taken now.
func (b *budget) fits(n int64) bool { return b.held.Load()+n <= b.limit }
