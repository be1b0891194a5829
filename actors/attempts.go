package actors

import (
	"context"
	"sync"
	"time"

	"inboxd/internal/account"
	"inboxd/internal/webhook"
)

// begin starts the attempts whose turn it is, those of one account behind one commit of
// their leases.
func (d *deliveries) begin(now time.Time) {
	type turn struct {
		due  webhook.Due
		host *receiver
	}
	groups := map[account.ID][]turn{}
	for n := 0; ; n++ {
		due, host, ok := d.receivers.next()
		if !ok {
			break
		}
		d.counts.active.Add(1)
		groups[due.Account] = append(groups[due.Account], turn{due, host})
	}
	until := now.Add(deliveryLease)
	for id, group := range groups {
		d.attempts.Go(func() {
			changes := make([]webhook.Change, len(group))
			for i, t := range group {
				changes[i] = t.due.Move(until)
			}
			if err := d.store.CommitDeliveries(id, changes); err != nil {
				d.log.Warn("attempts of webhooks could not begin", "account", id, "attempts", len(group), "err", err)
				time.Sleep(deliveryPause / 5)
				for _, t := range group {
					d.report(ended{due: t.due, host: t.host})
				}
				return
			}
			for _, t := range group {
				t.due.At = until
				if del, hook := d.ready(t.due, t.host); hook != nil {
					d.attempts.Go(func() { d.attempt(del, hook, ended{due: t.due, host: t.host}) })
				}
			}
		})
	}
}

// report tells the supervisor; not after it stopped.
func (d *deliveries) report(e ended) {
	select {
	case d.ended <- e:
	case <-d.ctx.Done():
	}
}

// ready reads a delivery whose lease is committed; without a webhook there is nothing to
// post. It is not for the goroutine that posts: reading leaves it a large stack, which a
// thousand that wait for an answer would hold.
func (d *deliveries) ready(due webhook.Due, host *receiver) (del *webhook.Delivery, hook *account.Webhook) {
	change := due.Move(time.Time{})
	del, err := d.store.Delivery(due.Account, due.ID)
	if err == nil && del != nil && del.State == webhook.Retrying {
		hook, err = d.wanted(del)
		change = del.Put(due.At, false)
	}
	switch {
	case err != nil:
		d.log.Error("a delivery could not be read", "account", due.Account, "delivery", due.ID, "err", err)
		d.report(ended{due: due, host: host}) // again when its lease is over
		return nil, nil
	case hook != nil:
		return del, hook
	}
	d.tried <- result{change, ended{due: due, host: host}}
	return nil, nil
}

// attempt makes one attempt and hands its result to the recorder.
func (d *deliveries) attempt(del *webhook.Delivery, hook *account.Webhook, e ended) {
	a := d.post(hook, del, e.host)
	if d.ctx.Err() != nil {
		d.report(e) // interrupted: the lease stays
		return
	}
	e.tried, e.answered = true, a.Status != 0
	if again, err := d.store.Delivery(del.Account, del.ID); err == nil && again == nil {
		d.tried <- result{e.due.Move(time.Time{}), e} // its account was erased meanwhile: nothing of it is written any more
		return
	}
	del.Tried(hook.URL, a, d.schedule)
	if del.State == webhook.Retrying {
		_, _ = d.wanted(del) // its webhook may have gone meanwhile; if that can't be told, the next attempt asks
	}
	d.tried <- result{del.Put(e.due.At, true), e}
}

// wanted returns the webhook that a delivery is for; when nobody wants it any more there is
// none, and it is cancelled.
func (d *deliveries) wanted(del *webhook.Delivery) (*account.Webhook, error) {
	hook, err := d.subs.find(del.Account, del.Webhook)
	if err != nil {
		return nil, err
	}
	if hook == nil {
		del.Cancel(webhook.WebhookGone)
		return nil, nil
	}
	owner, err := d.store.Owner(del.Inbox)
	if err == nil && owner != del.Account {
		del.Cancel(webhook.InboxGone)
		hook = nil
	}
	return hook, err
}

// post tells the supervisor when the answer takes long.
func (d *deliveries) post(hook *account.Webhook, del *webhook.Delivery, host *receiver) webhook.Attempt {
	slow := time.AfterFunc(slowAfter, func() {
		select {
		case d.slow <- host:
		case <-d.ctx.Done():
		}
	})
	defer slow.Stop()
	ctx, cancel := context.WithTimeout(d.ctx, deliveryTimeout)
	defer cancel()
	now := d.now()
	headers := webhook.Headers(del.Event, del.EventID, now, del.Body, secretsOf(hook, now)...)
	return webhook.Attempt{At: now, Answer: d.poster.Post(ctx, hook.URL, headers, del.Body)}
}

func secretsOf(hook *account.Webhook, now time.Time) (out []webhook.Secret) {
	for _, s := range hook.Secrets(now) {
		out = append(out, webhook.Secret(s))
	}
	return out
}

// record commits results, those of one account that come together in one batch, until no
// more come.
func (d *deliveries) record() {
	settled := map[account.ID]int{}
	for first := range d.tried {
		groups := map[account.ID][]result{first.ended.due.Account: {first}}
		for n, more := 1, true; more && n < deliveryGroup; n++ {
			select {
			case r, open := <-d.tried:
				if more = open; open {
					groups[r.ended.due.Account] = append(groups[r.ended.due.Account], r)
				}
			default:
				more = false
			}
		}
		var all sync.WaitGroup
		for id, group := range groups {
			all.Go(func() { d.commit(id, group) })
		}
		all.Wait()
		for id, group := range groups {
			if settled[id] += len(group); settled[id] >= deliveryTrim {
				delete(settled, id)
				d.trim(id)
			}
		}
		if len(settled) > deliveryWindow {
			clear(settled)
		}
	}
}

func (d *deliveries) commit(id account.ID, group []result) {
	changes := make([]webhook.Change, len(group))
	for i := range group {
		changes[i] = group[i].change
	}
	err := d.store.CommitDeliveries(id, changes)
	if err != nil {
		d.log.Error("results of webhooks could not be stored, they are tried again", "account", id, "attempts", len(group), "err", err)
	}
	for _, r := range group {
		if err == nil {
			d.count(r)
			r.ended.due.At = time.Time{}
			if r.change.Delivery != nil {
				r.ended.due.At = r.change.Delivery.NextAt
			}
		}
		d.report(r.ended)
	}
}

func (d *deliveries) count(r result) {
	del := r.change.Delivery
	switch {
	case del == nil:
	case del.State == webhook.Delivered:
		d.counts.delivered.Add(1)
	case del.State == webhook.Retrying:
		d.counts.retried.Add(1)
	case r.change.Tried:
		d.counts.failed.Add(1)
	default:
		d.counts.cancelled.Add(1)
	}
}

const (
	// deliveriesKept and deliveriesAge bound the records of an account that wait for nothing
	// (decisions section 6). deliveryTrim is how many are settled between two looks.
	deliveriesKept = 1000
	deliveriesAge  = 7 * 24 * time.Hour
	deliveryTrim   = 256
	// deliveryTrimStep bounds what one commit removes.
	deliveryTrimStep = 1024
)

func (d *deliveries) trim(id account.ID) {
	if _, err := d.store.TrimDeliveries(id, time.Time{}, deliveriesKept, deliveryTrimStep); err != nil {
		d.log.Error("old deliveries could not be removed", "account", id, "err", err)
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
			removed, err = r.store.TrimDeliveries(id, now.Add(-deliveriesAge), deliveriesKept, deliveryTrimStep)
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
