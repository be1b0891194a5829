package smtp

import (
	"net/netip"
	"sync"
)

// budget bounds the octets that the bodies of all sessions hold, from the first that does
// not fit a pooled buffer until the mail is stored. Small mails are not counted: what a
// thousand sessions hold of those is bounded by their number. Every session uses it.
type budget struct {
	limit int64

	mu   sync.Mutex // guards all below
	held int64
	of   map[netip.Addr]int64 // what of it each peer.group holds
}

// share is what the sessions of one peer.group have of a budget: a quarter, so that it takes
// four of them to keep a fifth from its mail; beyond that what leaves half of all to others,
// for a house may have all its mail from one relay.
type share struct {
	*budget
	group netip.Addr
}

// take reserves n octets if there is room.
func (s share) take(n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.room(n) {
		return false
	}
	s.add(n)
	return true
}

func (s share) give(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(-n)
}

// fits reports whether n octets could be taken now.
func (s share) fits(n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.room(n)
}

func (s share) room(n int64) bool {
	all, ours := s.held+n, s.of[s.group]+n
	return n == 0 || all <= s.limit/2 || all <= s.limit && ours <= s.limit/4
}

func (s share) add(n int64) {
	s.held += n
	if s.of[s.group] += n; s.of[s.group] == 0 {
		delete(s.of, s.group)
	}
}

// total is what all hold.
func (b *budget) total() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}
