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
	// deferGroup bounds the messages of one commit, and so how long it blocks an inbox.
	deferGroup = 64
	// deferRest is the pause after a commit, in multiples of the commit's duration, so that
	// deferrals use little of the cores and the log.
	deferRest = 19
	// deferPause is the pause after a failed commit.
	deferPause = time.Second
)

// deferAll defers what the scheduler wants deferred, until nothing is left. It uses one goroutine
// and one commit for many messages of an inbox, without a signature, lease or worker.
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
		case <-q.stopCh:
		case <-time.After(rest):
		}
	}
}

// nextDeferrals takes some messages of one inbox; none at the end.
func (q *Queue) nextDeferrals() (group []*scheduler.Deferral[mailKey], more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.isStopped {
		group, more = q.attemptScheduler.Deferrals(q.now(), deferGroup)
	}
	q.deferralRunning = len(group) > 0
	q.wakeLoop() // some may have returned to their destinations
	return group, more
}

// deferHeld defers messages of one inbox if its group is held.
func (q *Queue) deferHeld(address string, group []*scheduler.Deferral[mailKey]) error {
	of := partition.Of(address).Group()
	if ctx, held := q.groupWork.BeginWork(of); held {
		defer q.groupWork.EndWork(of)
		return q.deferGroup(ctx, address, group)
	}
	for _, d := range group {
		q.deferMessage(d, nil, nil) // Lose makes the scheduler drop them
	}
	return nil
}

// deferGroup commits an attempt without a connection for messages of one inbox.
func (q *Queue) deferGroup(ctx context.Context, address string, group []*scheduler.Deferral[mailKey]) error {
	order := inbox.DeferMessages{At: q.now(), Schedule: q.RetrySchedule, MessageDeferrals: make([]inbox.Deferral, len(group))}
	for i, d := range group {
		order.MessageDeferrals[i] = inbox.Deferral{ID: d.Key.id, FailureReason: d.Report, Jitter: rand.Float64()}
	}
	outcome, err := q.Inboxes.Do(ctx, address, order)
	left := make([]*inbox.Message, len(group)) // those that still wait
	for i := 0; i < len(group) && err == nil; i++ {
		left[i], err = q.Inboxes.QueuedMessage(ctx, address, group[i].Key.id)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		q.Logger.Warn("messages could not be deferred", "inbox", address, "mails", len(group), "err", err)
	}
	for i, d := range group {
		failed := err
		switch {
		case outcome.AttemptCounts != nil && outcome.AttemptCounts[i] > 0:
			q.logDeferral(d, outcome.AttemptCounts[i], left[i])
		case err == nil:
			failed = q.repairEntry(ctx, d.Key, d.At, left[i])
		}
		q.deferMessage(d, left[i], failed)
	}
	return err
}

// deferMessage schedules a message for its next time, which its owner returned. If the message was
// moved before, the known time counts. After an error, the index entry counts.
func (q *Queue) deferMessage(d *scheduler.Deferral[mailKey], m *inbox.Message, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	defer q.wakeLoop()
	if err != nil {
		q.attemptScheduler.NotDeferred(q.now(), d, againAfter)
		return
	}
	var due time.Time
	if m != nil {
		due = m.OutgoingDelivery.NextDue
	}
	q.attemptScheduler.EntryDeferred(q.now(), d, due)
}

// logDeferral logs and counts an attempt. m is nil if it was the last one.
func (q *Queue) logDeferral(d *scheduler.Deferral[mailKey], attempt int, m *inbox.Message) {
	q.counts.temporaryFailures.Add(1)
	verb := "attempt"
	if m == nil {
		verb = "failed" // its retry period is over
	}
	q.Logger.Info(verb, "inbox", d.Key.address, "message_id", d.Key.id, "attempt", attempt, "destination", d.DestinationName, "tried", false, "answer", d.Report)
}
