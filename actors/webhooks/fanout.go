package webhooks

import (
	"time"

	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
	"inboxd/internal/core/webhook"
)

// FanOut makes the deliveries of events. They are in the batch that adds the events to their
// account's journal, so an event in the journal has all its deliveries, or none was due. Only the
// journal's goroutine uses it, so only that goroutine assigns delivery ids.
type FanOut struct {
	store             Store
	subscriptionCache *SubscriptionCache
	schedule          webhook.Schedule
	lastIDs           map[account.ID]int64 // last id assigned
	notifyCommitted   func([]webhook.Delivery)
}

// FanOut returns what makes the deliveries for s to send.
func (s *Supervisor) FanOut() *FanOut {
	return &FanOut{store: s.Store, subscriptionCache: s.SubscriptionCache, schedule: s.RetrySchedule, lastIDs: map[account.ID]int64{}, notifyCommitted: s.NotifyCommitted}
}

// FanOutEvents makes the deliveries of events. For an account without webhooks it only costs a map
// look-up.
func (f *FanOut) FanOutEvents(id account.ID, events []inbox.PublicEvent, now time.Time) ([]webhook.Delivery, error) {
	hooks, err := f.subscriptionCache.of(id)
	if len(hooks) == 0 || err != nil {
		return nil, err
	}
	last, known := f.lastIDs[id]
	if !known {
		if last, err = f.store.LastDelivery(id); err != nil {
			return nil, err
		}
	}
	return webhook.DeliveriesFor(id, last+1, hooks, events, f.schedule, now), nil
}

// MarkDone records deliveries that are in the store.
func (f *FanOut) MarkDone(id account.ID, deliveries []webhook.Delivery) {
	if len(deliveries) == 0 {
		return
	}
	f.lastIDs[id] = deliveries[len(deliveries)-1].ID
	f.notifyCommitted(deliveries)
}

// ForgetAccount drops the account's cached last id: an append that failed may have been written.
func (f *FanOut) ForgetAccount(id account.ID) { delete(f.lastIDs, id) }
