package smtp

import (
	"net/netip"
	"sync"
)

// memoryBudget limits the octets that the bodies of all sessions hold. A body is charged from when
// it no longer fits a pooled buffer until the message is stored. Smaller ones are not charged: the
// number of sessions limits what they hold. Every session uses it.
type memoryBudget struct {
	maxOctets int64

	mu         sync.Mutex // guards all fields below
	heldOctets int64
	of         map[netip.Addr]int64 // what each peer.limitGroup holds
}

// budgetShare is what the sessions of one peer.limitGroup may take from a budget: a quarter of it,
// so that it takes four groups to block a fifth. A group may exceed its quarter as long as half of
// the budget stays free for others, because a site may receive all its messages from one relay.
type budgetShare struct {
	*memoryBudget
	peerGroup netip.Addr
}

// reserveOctets reserves n octets if they are available, and reports whether it did.
func (s budgetShare) reserveOctets(n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.hasRoom(n) {
		return false
	}
	s.addHeld(n)
	return true
}

func (s budgetShare) releaseOctets(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addHeld(-n)
}

// canReserve reports whether take would reserve n octets now.
func (s budgetShare) canReserve(n int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hasRoom(n)
}

func (s budgetShare) hasRoom(n int64) bool {
	all, ours := s.heldOctets+n, s.of[s.peerGroup]+n
	return n == 0 || all <= s.maxOctets/2 || all <= s.maxOctets && ours <= s.maxOctets/4
}

func (s budgetShare) addHeld(n int64) {
	s.heldOctets += n
	if s.of[s.peerGroup] += n; s.of[s.peerGroup] == 0 {
		delete(s.of, s.peerGroup)
	}
}

// totalHeld returns the octets that all groups hold.
func (b *memoryBudget) totalHeld() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.heldOctets
}
