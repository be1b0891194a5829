package webhooks

import (
	"maps"
	"sync"

	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
)

// Subscriptions caches the webhooks of accounts with recent events, so that an event costs a map
// look-up. A committed change of an account's webhooks invalidates its entry.
type Subscriptions struct {
	store Store

	mu      sync.Mutex
	changes uint64 // counts Forget: what was read before a Forget is not cached after it
	known   map[account.ID][]account.Webhook
}

// subscriptionsKept bounds how many accounts are cached; beyond it, entries are evicted and read
// again.
const subscriptionsKept = 65_536

// NewSubscriptions returns an empty cache over the store.
func NewSubscriptions(store Store) *Subscriptions {
	return &Subscriptions{store: store, known: map[account.ID][]account.Webhook{}}
}

// of returns the account's webhooks, oldest first. Callers must not modify them.
func (s *Subscriptions) of(id account.ID) ([]account.Webhook, error) {
	s.mu.Lock()
	hooks, known := s.known[id]
	changes := s.changes
	s.mu.Unlock()
	if known {
		return hooks, nil
	}
	hooks, err := s.store.Webhooks(id)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changes == changes {
		s.makeRoom()
		s.known[id] = hooks
	}
	return hooks, nil
}

func (s *Subscriptions) makeRoom() {
	for id := range s.known {
		if len(s.known) < subscriptionsKept {
			return
		}
		delete(s.known, id)
	}
}

// find returns one webhook, or nil if it is gone.
func (s *Subscriptions) find(id account.ID, hook int64) (*account.Webhook, error) {
	hooks, err := s.of(id)
	for i := range hooks {
		if hooks[i].ID == hook {
			return &hooks[i], nil
		}
	}
	return nil, err
}

// Forget is called after each commit that changed the account's webhooks, and before the change is
// acknowledged.
func (s *Subscriptions) Forget(id account.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes++
	delete(s.known, id)
}

// Lose drops the accounts of a group that this node has released. A look-up in progress fails, or
// its result is not cached.
func (s *Subscriptions) Lose(g partition.Group) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes++
	maps.DeleteFunc(s.known, func(id account.ID, _ []account.Webhook) bool { return id.Partition().Group() == g })
	return nil
}
