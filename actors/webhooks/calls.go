package webhooks

import (
	"context"
	"time"

	"inboxd/internal/base/failpoint"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/scheduler"
	"inboxd/internal/core/webhook"
)

// call is one attempt. Only its goroutine uses it.
type call struct {
	*scheduler.Attempt[key]
	ctx  context.Context
	at   time.Time // time of its entry in the index
	del  *webhook.Delivery
	hook *account.Webhook
}

// begin starts the attempts that are due. The leases of one account's attempts are in one commit
// before them.
func (s *Supervisor) begin(starts []*scheduler.Attempt[key]) {
	groups := map[account.ID][]*call{}
	for _, a := range starts {
		ctx, held := s.terms.Begin(a.Key.group())
		if !held {
			s.mu.Lock()
			s.line.Finished(s.Now(), a, scheduler.Result{})
			s.mu.Unlock()
			continue
		}
		groups[a.Key.account] = append(groups[a.Key.account], &call{Attempt: a, ctx: ctx, at: a.At})
	}
	for id, group := range groups {
		s.calls.Go(func() { s.beginGroup(id, group) })
	}
}

func (s *Supervisor) beginGroup(id account.ID, group []*call) {
	group = s.atTheirHosts(id, group)
	if len(group) == 0 {
		return
	}
	until := s.Now().Add(callLease)
	changes := make([]webhook.Change, len(group))
	for i, c := range group {
		changes[i] = dueOf(c.Key, c.at).Move(until)
	}
	if err := s.lease(id, changes); err != nil {
		s.Logger.Warn("webhook attempts could not be started", "account", id, "calls", len(group), "err", err)
		s.handBack(group, storePause/5)
		return
	}
	for _, c := range group {
		if c.at = until; s.ready(c) {
			s.try(c)
		}
	}
}

// atTheirHosts returns the attempts whose webhook still points to the host of their lane. The
// others move to the lane of their new host.
func (s *Supervisor) atTheirHosts(id account.ID, group []*call) (kept []*call) {
	var unread []*call
	for _, c := range group {
		hook, err := s.Subscriptions.find(id, c.Key.webhook)
		switch {
		case err != nil:
			s.Logger.Error("webhook could not be read", "account", id, "err", err)
			unread = append(unread, c)
		case hook != nil && hostOfURL(hook.URL) != c.Lane:
			s.mu.Lock()
			s.line.Moved(s.Now(), entryOf(dueOf(c.Key, c.at), hostOfURL(hook.URL)))
			s.line.Finished(s.Now(), c.Attempt, scheduler.Result{})
			s.mu.Unlock()
			s.terms.End(c.Key.group())
			s.nudge()
		default:
			kept = append(kept, c)
		}
	}
	if len(unread) > 0 {
		s.calls.Go(func() { s.handBack(unread, storePause) })
	}
	return kept
}

// handBack reschedules attempts of one account that could not begin, after a pause.
func (s *Supervisor) handBack(group []*call, after time.Duration) {
	select {
	case <-time.After(after):
	case <-s.terms.Stopping(group[0].Key.group()):
	case <-s.ctx.Done():
	}
	for _, c := range group {
		s.finished(c.Attempt, c.at, scheduler.Result{})
	}
}

// unread reschedules an attempt whose delivery cannot be read.
func (s *Supervisor) unread(c *call, err error) {
	if !fault.Is(err, fault.Moved) {
		s.Logger.Error("webhook delivery could not be read", "account", c.Key.account, "delivery", c.Key.id, "err", err)
	}
	s.calls.Go(func() { s.handBack([]*call{c}, storePause) })
}

// ready reads a delivery whose lease is committed. If it has no webhook or is not due yet, nothing
// is posted. The goroutine that posts must not call it: reading grows the stack, and a thousand
// goroutines waiting for a response would hold such stacks.
func (s *Supervisor) ready(c *call) bool {
	del, err := s.Store.Delivery(c.Key.account, c.Key.id)
	change := dueOf(c.Key, c.at).Move(time.Time{})
	if err == nil && del != nil && del.State == webhook.Retrying {
		c.del = del
		s.forget(del)
		if change = del.Put(c.at, false); !s.isEarly(del) {
			c.hook, err = s.wanted(del)
		}
	}
	switch {
	case err != nil:
		s.unread(c, err)
	case c.hook == nil:
		s.results <- s.result(c, change, scheduler.Result{})
	}
	return err == nil && c.hook != nil
}

// isEarly reports whether the due entry is not the delivery's own, so that the delivery must wait.
func (s *Supervisor) isEarly(del *webhook.Delivery) bool { return del.NextAt.After(s.Now()) }

// try starts an attempt. A responsive host gets a pooled goroutine with a grown stack. A host that
// may hang gets a new goroutine, whose stack stays small (ADR 0034).
func (s *Supervisor) try(c *call) {
	if c.Temper != scheduler.Answering {
		s.calls.Go(func() { s.make(c) })
		return
	}
	s.calls.Add(1)
	s.answering.Go(func() {
		defer s.calls.Done()
		s.make(c)
	})
}

// make performs an attempt and passes its result to the recorder.
func (s *Supervisor) make(c *call) {
	failpoint.Here("call-taken")
	a := s.post(c)
	failpoint.Here("call-posted")
	if c.ctx.Err() != nil {
		s.finished(c.Attempt, c.at, scheduler.Result{}) // interrupted: the lease stays
		return
	}
	r := scheduler.Result{Temper: scheduler.Silent}
	if a.Status != 0 {
		r.Temper = scheduler.Answering
	}
	c.del.Tried(c.hook.URL, a, s.Schedule)
	s.forget(c.del) // the message may have been deleted during the attempt
	if c.del.State == webhook.Retrying {
		_, _ = s.wanted(c.del) // the webhook may have been deleted meanwhile; after an error the next attempt checks again
	}
	s.results <- s.result(c, c.del.Put(c.at, true), r)
}

// result is the change of an attempt, for the recorder.
func (s *Supervisor) result(c *call, change webhook.Change, r scheduler.Result) result {
	return result{c.Key.account, change, func(at time.Time, err error) {
		if err != nil {
			at = c.at
		}
		s.finished(c.Attempt, at, r)
	}}
}

// forget deletes the content of a delivery whose message is gone, and reports whether it had any.
func (s *Supervisor) forget(del *webhook.Delivery) bool {
	message, gone := del.About()
	if lost := !gone && message != 0 && s.Gone(del.Inbox, message); !lost && !gone {
		return false
	}
	found := !gone || del.Echoes()
	del.Forget()
	return found
}

// wanted returns the webhook of a delivery. If the webhook or the inbox is gone, it returns nil and
// cancels the delivery.
func (s *Supervisor) wanted(del *webhook.Delivery) (*account.Webhook, error) {
	hook, err := s.Subscriptions.find(del.Account, del.Webhook)
	if err != nil {
		return nil, err
	}
	if hook == nil {
		del.Cancel(webhook.WebhookGone)
		return nil, nil
	}
	who, err := s.AccountOf(del.Inbox)
	if err == nil && who != del.Account {
		del.Cancel(webhook.InboxGone)
		hook = nil
	}
	return hook, err
}

// post notes the connection in the scheduler and posts the delivery.
func (s *Supervisor) post(c *call) webhook.Call {
	s.mu.Lock()
	s.line.Connects(c.Attempt, 0)
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(c.ctx, callTimeout)
	defer cancel()
	now := s.Now()
	headers := webhook.Headers(c.del.Event, c.del.EventID, now, c.del.Body, SecretsOf(c.hook, now)...)
	return webhook.Call{At: now, Answer: s.Poster.Post(ctx, c.hook.URL, headers, c.del.Body)}
}

// SecretsOf returns the secrets that sign a webhook's requests.
func SecretsOf(hook *account.Webhook, now time.Time) (out []webhook.Secret) {
	for _, s := range hook.Secrets(now) {
		out = append(out, webhook.Secret(s))
	}
	return out
}
