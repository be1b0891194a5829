package retention

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"inboxd/internal/core/account"
	"inboxd/internal/core/idempotency"
	"inboxd/internal/core/inbox"
	"inboxd/internal/core/webhook"
	"inboxd/persist/persisttest"
)

var someone = account.NewID(time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC), [10]byte{1})

// noQuota counts nothing.
type noQuota struct{}

func (noQuota) BeginWalk(time.Time)             {}
func (noQuota) CountRecord(*idempotency.Record) {}
func (noQuota) EndWalk()                        {}

// TestDoubtOutlivesCrashes covers a clock that went 35 days ahead while the service was off.
// Messages arrive and it crashes repeatedly; due messages are removed only after an hour in one
// run.
func TestDoubtOutlivesCrashes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const address = "old@x.test"
		store := persisttest.OpenCrashable(t)
		due := time.Now().Add(7 * 24 * time.Hour)
		if err := store.CommitInbox(&inbox.Rows{Address: address, Profile: &inbox.Profile{Address: address}, DueTo: due}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // until it is recorded
		var expired atomic.Int64
		run := func(d time.Duration) {
			store = store.CrashCopy(t)
			stop := make(chan struct{})
			r := New(store, func(context.Context, string, inbox.Command) (inbox.CommandOutcome, error) {
				expired.Add(1)
				return inbox.CommandOutcome{}, nil
			}, noQuota{}, time.Now, slog.New(slog.DiscardHandler))
			go r.Run(stop)
			mail := &inbox.Rows{Address: "new@x.test", Profile: &inbox.Profile{Address: "new@x.test"}}
			if err := store.CommitInbox(mail); err != nil {
				t.Fatal(err)
			}
			time.Sleep(d)
			close(stop)
			synctest.Wait()
		}
		time.Sleep(35 * 24 * time.Hour)
		for range 5 {
			if run(50 * time.Minute); expired.Load() > 0 {
				t.Fatal("mail was removed by a clock in doubt")
			}
		}
		if run(61 * time.Minute); expired.Load() == 0 {
			t.Error("the doubt does not end")
		}
	})
}

// TestOldRecordsOfRequestsGo checks the removal by the retention's clock, in a walk that pauses for
// an hour.
func TestOldRecordsOfRequestsGo(t *testing.T) {
	store := persisttest.OpenStore(t)
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	w := rowWalk{removeSome: forgetRequests(store, noQuota{})}
	old := idempotency.Record{Request: idempotency.Request{Key: idempotency.RequestKey{1}}, At: now.Add(-idempotency.RecordLifetime - time.Second)}
	young := idempotency.Record{Request: idempotency.Request{Key: idempotency.RequestKey{2}}, At: now.Add(-idempotency.RecordLifetime + time.Minute)}
	if err := store.CommitAccount(&account.Rows{ID: someone, IdempotencyRecords: idempotency.BatchRecords{PutRecords: []idempotency.Record{old, young}}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		after time.Duration
		left  int
	}{{0, 1}, {30 * time.Minute, 1}, {30 * time.Minute, 0}} {
		now = now.Add(c.after)
		w.goOn(now, nil)
		if n := store.OnceRecords(); n != c.left {
			t.Errorf("at %v: %d records, want %d", now, n, c.left)
		}
	}
}

// countingStore counts the pages of accounts that are read.
type countingStore struct {
	*persisttest.TestStore
	walks int
}

func (s *countingStore) DeliveryAccounts(after account.ID, limit int) ([]account.ID, error) {
	s.walks++
	return s.TestStore.DeliveryAccounts(after, limit)
}

// TestRecordsOfQuietAccountsGo checks the periodic removal by age for any number of accounts.
func TestRecordsOfQuietAccountsGo(t *testing.T) {
	const accounts = dueBatch + 10
	store := &countingStore{TestStore: persisttest.OpenStore(t)}
	now := time.UnixMilli(1_700_000_000_000)
	fill := func(id account.ID, records int, at time.Time) {
		var all []webhook.DeliveryChange
		for n := range records {
			del := webhook.Delivery{Account: id, ID: int64(n + 1), Webhook: 1, State: webhook.StateDelivered, At: at}
			all = append(all, del.PutChange(time.Time{}, false))
		}
		if err := store.CommitDeliveries(id, all); err != nil {
			t.Fatal(err)
		}
	}
	of := func(n int) account.ID { return account.NewID(time.UnixMilli(int64(n+1)), [10]byte{}) }
	for n := range accounts {
		fill(of(n), 3, now.Add(-webhook.RecordAge-time.Second))
	}
	fill(of(accounts-1), 2*deliveryStep+100, now.Add(-webhook.RecordAge-time.Second))
	fill(of(7), 3, now.Add(-webhook.RecordAge))
	w := rowWalk{removeSome: forgetDeliveries(store)}
	for range 2 {
		for steps := 0; w.goOn(now, nil); steps++ {
			if steps > accounts {
				t.Fatal("the walk does not end")
			}
		}
	}
	for n := range accounts {
		want := 1 // the last id is not assigned again
		if n == 7 {
			want = 3
		}
		if all, err := store.ListDeliveries(of(n), 0, 0, 10_000); err != nil || len(all) != want {
			t.Errorf("account %d has %d records, %v; want %d", n, len(all), err, want)
		}
	}
	if store.walks != 2 {
		t.Errorf("%d pages of accounts were read", store.walks)
	}
}
