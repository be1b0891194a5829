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

// call is one call. Its goroutine alone uses it.
type call struct {
	*scheduler.Attempt[key]
	ctx  context.Context
	at   time.Time // where the index has its entry
	del  *webhook.Delivery
	hook *account.Webhook
}

// begin starts the calls whose turn it is, those of one account behind one commit of their
// leases.
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

// atTheirHosts keeps the calls that take their turn where their webhooks point to. What is for
// another host by now goes to that one's lane.
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

// handBack has calls of one account made after a while that could not begin.
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

// unread has a call made later whose delivery can't be read.
func (s *Supervisor) unread(c *call, err error) {
	if !fault.Is(err, fault.Moved) {
		s.Logger.Error("webhook delivery could not be read", "account", c.Key.account, "delivery", c.Key.id, "err", err)
	}
	s.calls.Go(func() { s.handBack([]*call{c}, storePause) })
}

// ready reads a delivery whose lease is committed; without a webhook, or before its time, there is
// nothing to post. It is not for the goroutine that posts: reading leaves it a large stack, which a
// thousand that wait for an answer would hold.
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

// isEarly reports that an entry which is due is not the delivery's own: that one waits.
func (s *Supervisor) isEarly(del *webhook.Delivery) bool { return del.NextAt.After(s.Now()) }

// try makes a call. A host that answers gets a goroutine whose stack has grown already; one
// that may hang gets a new one, for as small as it is it stays (ADR 0034).
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

// make makes a call and hands its result to the recorder.
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
	s.forget(c.del) // it may have gone during the call
	if c.del.State == webhook.Retrying {
		_, _ = s.wanted(c.del) // its webhook may have gone meanwhile; if that can't be told, the next call asks
	}
	s.results <- s.result(c, c.del.Put(c.at, true), r)
}

// result is a call's change on its way to the disk.
func (s *Supervisor) result(c *call, change webhook.Change, r scheduler.Result) result {
	return result{c.Key.account, change, func(at time.Time, err error) {
		if err != nil {
			at = c.at
		}
		s.finished(c.Attempt, at, r)
	}}
}

// forget takes out of a delivery what was in its message, if that is gone, and reports whether there was
// anything.
func (s *Supervisor) forget(del *webhook.Delivery) bool {
	message, gone := del.About()
	if lost := !gone && message != 0 && s.Gone(del.Inbox, message); !lost && !gone {
		return false
	}
	found := !gone || del.Echoes()
	del.Forget()
	return found
}

// wanted returns the webhook that a delivery is for; when nobody wants it any more there is
// none, and it is cancelled.
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

// post tells the line that a receiver has to be waited for.
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

// SecretsOf are the secrets that a webhook's calls are signed with.
func SecretsOf(hook *account.Webhook, now time.Time) (out []webhook.Secret) {
	for _, s := range hook.Secrets(now) {
		out = append(out, webhook.Secret(s))
	}
	return out
}
