package actors

import (
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"inboxd/internal/account"
	"inboxd/internal/memstore"
	"inboxd/internal/webhook"
)

// commitsStore counts commits of deliveries, and what they hold.
type commitsStore struct {
	*memstore.Store
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
		store := &commitsStore{Store: &memstore.Store{}}
		d := newDeliveries(Options{Store: store, Poster: &script{took: 2 * time.Millisecond}, Now: time.Now, Logger: slog.New(slog.DiscardHandler)}, newSubscriptions(store))
		d.owner = func(string) (account.ID, error) { return someone, nil }
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

// TestOldRecordsGo however late they are settled.
func TestOldRecordsGo(t *testing.T) {
	var store memstore.Store
	d := newDeliveries(Options{Store: &store, Logger: slog.New(slog.DiscardHandler)}, newSubscriptions(&store))
	settled := map[account.ID]*tally{}
	last := int64(0)
	settle := func(id int64) {
		del := webhook.Delivery{Account: someone, ID: id, Webhook: 1, State: webhook.Delivered}
		if err := store.CommitDeliveries(someone, []webhook.Change{del.Put(time.Time{}, false)}); err != nil {
			t.Fatal(err)
		}
		d.tally(settled, someone, []result{{change: del.Put(time.Time{}, false)}})
	}
	settleUntil := func(to int64) {
		for ; last < to; last++ {
			if last+1 != 5 {
				settle(last + 1)
			}
		}
	}
	must := func(want int, when string) {
		t.Helper()
		if all, err := store.Deliveries(someone, 0, 0, 10_000); err != nil || len(all) != want {
			t.Errorf("%d records %s, %v; want %d", len(all), when, err, want)
		}
	}
	waits := webhook.Delivery{Account: someone, ID: 5, Webhook: 1, State: webhook.Retrying, NextAt: time.UnixMilli(1)}
	if err := store.CommitDeliveries(someone, []webhook.Change{waits.Put(time.Time{}, false)}); err != nil {
		t.Fatal(err)
	}
	settleUntil(8*deliveryTrim + 1)
	must(deliveriesKept+1, "beside one that waits")
	settle(5)
	settleUntil(last + deliveryTrim - 1)
	must(deliveriesKept, "once it was settled")
}
