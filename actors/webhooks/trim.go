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

// tally is what the recorder knows of an account's records since its last search, so that each
// search examines only new records.
type tally struct {
	settled int
	newest  int64 // id of a settled record
	looked  int64 // no record with an id up to here needs to be removed
}

// tally counts results, and after every trimEvery of them removes the oldest records.
func (s *Supervisor) tally(of map[account.ID]*tally, id account.ID, results []result) {
	t := of[id]
	if t == nil {
		if len(of) >= entriesAll {
			clear(of)
		}
		t = &tally{}
		of[id] = t
	}
	for _, r := range results {
		if del := r.change.Delivery; del != nil && del.State != webhook.Retrying {
			t.settled++
			t.newest, t.looked = max(t.newest, del.ID), min(t.looked, del.ID-1)
		}
	}
	if t.settled < trimEvery {
		return
	}
	t.settled = 0
	removed, err := s.Store.TrimDeliveries(id, t.looked, time.Time{}, webhook.RecordsKept, trimStep)
	switch {
	case err != nil:
		s.Logger.Error("old webhook deliveries could not be removed", "account", id, "err", err)
	case removed < trimStep:
		t.looked = max(t.looked, t.newest-webhook.RecordsKept)
	}
}
