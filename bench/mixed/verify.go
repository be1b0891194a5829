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

// verify asks for everything that was accepted: each message is readable where it was sent, was told of, once, and each
// mail that agents sent was delivered, once.
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
	err := await(ctx, "events", r.fleet.Within, func() (done, all int64, err error) {
		all, done, _ = r.ledger.count()
		return done, all, nil
	})
	if err != nil {
		return err
	}
	taken, told, twice := r.ledger.count()
	forged, strange, err := r.listener.trouble()
	out := r.bed.Report
	out.Verify("mails accepted that were told of", taken, told)
	out.Verify("events told twice", 0, twice)
	out.Verify("calls without a right signature", 0, forged)
	out.Verify("events of mails that were not sent", 0, strange)
	return err
}

// verifyMails lists the messages of each account.
func (r *run) verifyMails(ctx context.Context) error {
	var found, all int64
	all, _, _ = r.ledger.count()
	seen := make(map[string]bool)
	for _, key := range r.bed.Keys {
		err := pages(ctx, bench.NewAPI(r.bed.Server.HTTP, key), client.AllQuery{Limit: listPage, Fields: []string{"id", "otp_code"}}, func(m client.InboxMessage) {
			agent := r.ledger.agentOf(m.OTPCode)
			if agent < 0 || r.agents[agent].Address != m.Inbox || seen[m.OTPCode] || !r.ledger.of(m.OTPCode).taken.Load() {
				return
			}
			seen[m.OTPCode] = true
			if found++; found%listPage == 0 {
				drive.Tell(ctx, drive.Moment{Name: "mails read back", Done: float64(found), All: float64(all)})
			}
		})
		if err != nil {
			return err
		}
	}
	r.bed.Report.Verify("mails accepted that are readable", all, found)
	return nil
}

// pages goes through all messages of an account.
func pages(ctx context.Context, api *client.Client, q client.AllQuery, each func(client.InboxMessage)) error {
	for {
		page, err := api.AllMessages(ctx, q)
		if err != nil {
			return err
		}
		for _, m := range page.Emails {
			each(m)
		}
		if q.Cursor = page.NextCursor; q.Cursor == "" {
			return nil
		}
	}
}

// verifySends asks the sink for what went to it, or else the service for what became of it.
func (r *run) verifySends(ctx context.Context) error {
	if r.fleet.Sends == 0 {
		return nil
	}
	var twice int64
	count := func() (done, all int64, err error) {
		delivered, err := r.delivered(ctx)
		if err != nil {
			return 0, 0, err
		}
		twice = 0
		for _, n := range r.ledger.sends {
			switch times := delivered(subjectOf(n)); {
			case times > 1:
				twice++
				done++
			case times == 1:
				done++
			}
		}
		return done, int64(len(r.ledger.sends)), nil
	}
	if err := await(ctx, "deliveries", r.fleet.Within, count); err != nil {
		return err
	}
	done, all, err := count()
	r.bed.Report.Verify("sends accepted that were delivered", all, done)
	r.bed.Report.Verify("mails delivered twice", 0, twice)
	return err
}

// delivered says how often a message of a subject was handed over.
func (r *run) delivered(ctx context.Context) (func(subject string) int, error) {
	if r.bed.Server.Sink != nil {
		return r.bed.Server.Sink.Taken, nil
	}
	times := map[string]int{}
	for _, key := range r.bed.Keys {
		q := client.AllQuery{Limit: listPage, Direction: "out", Fields: []string{"id", "subject", "send_status"}}
		err := pages(ctx, bench.NewAPI(r.bed.Server.HTTP, key), q, func(m client.InboxMessage) {
			if m.SendStatus.Delivered() {
				times[m.Subject]++
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return func(subject string) int { return times[subject] }, nil
}

// await looks until all is done, but for no longer than within without anything new.
func await(ctx context.Context, what string, within time.Duration, count func() (done, all int64, err error)) error {
	tick := time.NewTicker(look)
	defer tick.Stop()
	last, since := int64(-1), time.Now()
	for {
		done, all, err := count()
		if err != nil || done == all || time.Since(since) > within {
			return err
		}
		if done != last {
			last, since = done, time.Now()
		}
		drive.Tell(ctx, drive.Moment{Name: "waiting for " + what, Done: float64(done), All: float64(all), Says: fmt.Sprintf("%d to come", all-done)})
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
