package hooks

import (
	"context"
	"fmt"
	"time"

	"inboxd/actors/engine"
	"inboxd/internal/account"
	"inboxd/internal/fault"
	"inboxd/internal/webhook"
)

// Records are the deliveries of an account as its owner reads them. Any goroutine may use them.
type Records struct{ s *Supervisor }

// Records shows the deliveries that s makes calls for.
func (s *Supervisor) Records() *Records { return &Records{s: s} }

// Deliveries returns up to limit deliveries of the account with ids below before (0: all),
// newest first, to one webhook unless hook is 0. One that waits although its webhook or its
// inbox is gone is shown as what it is about to become.
func (r *Records) Deliveries(_ context.Context, id account.ID, hook, before int64, limit int) ([]webhook.Delivery, error) {
	out, err := r.s.Store.Deliveries(id, hook, before, limit)
	for i := 0; err == nil && i < len(out); i++ {
		if out[i].State == webhook.Retrying {
			_, err = r.s.wanted(&out[i])
		}
	}
	if err != nil {
		return nil, engine.Busy(err)
	}
	return out, nil
}

// Redeliver tries a settled delivery anew, with the same id and bytes, by the whole
// schedule.
func (r *Records) Redeliver(ctx context.Context, id account.ID, delivery int64) error {
	return r.s.decide(ctx, id, func() error { return r.redeliver(id, delivery) })
}

// redeliver decides and commits; the recorder calls it.
func (r *Records) redeliver(id account.ID, delivery int64) error {
	d, err := r.s.Store.Delivery(id, delivery)
	switch {
	case err != nil:
		return engine.Busy(err)
	case d == nil:
		return NoDelivery(fmt.Sprint(delivery))
	case d.State == webhook.Retrying:
		return fault.New(fault.Refused, fmt.Sprintf("Delivery %d is still being tried", delivery))
	}
	switch hook, err := r.s.wanted(d); {
	case err != nil:
		return engine.Busy(err)
	case hook == nil && d.Last.Error == webhook.InboxGone:
		return fault.New(fault.Refused, "The inbox of this delivery was deleted")
	case hook == nil:
		return fault.New(fault.Refused, "The webhook of this delivery was deleted")
	case d.Spent(r.s.Schedule):
		return fault.New(fault.Refused, fmt.Sprintf("Delivery %d was tried %d times already", delivery, d.Calls))
	}
	d.Again(r.s.Now().UTC().Truncate(time.Millisecond))
	if err := r.s.Store.CommitDeliveries(id, []webhook.Change{d.Put(time.Time{}, false)}); err != nil {
		return err
	}
	r.s.Notify([]webhook.Delivery{*d})
	return nil
}

// NoDelivery is the fault for an id that the account has no delivery under.
func NoDelivery(id string) error {
	return fault.New(fault.NotFound, fmt.Sprintf("Delivery %s not found", id))
}
