package webhooks

import (
	"maps"
	"sync"

	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
)

// SubscriptionCache caches the webhooks of accounts with recent events, so that an event costs a map
// look-up. A committed change of an account's webhooks invalidates its entry.
type SubscriptionCache struct {
	store Store

	mu             sync.Mutex
	changeCount    uint64 // counts Forget: what was read before a Forget is not cached after it
	cachedWebhooks map[account.ID][]account.Webhook
}

// subscriptionsKept bounds how many accounts are cached; beyond it, entries are evicted and read
// again.
const subscriptionsKept = 65_536

// NewSubscriptions returns an empty cache over the store.
func NewSubscriptions(store Store) *SubscriptionCache {
	return &SubscriptionCache{store: store, cachedWebhooks: map[account.ID][]account.Webhook{}}
}

// of returns the account's webhooks, oldest first. Callers must not modify them.
func (s *SubscriptionCache) of(id account.ID) ([]account.Webhook, error) {
	s.mu.Lock()
	hooks, known := s.cachedWebhooks[id]
	changes := s.changeCount
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
	if s.changeCount == changes {
		s.makeRoom()
		s.cachedWebhooks[id] = hooks
	}
	return hooks, nil
}

func (s *SubscriptionCache) makeRoom() {
	for id := range s.cachedWebhooks {
		if len(s.cachedWebhooks) < subscriptionsKept {
			return
		}
		delete(s.cachedWebhooks, id)
	}
}

// findWebhook returns one webhook, or nil if it is gone.
func (s *SubscriptionCache) findWebhook(id account.ID, hook int64) (*account.Webhook, error) {
	hooks, err := s.of(id)
	for i := range hooks {
		if hooks[i].ID == hook {
			return &hooks[i], nil
		}
	}
	return nil, err
}

// ForgetAccount is called after each commit that changed the account's webhooks, and before the
// change is acknowledged.
func (s *SubscriptionCache) ForgetAccount(id account.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changeCount++
	delete(s.cachedWebhooks, id)
}

// ReleaseGroup drops the accounts of a group that this node has released. A look-up in progress
// fails, or its result is not cached.
func (s *SubscriptionCache) ReleaseGroup(g partition.Group) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changeCount++
	maps.DeleteFunc(s.cachedWebhooks, func(id account.ID, _ []account.Webhook) bool { return id.HomePartition().Group() == g })
	return nil
}
