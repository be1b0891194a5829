package webhooks

import (
	"errors"
	"testing"
	"time"

	"inboxd/internal/core/account"
	"inboxd/internal/core/webhook"
	"inboxd/persist/persisttest"
)

// TestOldRecordsGo checks removal, however late records are settled.
func TestOldRecordsGo(t *testing.T) {
	store := persisttest.OpenStore(t)
	s := newSupervisor(store, nil)
	looks := &trimStore{TestStore: store}
	s.Store = looks
	settled := map[account.ID]*accountTally{}
	last := int64(0)
	settle := func(id int64) {
		del := webhook.Delivery{Account: someone, ID: id, Webhook: 1, State: webhook.StateDelivered}
		if err := store.CommitDeliveries(someone, []webhook.DeliveryChange{del.PutChange(time.Time{}, false)}); err != nil {
			t.Fatal(err)
		}
		s.trimRecords(settled, someone, []callResult{{accountID: someone, change: del.PutChange(time.Time{}, false)}})
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
		if all, err := store.ListDeliveries(someone, 0, 0, 10_000); err != nil || len(all) != want {
			t.Errorf("%d records %s, %v; want %d", len(all), when, err, want)
		}
	}
	waits := webhook.Delivery{Account: someone, ID: 5, Webhook: 1, State: webhook.StateRetrying, NextAt: time.UnixMilli(1)}
	if err := store.CommitDeliveries(someone, []webhook.DeliveryChange{waits.PutChange(time.Time{}, false)}); err != nil {
		t.Fatal(err)
	}
	settleUntil(8*trimEvery + 1)
	must(webhook.RecordsKept+1, "beside one that waits")
	if want := last - 1 - webhook.RecordsKept - trimEvery; looks.times != 8 || looks.after < want {
		t.Errorf("looked %d times, the last time from %d on, want from %d", looks.times, looks.after, want)
	}
	settle(5)
	settleUntil(last + trimEvery - 1)
	must(webhook.RecordsKept, "once it was settled")
	looks.err = errors.New("no disk")
	settleUntil(last + trimEvery)
	looks.err = nil
	var backlog []webhook.DeliveryChange
	for range trimStep {
		last++
		del := webhook.Delivery{Account: someone, ID: last, Webhook: 1, State: webhook.StateDelivered}
		backlog = append(backlog, del.PutChange(time.Time{}, false))
	}
	if err := store.CommitDeliveries(someone, backlog); err != nil {
		t.Fatal(err)
	}
	settleUntil(last + 2*trimEvery)
	must(webhook.RecordsKept, "after an error, and when there was more than a step removes")
	for n := range entriesAll {
		settled[account.NewID(time.UnixMilli(int64(n)), [10]byte{})] = &accountTally{}
	}
	s.trimRecords(settled, account.ID{1}, nil)
	if len(settled) != 1 {
		t.Errorf("%d accounts are remembered", len(settled))
	}
}

// trimStore records how settled deliveries are removed.
type trimStore struct {
	*persisttest.TestStore
	times int   // number of calls
	after int64 // of the last call
	err   error
}

func (s *trimStore) TrimDeliveries(id account.ID, after int64, before time.Time, keep, limit int) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	s.times++
	s.after = after
	return s.TestStore.TrimDeliveries(id, after, before, keep, limit)
}
