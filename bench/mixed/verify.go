package mixed

import (
	"context"
	"fmt"
	"time"

	"inboxd/bench"
	"inboxd/bench/drive"
	"inboxd/http/client"
)

const (
	look     = 100 * time.Millisecond // between two looks at what is still to come
	listPage = 1000
)

// verify asks for everything that was accepted: each message is readable where it was sent and has
// one event, and each message that agents sent was delivered once.
func (r *run) verify(ctx context.Context) error {
	if err := r.verifyEvents(ctx); err != nil {
		return err
	}
	if err := r.verifyMails(ctx); err != nil {
		return err
	}
	return r.verifySends(ctx)
}

func (r *run) verifyEvents(ctx context.Context) error {
	if r.listener == nil {
		return nil
	}
	err := await(ctx, "events", r.fleet.Within, func() (done, all int64) {
		all, done, _ = r.ledger.count()
		return done, all
	})
	if err != nil {
		return err
	}
	taken, withEvent, twice := r.ledger.count()
	r.listener.mu.Lock()
	defer r.listener.mu.Unlock()
	out := r.bed.Report
	out.Verify("messages accepted with an event", taken, withEvent)
	if r.up.Load() == 0 { // a restarted server may call again
		out.Verify("events received twice", 0, twice)
	}
	out.Verify("webhook calls without a valid signature", 0, r.listener.forged)
	out.Verify("events of messages that were not sent", 0, r.listener.strange)
	return nil
}

// verifyMails lists the messages of each account.
func (r *run) verifyMails(ctx context.Context) error {
	var found int64
	accepted, _, _ := r.ledger.count()
	seen := make(map[string]bool)
	note := func(m client.InboxMessage) {
		agent := r.ledger.agentOf(m.OTPCode)
		if agent >= 0 && r.agents[agent].Address == m.Inbox && !seen[m.OTPCode] && r.ledger.of(m.OTPCode).taken.Load() {
			seen[m.OTPCode] = true
			found++
		}
	}
	for _, key := range r.bed.Keys {
		q := client.AllQuery{Limit: listPage, Fields: []string{"id", "otp_code"}}
		for more := true; more; more = q.Cursor != "" {
			page, err := bench.NewAPI(r.bed.Server.HTTP, key).AllMessages(ctx, q)
			if err != nil {
				return err
			}
			for _, m := range page.Emails {
				note(m)
			}
			q.Cursor = page.NextCursor
			drive.ShowProgress(ctx, drive.Moment{Name: "messages read back", Done: float64(found), All: float64(accepted)})
		}
	}
	r.bed.Report.Verify("messages accepted that are readable", accepted, found)
	return nil
}

// verifySends asks the sink for the messages that it received.
func (r *run) verifySends(ctx context.Context) error {
	if r.fleet.Sends == 0 {
		return nil
	}
	all := int64(len(r.ledger.sends))
	count := func() (done, twice int64) {
		for _, n := range r.ledger.sends {
			times := r.bed.Server.Sink.Taken(subjectOf(n))
			done += int64(min(times, 1))
			twice += int64(min(max(times-1, 0), 1))
		}
		return done, twice
	}
	err := await(ctx, "deliveries", r.fleet.Within, func() (int64, int64) { done, _ := count(); return done, all })
	done, twice := count()
	r.bed.Report.Verify("sends accepted that were delivered", all, done)
	if r.up.Load() == 0 {
		r.bed.Report.Verify("messages delivered twice", 0, twice)
	}
	return err
}

// await looks until all is done, but for no longer than within without anything new.
func await(ctx context.Context, what string, within time.Duration, count func() (done, all int64)) error {
	tick := time.NewTicker(look)
	defer tick.Stop()
	last, since := int64(-1), time.Now()
	for {
		done, all := count()
		if done == all || time.Since(since) > within {
			return nil
		}
		if done != last {
			last, since = done, time.Now()
		}
		drive.ShowProgress(ctx, drive.Moment{Name: "waiting for " + what, Done: float64(done), All: float64(all), Says: fmt.Sprintf("%d to come", all-done)})
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
