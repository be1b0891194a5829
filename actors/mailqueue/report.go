package mailqueue

import (
	"context"
	"math/rand/v2"
	"time"

	"inboxd/internal/base/failpoint"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/delivery"
	"inboxd/internal/core/inbox"
	"inboxd/internal/core/scheduler"
)

func allLater(rcpts []string, why string) []Handover {
	out := make([]Handover, len(rcpts))
	for i, rcpt := range rcpts {
		out[i] = Handover{Rcpt: rcpt, Outcome: delivery.Temporary, Text: why}
	}
	return out
}

// isTemporary reports whether there are reports and all of them are temporary failures.
func isTemporary(reports []Handover) bool {
	for _, r := range reports {
		if r.Outcome != delivery.Temporary {
			return false
		}
	}
	return len(reports) > 0
}

// learn returns how a destination responded; it is silent if none of its servers replied at all.
func learn(reports []Handover) scheduler.Result {
	for _, r := range reports {
		if r.MX != "" || r.Code != 0 || r.Outcome != delivery.Temporary {
			return scheduler.Result{Temper: scheduler.Answering}
		}
	}
	if len(reports) == 0 {
		return scheduler.Result{}
	}
	return scheduler.Result{Temper: scheduler.Silent, Report: reports[0].Text}
}

// report commits the outcome of one job. The last job of the attempt also ends the attempt.
func (q *Queue) report(ctx context.Context, t *task, reports []Handover, tried bool) error {
	order := inbox.Attempted{ID: t.key.id, Attempt: t.number, Reports: make([]inbox.Report, len(reports))}
	for i, r := range reports {
		order.Reports[i] = inbox.Report{Email: r.Rcpt, Outcome: r.Outcome, Error: r.sentence(), MX: r.MX}
	}
	// Until its outcome is on disk, the message may be sent twice. So neither a stop nor a busy
	// moment ends this early.
	ctx = context.WithoutCancel(ctx)
	next, more := q.Schedule.Next(t.number, t.message.ReceivedAt, q.now(), rand.Float64())
	if t.parts > 1 {
		if _, err := q.insist(ctx, t.key.address, order); err != nil {
			return err
		}
		order.Reports = nil
	}
	if int(t.done.Add(1)) == t.parts {
		if order.Done = true; more {
			order.Next = next.UTC().Truncate(time.Millisecond)
		}
		if _, err := q.insist(ctx, t.key.address, order); err != nil {
			return err
		}
	}
	failpoint.Here("result-committed")
	q.logReports(t, reports, tried, !more)
	return nil
}

// commitTaken commits accepted copies while the next ones are being sent, until the channel is
// closed. All copies accepted during a commit are in the next one. So a crash repeats only copies
// that were accepted during the last commits.
func (q *Queue) commitTaken(ctx context.Context, t *task, taken <-chan inbox.Report) error {
	for report := range taken {
		order := inbox.Attempted{ID: t.key.id, Attempt: t.number, Reports: []inbox.Report{report}}
		for len(taken) > 0 {
			order.Reports = append(order.Reports, <-taken)
		}
		outcome, err := q.insist(context.WithoutCancel(ctx), t.key.address, order)
		failpoint.Here("copy-committed")
		if err == nil && outcome.ID == 0 {
			err = errGone // deleted meanwhile
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// insist repeats a command for a while if the inbox is too busy.
func (q *Queue) insist(ctx context.Context, address string, order inbox.Command) (outcome inbox.Outcome, err error) {
	for try := range 8 {
		if outcome, err = q.Inboxes.Do(ctx, address, order); !fault.Is(err, fault.Unavailable) {
			return outcome, err
		}
		time.Sleep(50 * time.Millisecond << try)
	}
	return outcome, err
}

// logReports logs one line per recipient and counts it. If no retry follows, a temporary failure
// counts as the recipient's failure.
func (q *Queue) logReports(t *task, reports []Handover, tried, last bool) {
	for _, r := range reports {
		verb, counter := "attempt", &q.counts.temporary
		switch r.Outcome {
		case delivery.Delivered:
			verb, counter = "delivered", &q.counts.delivered
		case delivery.Permanent:
			verb, counter = "failed", &q.counts.permanent
		}
		if last && r.Outcome == delivery.Temporary {
			verb = "failed"
		}
		counter.Add(1)
		q.Logger.Info(verb, "inbox", t.key.address, "message_id", t.key.id, "attempt", t.number, "to", r.Rcpt,
			"mx", r.MX, "code", r.Code, "tls", r.TLS, "tried", tried, "answer", r.Text)
	}
}
