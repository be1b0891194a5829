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

// webhookCall is one attempt. Only its goroutine uses it.
type webhookCall struct {
	*scheduler.Attempt[deliveryKey]
	ctx             context.Context
	at              time.Time // time of its entry in the index
	pendingDelivery *webhook.Delivery
	hook            *account.Webhook
}

// beginCalls starts the attempts that are due. The leases of one account's attempts are in one commit
// before them.
func (s *Supervisor) beginCalls(starts []*scheduler.Attempt[deliveryKey]) {
	groups := map[account.ID][]*webhookCall{}
	for _, a := range starts {
		ctx, held := s.groupWork.BeginWork(a.Key.groupOf())
		if !held {
			s.mu.Lock()
			s.callScheduler.AttemptFinished(s.Now(), a, scheduler.AttemptResult{})
			s.mu.Unlock()
			continue
		}
		groups[a.Key.accountID] = append(groups[a.Key.accountID], &webhookCall{Attempt: a, ctx: ctx, at: a.At})
	}
	for id, group := range groups {
		s.callsDone.Go(func() { s.beginGroup(id, group) })
	}
}

func (s *Supervisor) beginGroup(id account.ID, group []*webhookCall) {
	group = s.atTheirHosts(id, group)
	if len(group) == 0 {
		return
	}
	until := s.Now().Add(callLease)
	changes := make([]webhook.DeliveryChange, len(group))
	for i, c := range group {
		changes[i] = dueOf(c.Key, c.at).MoveTo(until)
	}
	if err := s.commitLeases(id, changes); err != nil {
		s.Logger.Warn("webhook attempts could not be started", "account", id, "calls", len(group), "err", err)
		s.handBack(group, storePause/5)
		return
	}
	for _, c := range group {
		if c.at = until; s.prepareCall(c) {
			s.startCall(c)
		}
	}
}

// atTheirHosts returns the attempts whose webhook still points to the host of their lane. The
// others move to the lane of their new host.
func (s *Supervisor) atTheirHosts(id account.ID, group []*webhookCall) (kept []*webhookCall) {
	var unread []*webhookCall
	for _, c := range group {
		hook, err := s.SubscriptionCache.findWebhook(id, c.Key.webhook)
		switch {
		case err != nil:
			s.Logger.Error("webhook could not be read", "account", id, "err", err)
			unread = append(unread, c)
		case hook != nil && hostOfURL(hook.URL) != c.DestinationName:
			s.mu.Lock()
			s.callScheduler.EntryMoved(s.Now(), entryOf(dueOf(c.Key, c.at), hostOfURL(hook.URL)))
			s.callScheduler.AttemptFinished(s.Now(), c.Attempt, scheduler.AttemptResult{})
			s.mu.Unlock()
			s.groupWork.EndWork(c.Key.groupOf())
			s.wakeLoop()
		default:
			kept = append(kept, c)
		}
	}
	if len(unread) > 0 {
		s.callsDone.Go(func() { s.handBack(unread, storePause) })
	}
	return kept
}

// handBack reschedules attempts of one account that could not begin, after a pause.
func (s *Supervisor) handBack(group []*webhookCall, after time.Duration) {
	select {
	case <-time.After(after):
	case <-s.groupWork.Stopping(group[0].Key.groupOf()):
	case <-s.ctx.Done():
	}
	for _, c := range group {
		s.finishCall(c.Attempt, c.at, scheduler.AttemptResult{})
	}
}

// deferUnread reschedules an attempt whose delivery cannot be read.
func (s *Supervisor) deferUnread(c *webhookCall, err error) {
	if !fault.Is(err, fault.MovedAway) {
		s.Logger.Error("webhook delivery could not be read", "account", c.Key.accountID, "delivery", c.Key.id, "err", err)
	}
	s.callsDone.Go(func() { s.handBack([]*webhookCall{c}, storePause) })
}

// prepareCall reads a delivery whose lease is committed. If it has no webhook or is not due yet,
// nothing is posted. The goroutine that posts must not call it: reading grows the stack, and a
// thousand goroutines waiting for a response would hold such stacks.
func (s *Supervisor) prepareCall(c *webhookCall) bool {
	del, err := s.Store.FindDelivery(c.Key.accountID, c.Key.id)
	change := dueOf(c.Key, c.at).MoveTo(time.Time{})
	if err == nil && del != nil && del.State == webhook.StateRetrying {
		c.pendingDelivery = del
		s.forgetContent(del)
		if change = del.PutChange(c.at, false); !s.isEarly(del) {
			c.hook, err = s.subscribedWebhook(del)
		}
	}
	switch {
	case err != nil:
		s.deferUnread(c, err)
	case c.hook == nil:
		s.resultQueue <- s.newResult(c, change, scheduler.AttemptResult{})
	}
	return err == nil && c.hook != nil
}

// isEarly reports whether the due entry is not the delivery's own, so that the delivery must wait.
func (s *Supervisor) isEarly(del *webhook.Delivery) bool { return del.NextAt.After(s.Now()) }

// startCall starts an attempt. A responsive host gets a pooled goroutine with a grown stack. A host
// that may hang gets a new goroutine, whose stack stays small (ADR 0034).
func (s *Supervisor) startCall(c *webhookCall) {
	if c.HealthAtStart != scheduler.HealthAnswering {
		s.callsDone.Go(func() { s.makeCall(c) })
		return
	}
	s.callsDone.Add(1)
	s.answeringPool.Go(func() {
		defer s.callsDone.Done()
		s.makeCall(c)
	})
}

// makeCall performs an attempt and passes its result to the recorder.
func (s *Supervisor) makeCall(c *webhookCall) {
	failpoint.MarkPoint("call-taken")
	a := s.postCall(c)
	failpoint.MarkPoint("call-posted")
	if c.ctx.Err() != nil {
		s.finishCall(c.Attempt, c.at, scheduler.AttemptResult{}) // interrupted: the lease stays
		return
	}
	r := scheduler.AttemptResult{HealthState: scheduler.HealthSilent}
	if a.Status != 0 {
		r.HealthState = scheduler.HealthAnswering
	}
	c.pendingDelivery.RecordAttempt(c.hook.URL, a, s.RetrySchedule)
	s.forgetContent(c.pendingDelivery) // the message may have been deleted during the attempt
	if c.pendingDelivery.State == webhook.StateRetrying {
		_, _ = s.subscribedWebhook(c.pendingDelivery) // the webhook may have been deleted meanwhile; after an error the next attempt checks again
	}
	s.resultQueue <- s.newResult(c, c.pendingDelivery.PutChange(c.at, true), r)
}

// newResult is the change of an attempt, for the recorder.
func (s *Supervisor) newResult(c *webhookCall, change webhook.DeliveryChange, r scheduler.AttemptResult) callResult {
	return callResult{c.Key.accountID, change, func(at time.Time, err error) {
		if err != nil {
			at = c.at
		}
		s.finishCall(c.Attempt, at, r)
	}}
}

// forgetContent deletes the content of a delivery whose message is gone, and reports whether it had
// any.
func (s *Supervisor) forgetContent(del *webhook.Delivery) bool {
	message, gone := del.AboutMessage()
	if lost := !gone && message != 0 && s.IsMessageGone(del.Inbox, message); !lost && !gone {
		return false
	}
	found := !gone || del.StoresResponse()
	del.RedactDeleted()
	return found
}

// subscribedWebhook returns the webhook of a delivery. If the webhook or the inbox is gone, it
// returns nil and cancels the delivery.
func (s *Supervisor) subscribedWebhook(del *webhook.Delivery) (*account.Webhook, error) {
	hook, err := s.SubscriptionCache.findWebhook(del.Account, del.Webhook)
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

// postCall notes the connection in the scheduler and posts the delivery.
func (s *Supervisor) postCall(c *webhookCall) webhook.DeliveryAttempt {
	s.mu.Lock()
	s.callScheduler.AttemptConnecting(c.Attempt, 0)
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(c.ctx, callTimeout)
	defer cancel()
	now := s.Now()
	headers := webhook.SignedHeaders(c.pendingDelivery.Event, c.pendingDelivery.EventID, now, c.pendingDelivery.Body, SecretsOf(c.hook, now)...)
	return webhook.DeliveryAttempt{At: now, ReceiverResponse: s.Poster.PostWebhook(ctx, c.hook.URL, headers, c.pendingDelivery.Body)}
}

// SecretsOf returns the secrets that sign a webhook's requests.
func SecretsOf(hook *account.Webhook, now time.Time) (out []webhook.SigningSecret) {
	for _, s := range hook.SigningSecrets(now) {
		out = append(out, webhook.SigningSecret(s))
	}
	return out
}
