package actors

import (
	"sync"

	"inboxd/internal/account"
)

// subscriptions remembers the webhooks of accounts that had events lately, so that an event
// costs a map look-up. A committed change of an account's webhooks makes it forget them.
type subscriptions struct {
	store Store

	mu      sync.Mutex
	changes uint64 // counts forget: what was read before one is not remembered after it
	known   map[account.ID][]account.Webhook
}

// subscriptionsKept bounds how many accounts are remembered; beyond it some are read again.
const subscriptionsKept = 65_536

func newSubscriptions(store Store) *subscriptions {
	return &subscriptions{store: store, known: map[account.ID][]account.Webhook{}}
}

// of returns the account's webhooks, oldest first. Nobody may change them.
func (s *subscriptions) of(id account.ID) ([]account.Webhook, error) {
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

func (s *subscriptions) makeRoom() {
	for id := range s.known {
		if len(s.known) < subscriptionsKept {
			return
		}
		delete(s.known, id)
	}
}

// find returns one webhook, nil when it is gone.
func (s *subscriptions) find(id account.ID, hook int64) (*account.Webhook, error) {
	hooks, err := s.of(id)
	for i := range hooks {
		if hooks[i].ID == hook {
			return &hooks[i], nil
		}
	}
	return nil, err
}

// forget is called after each commit that changed the account's webhooks, and before
// anybody is told of it.
func (s *subscriptions) forget(id account.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes++
	delete(s.known, id)
}
