package actors

import (
	"context"
	"time"

	"inboxd/internal/account"
	"inboxd/internal/webhook"
)

// begin starts the attempts whose turn it is, those of one account behind one commit of
// their leases.
func (d *deliveries) begin(now time.Time) {
	type turn struct {
		due     webhook.Due
		host    *receiver
		answers bool
	}
	groups := map[account.ID][]turn{}
	for n := 0; ; n++ {
		due, host, ok := d.receivers.next()
		if !ok {
			break
		}
		d.counts.active.Add(1)
		groups[due.Account] = append(groups[due.Account], turn{due, host, host.trust == trusted})
	}
	until := now.Add(deliveryLease)
	for id, group := range groups {
		d.attempts.Go(func() {
			changes := make([]webhook.Change, len(group))
			for i, t := range group {
				changes[i] = t.due.Move(until)
			}
			if err := d.lease(id, changes); err != nil {
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
					d.try(t.answers, func() { d.attempt(del, hook, ended{due: t.due, host: t.host}) })
				}
			}
		})
	}
}

// try begins an attempt. A host that answers gets a goroutine whose stack has grown already;
// one that may hang gets a new one, for as small as it is it stays (ADR 0020).
func (d *deliveries) try(answers bool, attempt func()) {
	if !answers {
		d.attempts.Go(attempt)
		return
	}
	d.attempts.Add(1)
	d.workers.Go(func() {
		defer d.attempts.Done()
		attempt()
	})
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
	who, err := d.accountOf(del.Inbox)
	if err == nil && who != del.Account {
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
