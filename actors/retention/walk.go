package retention

import (
	"log/slog"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/idempotency"
	"inboxd/internal/core/webhook"
)

// walk scans all rows of a kind and removes the old ones, one step at a time. It runs only while
// the clock is trusted.
type walk struct {
	what string
	// step removes some rows and reports whether the walk continues.
	step  func(now time.Time) (more bool, err error)
	going bool
	ended time.Time
}

const (
	walkEvery = time.Hour
	walkPause = 100 * time.Millisecond // between two steps

	requestStep  = 4096 // records that one step examines
	deliveryStep = 1024 // deliveries that one commit removes
)

// goOn runs the next step if it is due, and reports whether the walk continues.
func (w *walk) goOn(now time.Time, log *slog.Logger) bool {
	if !w.going && now.Sub(w.ended) < walkEvery {
		return false
	}
	more, err := w.step(now)
	if err != nil && !fault.Is(err, fault.Moved) {
		log.Error("old records could not be removed", "what", w.what, "err", err)
	}
	if w.going = more; !more {
		w.ended = now
	}
	return more
}

// forgetRequests returns the step over request records that have expired.
func forgetRequests(store Store, quota Quota) func(time.Time) (bool, error) {
	var place []byte
	return func(now time.Time) (more bool, err error) {
		if place == nil {
			quota.Begin(now)
		}
		if place, err = store.ForgetOnce(now.Add(-idempotency.Life), place, requestStep, quota.Found); place == nil && err == nil {
			quota.End()
		}
		return place != nil, err
	}
}

// Quota counts the request records that each complete walk finds.
type Quota interface {
	Begin(now time.Time)
	Found(*idempotency.Record)
	End()
}

// forgetDeliveries returns the step over accounts. For accounts with recent events, the webhooks
// supervisor also removes deliveries as it runs.
func forgetDeliveries(store Store) func(time.Time) (bool, error) {
	var last account.ID
	return func(now time.Time) (more bool, err error) {
		ids, err := store.DeliveryAccounts(last, dueBatch)
		for _, id := range ids {
			for removed := deliveryStep; removed == deliveryStep && err == nil; {
				removed, err = store.TrimDeliveries(id, 0, now.Add(-webhook.RecordAge), webhook.RecordsKept, deliveryStep)
			}
		}
		if len(ids) < dueBatch || err != nil {
			last = account.ID{}
			return false, err
		}
		last = ids[len(ids)-1]
		return true, nil
	}
}
