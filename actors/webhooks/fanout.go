package webhooks

import (
	"time"

	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
	"inboxd/internal/core/webhook"
)

// FanOut makes the deliveries of events for the batch that takes them into their account's
// journal: an event that is in the journal has all its deliveries, or none was due. Only the
// journal's goroutine uses it, so it alone gives delivery ids.
type FanOut struct {
	store    Store
	hooks    *Subscriptions
	schedule webhook.Schedule
	lasts    map[account.ID]int64 // last id given
	notify   func([]webhook.Delivery)
}

// FanOut makes the deliveries that s calls receivers for.
func (s *Supervisor) FanOut() *FanOut {
	return &FanOut{store: s.Store, hooks: s.Subscriptions, schedule: s.Schedule, lasts: map[account.ID]int64{}, notify: s.Notify}
}

// Out makes the deliveries of events; none for an account without webhooks, at the cost of
// a map look-up.
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

// Done notes deliveries that are in the store.
func (f *FanOut) Done(id account.ID, told []webhook.Delivery) {
	if len(told) == 0 {
		return
	}
	f.lasts[id] = told[len(told)-1].ID
	f.notify(told)
}

// Forget reads the account's last id again: an append that failed may have happened.
func (f *FanOut) Forget(id account.ID) { delete(f.lasts, id) }
