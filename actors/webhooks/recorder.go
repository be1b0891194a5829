package webhooks

import (
	"context"
	"slices"
	"sync"
	"time"

	"inboxd/actors/engine"
	"inboxd/internal/base/failpoint"
	"inboxd/internal/core/account"
	"inboxd/internal/core/webhook"
)

// The recorder is the one goroutine that commits leases and results, and that decides redeliveries.
// Orders of one account are decided one after the other, each by what the one before left on the
// disk.
//
// Commits of messages use the same log, so the recorder makes few commits. A lease does not wait,
// because an attempt waits for it; its commit includes the results gathered so far. Without a
// lease, results are gathered for recordDelay. A crash before the commit makes the next run attempt
// again, as at any time between lease and result.

const (
	recordDelay = 5 * time.Millisecond
	// recordFull results are committed at once: each holds one of its host's slots.
	recordFull = atOnce / 2
)

// leaseRequest is a set of leases of one account to commit, or an order that is carried out alone.
type leaseRequest struct {
	accountID account.ID
	changes   []webhook.DeliveryChange
	runAlone  func() error // replaces changes
	doneCh    chan error   // buffered
}

// callResult is a change to commit. The recorder's goroutine then calls done with the new time of the
// index entry, zero if it has none. If the change was not stored, it calls done with the error.
type callResult struct {
	accountID  account.ID
	change     webhook.DeliveryChange
	onRecorded func(at time.Time, err error)
}

// commitLeases returns when the leases are on disk.
func (s *Supervisor) commitLeases(id account.ID, changes []webhook.DeliveryChange) error {
	l := leaseRequest{accountID: id, changes: changes, doneCh: make(chan error, 1)}
	s.leaseQueue <- l
	return <-l.doneCh
}

// runOrder has the recorder carry out an order on an account's deliveries.
func (s *Supervisor) runOrder(ctx context.Context, id account.ID, order func() error) error {
	l := leaseRequest{accountID: id, runAlone: order, doneCh: make(chan error, 1)}
	select {
	case s.leaseQueue <- l:
	case <-ctx.Done():
		return engine.BusyError(ctx.Err())
	case <-s.ctx.Done(): // the recorder is about to end
		return engine.BusyError(nil)
	}
	select {
	case err := <-l.doneCh:
		return err
	case <-ctx.Done():
		return engine.BusyError(ctx.Err())
	}
}

// accountBatch is what the recorder commits together for one account.
type accountBatch struct {
	leases  []leaseRequest
	results []callResult
}

// stepBatches are the batches of one step.
type stepBatches struct {
	of          map[account.ID]*accountBatch
	leaseCount  int
	resultCount int
}

func (b *stepBatches) batchFor(id account.ID) *accountBatch {
	if b.of[id] == nil {
		b.of[id] = &accountBatch{}
	}
	return b.of[id]
}

func (b *stepBatches) addLease(l leaseRequest) {
	one := b.batchFor(l.accountID)
	one.leases = append(one.leases, l)
	b.leaseCount++
}

func (b *stepBatches) addResult(r callResult) {
	one := b.batchFor(r.accountID)
	one.results = append(one.results, r)
	b.resultCount++
}

// runRecorder commits until the results channel is closed.
func (s *Supervisor) runRecorder() {
	settled := map[account.ID]*accountTally{}
	for open := true; open; {
		b := stepBatches{of: map[account.ID]*accountBatch{}}
		open = s.gatherBatches(&b)
		var all sync.WaitGroup
		for id, one := range b.of {
			all.Go(func() { s.commitBatch(id, one) })
		}
		all.Wait()
		for id, one := range b.of {
			s.trimRecords(settled, id, one.results)
		}
	}
}

// gatherBatches waits for what to commit next; false if nothing more will come.
func (s *Supervisor) gatherBatches(b *stepBatches) (open bool) {
	var over <-chan time.Time // set by the first result
	for b.leaseCount == 0 && b.resultCount < recordFull {
		select {
		case l := <-s.leaseQueue:
			b.addLease(l)
		case r, open := <-s.resultQueue:
			if !open {
				return false
			}
			b.addResult(r)
		case <-over:
			return true
		}
		if over == nil {
			over = time.After(recordDelay)
		}
	}
	return s.gatherReady(b)
}

// gatherReady adds what already waits.
func (s *Supervisor) gatherReady(b *stepBatches) (open bool) {
	for b.leaseCount+b.resultCount < groupMost {
		select {
		case l := <-s.leaseQueue:
			b.addLease(l)
		case r, open := <-s.resultQueue:
			if !open {
				return false
			}
			b.addResult(r)
		default:
			return true
		}
	}
	return true
}

// batchChanges returns the changes of a batch. For a delivery that was erased with its account,
// only the index entry is removed.
func (s *Supervisor) batchChanges(b *accountBatch) (all []webhook.DeliveryChange) {
	for _, l := range b.leases {
		all = append(all, l.changes...)
	}
	for i := range b.results {
		if c := &b.results[i].change; c.Delivery != nil && s.isErased(c.Delivery) {
			*c = webhook.DeliveryChange{ID: c.ID, Webhook: c.Webhook, DueBefore: c.DueBefore}
		}
		all = append(all, b.results[i].change)
	}
	return all
}

// isErased reports whether a delivery was erased with its account, whose webhooks are erased first.
func (s *Supervisor) isErased(del *webhook.Delivery) bool {
	if hook, err := s.SubscriptionCache.findWebhook(del.Account, del.Webhook); hook != nil || err != nil {
		return false
	}
	again, err := s.Store.FindDelivery(del.Account, del.ID)
	return err == nil && again == nil
}

func (s *Supervisor) commitBatch(id account.ID, b *accountBatch) {
	b.leases = slices.DeleteFunc(b.leases, func(l leaseRequest) bool {
		if l.runAlone != nil {
			l.doneCh <- l.runAlone()
		}
		return l.runAlone != nil
	})
	if len(b.leases)+len(b.results) == 0 {
		return
	}
	err := s.Store.CommitDeliveries(id, s.batchChanges(b))
	if len(b.results) > 0 {
		failpoint.MarkPoint("call-recorded")
	}
	for _, l := range b.leases {
		l.doneCh <- err
	}
	if err != nil && len(b.results) > 0 {
		s.Logger.Error("webhook results could not be stored, will be retried", "account", id, "calls", len(b.results), "err", err)
	}
	for _, r := range b.results {
		var at time.Time
		if del := r.change.Delivery; err == nil && del != nil {
			s.callCounts.countDelivery(del, r.change.IsAttempt)
			s.logCall(del, r.change.IsAttempt)
			at = del.NextAt
		}
		r.onRecorded(at, err)
	}
}

// logCall logs an attempt whose record was written. It logs only the host of the URL: the rest may be
// secret.
func (s *Supervisor) logCall(del *webhook.Delivery, tried bool) {
	if !tried {
		return
	}
	s.callCounts.seconds.Observe(uint64(del.ID), del.LastAttempt.Duration)
	s.Logger.Info("webhook", "state", del.State.WireName(), "account", del.Account.String(), "webhook", del.Webhook, "delivery", del.ID, "event", del.Event, "inbox", del.Inbox,
		"attempt", del.AttemptCount, "host", hostOfURL(del.URL), "status", del.LastAttempt.Status, "duration", del.LastAttempt.Duration, "err", del.LastAttempt.Error)
}

// countDelivery counts a delivery whose record was written.
func (c *callCounts) countDelivery(del *webhook.Delivery, tried bool) {
	switch {
	case del.State == webhook.StateDelivered:
		c.delivered.Add(1)
	case del.State == webhook.StateRetrying:
		c.retried.Add(1)
	case tried:
		c.failed.Add(1)
	default:
		c.cancelled.Add(1)
	}
}
