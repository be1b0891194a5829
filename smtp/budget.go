package smtp

import (
	"net/netip"
	"sync"
)

// budget limits the octets that the bodies of all sessions hold. A body is charged from when it no
// longer fits a pooled buffer until the message is stored. Smaller ones are not charged: the number
// of sessions limits what they hold. Every session uses it.
type budget struct {
	limit int64

	mu   sync.Mutex // guards all fields below
	held int64
	of   map[netip.Addr]int64 // what each peer.group holds
}

// share is what the sessions of one peer.group may take from a budget: a quarter of it, so that it
// takes four groups to block a fifth. A group may exceed its quarter as long as half of the budget
// stays free for others, because a site may receive all its messages from one relay.
type share struct {
	*budget
	group netip.Addr
}

// take reserves n octets if they are available, and reports whether it did.
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

// fits reports whether take would reserve n octets now.
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

// total returns the octets that all groups hold.
func (b *budget) total() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}
