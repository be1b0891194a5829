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

// lease is a set of leases of one account to commit, or an order that is carried out alone.
type lease struct {
	account account.ID
	changes []webhook.Change
	alone   func() error // replaces changes
	done    chan error   // buffered
}

// result is a change to commit. The recorder's goroutine then calls done with the new time of the
// index entry, zero if it has none. If the change was not stored, it calls done with the error.
type result struct {
	account account.ID
	change  webhook.Change
	done    func(at time.Time, err error)
}

// lease returns when the leases are on disk.
func (s *Supervisor) lease(id account.ID, changes []webhook.Change) error {
	l := lease{account: id, changes: changes, done: make(chan error, 1)}
	s.leases <- l
	return <-l.done
}

// decide has the recorder carry out an order on an account's deliveries.
func (s *Supervisor) decide(ctx context.Context, id account.ID, order func() error) error {
	l := lease{account: id, alone: order, done: make(chan error, 1)}
	select {
	case s.leases <- l:
	case <-ctx.Done():
		return engine.Busy(ctx.Err())
	case <-s.ctx.Done(): // the recorder is about to end
		return engine.Busy(nil)
	}
	select {
	case err := <-l.done:
		return err
	case <-ctx.Done():
		return engine.Busy(ctx.Err())
	}
}

// batch is what the recorder commits together for one account.
type batch struct {
	leases  []lease
	results []result
}

// batches are the batches of one step.
type batches struct {
	of      map[account.ID]*batch
	leases  int
	results int
}

func (b *batches) batch(id account.ID) *batch {
	if b.of[id] == nil {
		b.of[id] = &batch{}
	}
	return b.of[id]
}

func (b *batches) lease(l lease) {
	one := b.batch(l.account)
	one.leases = append(one.leases, l)
	b.leases++
}

func (b *batches) result(r result) {
	one := b.batch(r.account)
	one.results = append(one.results, r)
	b.results++
}

// record commits until the results channel is closed.
func (s *Supervisor) record() {
	settled := map[account.ID]*tally{}
	for open := true; open; {
		b := batches{of: map[account.ID]*batch{}}
		open = s.gather(&b)
		var all sync.WaitGroup
		for id, one := range b.of {
			all.Go(func() { s.commit(id, one) })
		}
		all.Wait()
		for id, one := range b.of {
			s.tally(settled, id, one.results)
		}
	}
}

// gather waits for what to commit next; false if nothing more will come.
func (s *Supervisor) gather(b *batches) (open bool) {
	var over <-chan time.Time // set by the first result
	for b.leases == 0 && b.results < recordFull {
		select {
		case l := <-s.leases:
			b.lease(l)
		case r, open := <-s.results:
			if !open {
				return false
			}
			b.result(r)
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
func (s *Supervisor) gatherReady(b *batches) (open bool) {
	for b.leases+b.results < groupMost {
		select {
		case l := <-s.leases:
			b.lease(l)
		case r, open := <-s.results:
			if !open {
				return false
			}
			b.result(r)
		default:
			return true
		}
	}
	return true
}

// changes returns the changes of a batch. For a delivery that was erased with its account, only the
// index entry is removed.
func (s *Supervisor) changes(b *batch) (all []webhook.Change) {
	for _, l := range b.leases {
		all = append(all, l.changes...)
	}
	for i := range b.results {
		if c := &b.results[i].change; c.Delivery != nil && s.erased(c.Delivery) {
			*c = webhook.Change{ID: c.ID, Webhook: c.Webhook, From: c.From}
		}
		all = append(all, b.results[i].change)
	}
	return all
}

// erased reports whether a delivery was erased with its account, whose webhooks are erased first.
func (s *Supervisor) erased(del *webhook.Delivery) bool {
	if hook, err := s.Subscriptions.find(del.Account, del.Webhook); hook != nil || err != nil {
		return false
	}
	again, err := s.Store.Delivery(del.Account, del.ID)
	return err == nil && again == nil
}

func (s *Supervisor) commit(id account.ID, b *batch) {
	b.leases = slices.DeleteFunc(b.leases, func(l lease) bool {
		if l.alone != nil {
			l.done <- l.alone()
		}
		return l.alone != nil
	})
	if len(b.leases)+len(b.results) == 0 {
		return
	}
	err := s.Store.CommitDeliveries(id, s.changes(b))
	if len(b.results) > 0 {
		failpoint.Here("call-recorded")
	}
	for _, l := range b.leases {
		l.done <- err
	}
	if err != nil && len(b.results) > 0 {
		s.Logger.Error("webhook results could not be stored, will be retried", "account", id, "calls", len(b.results), "err", err)
	}
	for _, r := range b.results {
		var at time.Time
		if del := r.change.Delivery; err == nil && del != nil {
			s.counts.count(del, r.change.Tried)
			s.note(del, r.change.Tried)
			at = del.NextAt
		}
		r.done(at, err)
	}
}

// note logs an attempt whose record was written. It logs only the host of the URL: the rest may be
// secret.
func (s *Supervisor) note(del *webhook.Delivery, tried bool) {
	if !tried {
		return
	}
	s.counts.seconds.Observe(uint64(del.ID), del.Last.Duration)
	s.Logger.Info("webhook", "state", del.State.Name(), "account", del.Account.String(), "webhook", del.Webhook, "delivery", del.ID, "event", del.Event, "inbox", del.Inbox,
		"attempt", del.Calls, "host", hostOfURL(del.URL), "status", del.Last.Status, "duration", del.Last.Duration, "err", del.Last.Error)
}

// count counts a delivery whose record was written.
func (c *counts) count(del *webhook.Delivery, tried bool) {
	switch {
	case del.State == webhook.Delivered:
		c.delivered.Add(1)
	case del.State == webhook.Retrying:
		c.retried.Add(1)
	case tried:
		c.failed.Add(1)
	default:
		c.cancelled.Add(1)
	}
}
