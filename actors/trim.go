package actors

import (
	"time"

	"inboxd/internal/account"
	"inboxd/internal/webhook"
)

const (
	// deliveriesKept and deliveriesAge bound the records of an account that wait for nothing
	// (specification, Webhooks). deliveryTrim is how many are settled between two looks.
	deliveriesKept = 1000
	deliveriesAge  = 7 * 24 * time.Hour
	deliveryTrim   = 256
	// deliveryTrimStep bounds what one commit removes.
	deliveryTrimStep = 1024
)

// tally is what the recorder knows of an account's records since it last looked at them, so
// that it looks at each about once.
type tally struct {
	settled int
	newest  int64 // id of a settled one
	looked  int64 // none with an id up to here is to be removed
}

// tally counts results and, now and then, removes the oldest records.
func (d *deliveries) tally(of map[account.ID]*tally, id account.ID, results []result) {
	t := of[id]
	if t == nil {
		if len(of) >= deliveryWindow {
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
	if t.settled < deliveryTrim {
		return
	}
	t.settled = 0
	removed, err := d.store.TrimDeliveries(id, t.looked, time.Time{}, deliveriesKept, deliveryTrimStep)
	switch {
	case err != nil:
		d.log.Error("old deliveries could not be removed", "account", id, "err", err)
	case removed < deliveryTrimStep:
		t.looked = max(t.looked, t.newest-deliveriesKept)
	}
}

// forgetDeliveries removes old deliveries of some accounts, and reports whether the walk over
// them goes on. It is called while the clock is trusted.
func (r *retention) forgetDeliveries() bool {
	now := r.now()
	if r.trimmed == (account.ID{}) && now.Sub(r.swept) < forgetEvery {
		return false
	}
	ids, err := r.store.DeliveryAccounts(r.trimmed, dueBatch)
	for _, id := range ids {
		for removed := deliveryTrimStep; removed == deliveryTrimStep && err == nil; {
			removed, err = r.store.TrimDeliveries(id, 0, now.Add(-deliveriesAge), deliveriesKept, deliveryTrimStep)
		}
	}
	if err != nil {
		r.log.Error("old deliveries could not be removed", "err", err)
	}
	if len(ids) < dueBatch || err != nil {
		r.trimmed, r.swept = account.ID{}, now
		return false
	}
	r.trimmed = ids[len(ids)-1]
	return true
}
