package smtp

import "sync/atomic"

// memory bounds the octets that the bodies of all sessions hold, from the first that does
// not fit a pooled buffer until Deliver returned. Small mails are not counted: what a
// thousand sessions hold of those is bounded by their number.
type memory struct {
	limit int64
	held  atomic.Int64
}

// take reserves n octets if there is room.
func (m *memory) take(n int64) bool {
	if m.held.Add(n) > m.limit {
		m.held.Add(-n)
		return false
	}
	return true
}

func (m *memory) give(n int64) { m.held.Add(-n) }

// fits reports whether n octets could be taken now.
func (m *memory) fits(n int64) bool { return m.held.Load()+n <= m.limit }
