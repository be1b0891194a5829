package actors

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"inboxd/internal/account"
	"inboxd/internal/webhook"
	"inboxd/persist/persisttest"
)

// commitsStore counts commits of deliveries, and what they hold.
type commitsStore struct {
	*persisttest.Store
	mu               sync.Mutex
	commits, changes int
}

func (c *commitsStore) CommitDeliveries(id account.ID, changes []webhook.Change) error {
	c.mu.Lock()
	c.commits++
	c.changes += len(changes)
	c.mu.Unlock()
	return c.Store.CommitDeliveries(id, changes)
}

// TestLeasesAndResultsShareCommits: a delivery is leased and recorded, but not in commits of
// its own.
func TestLeasesAndResultsShareCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const events, step = 200, 10
		store := &commitsStore{Store: persisttest.Open(t)}
		script := &script{took: 2 * time.Millisecond}
		d := newDeliveries(Options{Store: store, Poster: script, Now: time.Now, Logger: slog.New(slog.DiscardHandler)}, newSubscriptions(store))
		d.accountOf = func(string) (account.ID, error) { return someone, nil }
		d.subs.known[someone] = []account.Webhook{{ID: 1, URL: "https://r/", Event: "*"}}
		stop := make(chan struct{})
		var running sync.WaitGroup
		running.Go(func() { d.run(stop) })
		for first := 1; first <= events; first += step {
			var told []webhook.Delivery
			var due []webhook.Due
			for i := range step {
				told = append(told, webhook.Delivery{Account: someone, ID: int64(first + i), Webhook: 1, State: webhook.Retrying, NextAt: time.Now()})
				due = append(due, told[i].Due())
			}
			if err := store.AppendJournal(someone, 1, nil, told); err != nil {
				t.Fatal(err)
			}
			d.hint(due)
			if synctest.Wait(); first == 1 && len(script.all()) == 0 {
				t.Error("leases wait for results")
			}
			time.Sleep(journalDelay)
		}
		time.Sleep(time.Second)
		close(stop)
		running.Wait()
		if store.changes != 2*events || d.counts.delivered.Load() != events {
			t.Errorf("%d changes, %d delivered", store.changes, d.counts.delivered.Load())
		}
		if store.commits > events/step*2 {
			t.Errorf("%d events took %d commits", events, store.commits)
		}
	})
}

// TestWhatAStepGathers: leases at once and with what is there already, results after a moment or
// when they are many, and never more than a group.
func TestWhatAStepGathers(t *testing.T) {
	for name, c := range map[string]struct {
		leases, results int           // there at the beginning
		later           time.Duration // when another result comes; 0: never
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
		"too many":            {9, deliveryGroup, 0, 0, deliveryGroup},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDeliveries(Options{Store: persisttest.Open(t)}, nil)
				r := result{ended: ended{due: webhook.Due{Account: someone}}}
				for range c.results {
					d.tried <- r
				}
				for range c.leases {
					go func() { d.leases <- lease{account: someone} }()
				}
				if c.later > 0 {
					time.AfterFunc(c.later, func() { d.tried <- r })
				}
				synctest.Wait()
				began, p := time.Now(), pages{of: map[account.ID]*page{}}
				open := d.gather(&p)
				if took, n := time.Since(began), p.leases+p.results; took != c.took || n != c.gathered || !open {
					t.Errorf("%d after %v, want %d after %v; open %v", n, took, c.gathered, c.took, open)
				}
				for p.leases < c.leases {
					d.gather(&p) // what is left
				}
				time.Sleep(c.later)
			})
		})
	}
}

// unreadStore is a store that can't read some things.
type unreadStore struct {
	*persisttest.Store
	webhooks, deliveries error
}

func (u *unreadStore) Webhooks(id account.ID) ([]account.Webhook, error) {
	all, err := u.Store.Webhooks(id)
	return all, errors.Join(err, u.webhooks)
}

func (u *unreadStore) Delivery(id account.ID, n int64) (*webhook.Delivery, error) {
	del, err := u.Store.Delivery(id, n)
	return del, errors.Join(err, u.deliveries)
}

// TestWhatIsErased: a delivery whose webhook is gone and of which there is no record. What can't
// be read is not taken for gone.
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
		store := &unreadStore{persisttest.Open(t), c.webhooks, c.deliveries}
		del := webhook.Delivery{Account: someone, ID: 1, Webhook: 1, State: webhook.Delivered}
		if c.record {
			if err := store.CommitDeliveries(someone, []webhook.Change{del.Put(time.Time{}, false)}); err != nil {
				t.Fatal(err)
			}
		}
		d := newDeliveries(Options{Store: store}, newSubscriptions(store))
		if c.hook {
			d.subs.known[someone] = []account.Webhook{{ID: 1}}
		}
		if got := d.erased(&del); got != c.erased {
			t.Errorf("gone is %s: erased %v", name, got)
		}
	}
}

// TestNothingCountsBeforeItsCommit: no attempt is made without its lease, and one whose result
// was not stored is made again.
func TestNothingCountsBeforeItsCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var leases, results atomic.Bool // fail
		store := persisttest.Open(t)
		store.Before = func(rows any) error {
			changes, _ := rows.([]webhook.Change)
			for _, c := range changes {
				if c.Delivery == nil && leases.Load() || c.Delivery != nil && results.Load() {
					return errors.New("no disk")
				}
			}
			return nil
		}
		p := &script{}
		s := hookWorld(t, store, p)
		subscribe(t, s, "r", "*")
		leases.Store(true)
		mailTo(t, s, "a@inbox.localhost", "x")
		time.Sleep(time.Minute)
		if n := len(p.all()); n != 0 {
			t.Fatalf("%d attempts without a lease", n)
		}
		results.Store(true)
		leases.Store(false)
		time.Sleep(deliveryLease)
		results.Store(false)
		time.Sleep(time.Minute)
		seen := p.all()
		if n := s.deliveries.counts.delivered.Load(); len(seen) != 2 || seen[0].id != seen[1].id || n != 1 {
			t.Errorf("%d attempts, %d delivered: %+v", len(seen), n, seen)
		}
	})
}
