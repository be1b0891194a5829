package webhooks

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"inboxd/internal/core/account"
	"inboxd/internal/core/webhook"
	"inboxd/persist/persisttest"
)

// commitsStore counts commits of deliveries and their contents.
type commitsStore struct {
	*persisttest.TestStore
	mu               sync.Mutex
	commits, changes int
}

func (c *commitsStore) CommitDeliveries(id account.ID, changes []webhook.DeliveryChange) error {
	c.mu.Lock()
	c.commits++
	c.changes += len(changes)
	c.mu.Unlock()
	return c.TestStore.CommitDeliveries(id, changes)
}

// TestLeasesAndResultsShareCommits checks that leases and results of deliveries do not have
// separate commits.
func TestLeasesAndResultsShareCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const events, step = 200, 10
		store := &commitsStore{TestStore: persisttest.OpenStore(t)}
		poster := &quick{}
		s := newSupervisor(store, poster)
		stop := make(chan struct{})
		var running sync.WaitGroup
		running.Go(func() { s.Run(stop) })
		for first := 1; first <= events; first += step {
			var reported []webhook.Delivery
			for i := range step {
				reported = append(reported, webhook.Delivery{Account: someone, ID: int64(first + i), Webhook: 1, URL: "https://r/", State: webhook.StateRetrying, NextAt: time.Now()})
			}
			if err := store.AppendJournal(someone, 1, nil, reported); err != nil {
				t.Fatal(err)
			}
			s.NotifyCommitted(reported)
			if synctest.Wait(); first == 1 && poster.calls.Load() == 0 {
				t.Error("leases wait for results")
			}
			time.Sleep(recordDelay)
		}
		time.Sleep(time.Second)
		close(stop)
		running.Wait()
		if store.changes != 2*events || s.callCounts.delivered.Load() != events {
			t.Errorf("%d changes, %d delivered", store.changes, s.callCounts.delivered.Load())
		}
		if store.commits > events/step*2 {
			t.Errorf("%d events took %d commits", events, store.commits)
		}
	})
}

// TestWhatAStepGathers checks that leases are committed at once with what is pending, results after
// a moment or when there are many, and never more than a group.
func TestWhatAStepGathers(t *testing.T) {
	for name, c := range map[string]struct {
		leases, results int           // present at the start
		later           time.Duration // when another result arrives; 0: never
		took            time.Duration
		gathered        int
	}{
		"a result":            {0, 1, 0, recordDelay, 1},
		"another meanwhile":   {0, 1, recordDelay - 1, recordDelay, 2},
		"another too late":    {0, 1, recordDelay + 1, recordDelay, 1},
		"nearly many":         {0, recordFull - 1, 0, recordDelay, recordFull - 1},
		"many":                {0, recordFull, 0, 0, recordFull},
		"many more":           {0, 5 * recordFull, 0, 0, 5 * recordFull},
		"a lease":             {1, 0, 0, 0, 1},
		"a lease and results": {1, 3, 0, 0, 4},
		"too many":            {9, groupMost, 0, 0, groupMost},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSupervisor(persisttest.OpenStore(t), nil)
				r := callResult{accountID: someone}
				for range c.results {
					s.resultQueue <- r
				}
				for range c.leases {
					go func() { s.leaseQueue <- leaseRequest{accountID: someone} }()
				}
				if c.later > 0 {
					time.AfterFunc(c.later, func() { s.resultQueue <- r })
				}
				synctest.Wait()
				began, b := time.Now(), stepBatches{of: map[account.ID]*accountBatch{}}
				open := s.gatherBatches(&b)
				if took, n := time.Since(began), b.leaseCount+b.resultCount; took != c.took || n != c.gathered || !open {
					t.Errorf("%d after %v, want %d after %v; open %v", n, took, c.gathered, c.took, open)
				}
				for b.leaseCount < c.leases {
					s.gatherBatches(&b) // the rest
				}
				time.Sleep(c.later)
			})
		})
	}
}

// unreadStore is a store that cannot read some rows.
type unreadStore struct {
	*persisttest.TestStore
	webhooks, deliveries error
}

func (u *unreadStore) Webhooks(id account.ID) ([]account.Webhook, error) {
	all, err := u.TestStore.Webhooks(id)
	return all, errors.Join(err, u.webhooks)
}

func (u *unreadStore) FindDelivery(id account.ID, n int64) (*webhook.Delivery, error) {
	del, err := u.TestStore.FindDelivery(id, n)
	return del, errors.Join(err, u.deliveries)
}

// TestWhatIsErased covers a delivery whose webhook and record are gone. Unreadable rows do not
// count as gone.
func TestWhatIsErased(t *testing.T) {
	broken := errors.New("no disk")
	for name, c := range map[string]struct {
		hook, record         bool
		webhooks, deliveries error
		erased               bool
	}{
		"all of it":                {false, false, nil, nil, true},
		"its webhook":              {false, true, nil, nil, false},
		"nothing":                  {true, true, nil, nil, false},
		"webhooks can't be read":   {false, false, broken, nil, false},
		"the record can't be read": {false, false, nil, broken, false},
	} {
		store := &unreadStore{persisttest.OpenStore(t), c.webhooks, c.deliveries}
		del := webhook.Delivery{Account: someone, ID: 1, Webhook: 1, State: webhook.StateDelivered}
		if c.record {
			if err := store.CommitDeliveries(someone, []webhook.DeliveryChange{del.PutChange(time.Time{}, false)}); err != nil {
				t.Fatal(err)
			}
		}
		s := newSupervisor(store, nil)
		s.SubscriptionCache = NewSubscriptions(store)
		if c.hook {
			s.SubscriptionCache.cachedWebhooks[someone] = []account.Webhook{{ID: 1}}
		}
		if got := s.isErased(&del); got != c.erased {
			t.Errorf("gone is %s: erased %v", name, got)
		}
	}
}
