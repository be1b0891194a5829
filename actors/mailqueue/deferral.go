package mailqueue

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"inboxd/internal/base/partition"
	"inboxd/internal/core/inbox"
	"inboxd/internal/core/scheduler"
)

const (
	// deferGroup bounds the mails of one commit, and so how long an inbox does nothing else.
	deferGroup = 64
	// deferRest is how long nothing is deferred after a commit, in times of what that took:
	// neither the cores nor the log notice much of it.
	deferRest = 19
	// deferPause is the rest after a commit that failed.
	deferPause = time.Second
)

// deferAll defers what the line wants deferred, and ends when there is no more of it: one
// goroutine, many mails of an inbox in one commit, and no signature, lease or worker.
func (q *Queue) deferAll() {
	for woken := false; ; {
		group, more := q.nextDeferrals()
		if len(group) == 0 {
			return
		}
		address := group[0].Key.address
		woken = woken || !q.Inboxes.IsResident(address)
		from := time.Now()
		err := q.deferHeld(address, group)
		if woken && !more {
			q.Inboxes.LetSleep(address)
			woken = false
		}
		rest := deferRest * time.Since(from)
		if err != nil {
			rest = deferPause
		}
		select {
		case <-q.stopping:
		case <-time.After(rest):
		}
	}
}

// nextDeferrals takes some mails of one inbox; none at the end.
func (q *Queue) nextDeferrals() (group []*scheduler.Deferral[mailKey], more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.stopped {
		group, more = q.line.Deferrals(q.now(), deferGroup)
	}
	q.deferring = len(group) > 0
	q.nudge() // some may have gone back to their lanes
	return group, more
}

// deferHeld defers mails of one inbox, if its group is held.
func (q *Queue) deferHeld(address string, group []*scheduler.Deferral[mailKey]) error {
	of := partition.Of(address).Group()
	if ctx, held := q.terms.Begin(of); held {
		defer q.terms.End(of)
		return q.deferGroup(ctx, address, group)
	}
	for _, d := range group {
		q.deferred(d, nil, nil) // the line was told to forget them
	}
	return nil
}

// deferGroup commits an attempt that nobody made for mails of one inbox.
func (q *Queue) deferGroup(ctx context.Context, address string, group []*scheduler.Deferral[mailKey]) error {
	order := inbox.Defer{At: q.now(), Schedule: q.Schedule, Mails: make([]inbox.Deferral, len(group))}
	for i, d := range group {
		order.Mails[i] = inbox.Deferral{ID: d.Key.id, Why: d.Report, Jitter: rand.Float64()}
	}
	outcome, err := q.Inboxes.Do(ctx, address, order)
	left := make([]*inbox.Message, len(group)) // those that wait on
	for i := 0; i < len(group) && err == nil; i++ {
		left[i], err = q.Inboxes.Queued(ctx, address, group[i].Key.id)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		q.Logger.Warn("messages could not be deferred", "inbox", address, "mails", len(group), "err", err)
	}
	for i, d := range group {
		failed := err
		switch {
		case outcome.Each != nil && outcome.Each[i] > 0:
			q.logDeferral(d, outcome.Each[i], left[i])
		case err == nil:
			failed = q.mend(ctx, d.Key, d.At, left[i])
		}
		q.deferred(d, left[i], failed)
	}
	return err
}

// deferred has a mail wait for its next time, which its owner told; for the one that it is
// known by, when it was moved before; or in the index, when that failed.
func (q *Queue) deferred(d *scheduler.Deferral[mailKey], m *inbox.Message, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	defer q.nudge()
	if err != nil {
		q.line.NotDeferred(q.now(), d, againAfter)
		return
	}
	var due time.Time
	if m != nil {
		due = m.Sending.Due
	}
	q.line.Deferred(q.now(), d, due)
}

// logDeferral writes the line of an attempt and counts it. m is nil when it was the last.
func (q *Queue) logDeferral(d *scheduler.Deferral[mailKey], attempt int, m *inbox.Message) {
	q.counts.temporary.Add(1)
	verb := "attempt"
	if m == nil {
		verb = "failed" // its time is over
	}
	q.Logger.Info(verb, "inbox", d.Key.address, "message_id", d.Key.id, "attempt", attempt, "destination", d.Lane, "tried", false, "answer", d.Report)
}
