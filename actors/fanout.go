package actors

import (
	"time"

	"inboxd/internal/account"
	"inboxd/internal/inbox"
	"inboxd/internal/webhook"
)

// fanOut makes the deliveries of events for the batch that takes them into their account's
// journal: an event that is in the journal has all its deliveries, or none was due. Only the
// journal's goroutine uses it, so it alone gives delivery ids.
type fanOut struct {
	store    Store
	hooks    *subscriptions
	schedule webhook.Schedule
	lasts    map[account.ID]int64 // last id given
	hint     func([]webhook.Due)
}

func newFanOut(store Store, hooks *subscriptions, schedule webhook.Schedule, hint func([]webhook.Due)) *fanOut {
	return &fanOut{store: store, hooks: hooks, schedule: schedule, lasts: map[account.ID]int64{}, hint: hint}
}

// Out makes the deliveries of events; none for an account without webhooks, at the cost of
// a map look-up.
func (f *fanOut) Out(id account.ID, events []inbox.Public, now time.Time) ([]webhook.Delivery, error) {
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
func (f *fanOut) Done(id account.ID, told []webhook.Delivery) {
	if len(told) == 0 {
		return
	}
	f.lasts[id] = told[len(told)-1].ID
	due := make([]webhook.Due, len(told))
	for i := range told {
		due[i] = told[i].Due()
	}
	f.hint(due)
}

// Forget reads the account's last id again: an append that failed may have happened.
func (f *fanOut) Forget(id account.ID) { delete(f.lasts, id) }
