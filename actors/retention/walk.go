package retention

import (
	"log/slog"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/idempotency"
	"inboxd/internal/core/webhook"
)

// rowWalk scans all rows of a kind and removes the old ones, one step at a time. It runs only while
// the clock is trusted.
type rowWalk struct {
	rowKind string
	// removeSome removes some rows and reports whether the walk continues.
	removeSome func(now time.Time) (more bool, err error)
	isRunning  bool
	endedAt    time.Time
}

const (
	walkEvery = time.Hour
	walkPause = 100 * time.Millisecond // between two steps

	requestStep  = 4096 // records that one step examines
	deliveryStep = 1024 // deliveries that one commit removes
)

// goOn runs the next step if it is due, and reports whether the walk continues.
func (w *rowWalk) goOn(now time.Time, log *slog.Logger) bool {
	if !w.isRunning && now.Sub(w.endedAt) < walkEvery {
		return false
	}
	more, err := w.removeSome(now)
	if err != nil && !fault.Is(err, fault.MovedAway) {
		log.Error("old records could not be removed", "what", w.rowKind, "err", err)
	}
	if w.isRunning = more; !more {
		w.endedAt = now
	}
	return more
}

// forgetRequests returns the step over request records that have expired.
func forgetRequests(store Store, quota RequestQuota) func(time.Time) (bool, error) {
	var place []byte
	return func(now time.Time) (more bool, err error) {
		if place == nil {
			quota.BeginWalk(now)
		}
		if place, err = store.ForgetOnce(now.Add(-idempotency.RecordLifetime), place, requestStep, quota.CountRecord); place == nil && err == nil {
			quota.EndWalk()
		}
		return place != nil, err
	}
}

// RequestQuota counts the request records that each complete walk finds.
type RequestQuota interface {
	BeginWalk(now time.Time)
	CountRecord(*idempotency.Record)
	EndWalk()
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
