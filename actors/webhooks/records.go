package webhooks

import (
	"context"
	"fmt"
	"time"

	"inboxd/actors/engine"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/webhook"
)

// DeliveryRecords lets the account read its deliveries. Any goroutine may use it.
type DeliveryRecords struct{ s *Supervisor }

// NewRecords returns the deliveries that s sends.
func (s *Supervisor) NewRecords() *DeliveryRecords { return &DeliveryRecords{s: s} }

// DeliveryPage returns up to limit deliveries of the account with ids below before (0: all), newest
// first, to one webhook unless hook is 0. A waiting delivery whose webhook or inbox is gone is
// returned as cancelled, and the content of a deleted message is removed.
func (r *DeliveryRecords) DeliveryPage(_ context.Context, id account.ID, hook, before int64, limit int) ([]webhook.Delivery, error) {
	out, err := r.s.Store.ListDeliveries(id, hook, before, limit)
	for i := 0; err == nil && i < len(out); i++ {
		r.s.forgetContent(&out[i])
		if out[i].State == webhook.StateRetrying {
			_, err = r.s.subscribedWebhook(&out[i])
		}
	}
	if err != nil {
		return nil, engine.BusyError(err)
	}
	return out, nil
}

// Redeliver retries a settled delivery with the same id and bytes, over the whole schedule.
func (r *DeliveryRecords) Redeliver(ctx context.Context, id account.ID, delivery int64) error {
	return r.s.runOrder(ctx, id, func() error { return r.redeliver(id, delivery) })
}

// redeliver decides and commits; only the recorder calls it.
func (r *DeliveryRecords) redeliver(id account.ID, delivery int64) error {
	d, err := r.s.Store.FindDelivery(id, delivery)
	switch {
	case err != nil:
		return engine.BusyError(err)
	case d == nil:
		return NoDelivery(fmt.Sprint(delivery))
	}
	tried := d.State == webhook.StateRetrying
	switch hook, err := r.s.subscribedWebhook(d); {
	case err != nil:
		return engine.BusyError(err)
	case hook == nil && d.LastAttempt.Error == webhook.InboxGone:
		return fault.New(fault.NotFound, "The inbox of this delivery was deleted")
	case tried:
		return fault.Refuse(fault.CodeConflict, "Delivery %d is still in progress. Wait until it has succeeded or failed", delivery)
	case hook == nil:
		return fault.New(fault.Refused, "The webhook of this delivery was deleted")
	case d.AttemptsExhausted(r.s.RetrySchedule):
		return fault.Refuse(fault.CodeLimitReached, "Delivery %d was already attempted %d times, which is the maximum", delivery, d.AttemptCount)
	}
	r.s.forgetContent(d)
	d.RestartSchedule(r.s.Now().UTC().Truncate(time.Millisecond))
	if err := r.s.Store.CommitDeliveries(id, []webhook.DeliveryChange{d.PutChange(time.Time{}, false)}); err != nil {
		return err
	}
	r.s.NotifyCommitted([]webhook.Delivery{*d})
	return nil
}

// Forget deletes the content of messages that are gone from an account's deliveries: from the
// newest limit below an id (0: of all). The recorder writes the rows, so that the result of an
// attempt in progress cannot restore the content.
func (r *DeliveryRecords) Forget(ctx context.Context, id account.ID, below uint64, limit int) (last uint64, more bool, err error) {
	page, err := r.s.Store.ListDeliveries(id, 0, int64(below), limit)
	if err != nil {
		return 0, false, err
	}
	var lost []int64
	for i := range page {
		if last = uint64(page[i].ID); r.s.forgetContent(&page[i]) {
			lost = append(lost, page[i].ID)
		}
	}
	if len(lost) > 0 {
		err = r.s.runOrder(ctx, id, func() error { return r.forgetSome(id, lost) })
	}
	return last, len(page) == limit, err
}

// forgetSome reads and commits; only the recorder calls it.
func (r *DeliveryRecords) forgetSome(id account.ID, lost []int64) error {
	var changes []webhook.DeliveryChange
	for _, n := range lost {
		d, err := r.s.Store.FindDelivery(id, n)
		if err != nil {
			return err
		}
		if d != nil && r.s.forgetContent(d) {
			changes = append(changes, webhook.DeliveryChange{Delivery: d, ID: n, Webhook: d.Webhook, RowOnly: true})
		}
	}
	if len(changes) == 0 {
		return nil
	}
	return r.s.Store.CommitDeliveries(id, changes)
}

// NoDelivery returns the error for an unknown delivery id.
func NoDelivery(id string) error {
	return fault.New(fault.NotFound, fmt.Sprintf("Delivery %s not found", id))
}
