package webhooks

import (
	"time"

	"inboxd/internal/core/account"
	"inboxd/internal/core/webhook"
)

const (
	// trimEvery is how many records of an account are settled between two searches.
	trimEvery = 256
	// trimStep bounds what one commit removes.
	trimStep = 1024
)

// accountTally is what the recorder knows of an account's records since its last search, so that each
// search examines only new records.
type accountTally struct {
	settledCount  int
	newestSettled int64 // id of a settled record
	checkedUpTo   int64 // no record with an id up to here needs to be removed
}

// accountTally counts results, and after every trimEvery of them removes the oldest records.
func (s *Supervisor) trimRecords(of map[account.ID]*accountTally, id account.ID, results []callResult) {
	t := of[id]
	if t == nil {
		if len(of) >= entriesAll {
			clear(of)
		}
		t = &accountTally{}
		of[id] = t
	}
	for _, r := range results {
		if del := r.change.Delivery; del != nil && del.State != webhook.StateRetrying {
			t.settledCount++
			t.newestSettled, t.checkedUpTo = max(t.newestSettled, del.ID), min(t.checkedUpTo, del.ID-1)
		}
	}
	if t.settledCount < trimEvery {
		return
	}
	t.settledCount = 0
	removed, err := s.Store.TrimDeliveries(id, t.checkedUpTo, time.Time{}, webhook.RecordsKept, trimStep)
	switch {
	case err != nil:
		s.Logger.Error("old webhook deliveries could not be removed", "account", id, "err", err)
	case removed < trimStep:
		t.checkedUpTo = max(t.checkedUpTo, t.newestSettled-webhook.RecordsKept)
	}
}
