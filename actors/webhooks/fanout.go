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
	store    Store
	hooks    *Subscriptions
	schedule webhook.Schedule
	lasts    map[account.ID]int64 // last id assigned
	notify   func([]webhook.Delivery)
}

// FanOut returns what makes the deliveries for s to send.
func (s *Supervisor) FanOut() *FanOut {
	return &FanOut{store: s.Store, hooks: s.Subscriptions, schedule: s.Schedule, lasts: map[account.ID]int64{}, notify: s.Notify}
}

// Out makes the deliveries of events. For an account without webhooks it only costs a map look-up.
func (f *FanOut) Out(id account.ID, events []inbox.Public, now time.Time) ([]webhook.Delivery, error) {
	hooks, err := f.hooks.of(id)
	if len(hooks) == 0 || err != nil {
		return nil, err
	}
	last, known := f.lasts[id]
	if !known {
		if last, err = f.store.LastDelivery(id); err != nil {
			return nil, err
		}
	}
	return webhook.Deliveries(id, last+1, hooks, events, f.schedule, now), nil
}

// Done records deliveries that are in the store.
func (f *FanOut) Done(id account.ID, told []webhook.Delivery) {
	if len(told) == 0 {
		return
	}
	f.lasts[id] = told[len(told)-1].ID
	f.notify(told)
}

// Forget drops the account's cached last id: an append that failed may have been written.
func (f *FanOut) Forget(id account.ID) { delete(f.lasts, id) }
