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
		out[i] = Handover{Rcpt: rcpt, Outcome: delivery.OutcomeTemporary, Text: why}
	}
	return out
}

// isTemporary reports whether there are reports and all of them are temporary failures.
func isTemporary(reports []Handover) bool {
	for _, r := range reports {
		if r.Outcome != delivery.OutcomeTemporary {
			return false
		}
	}
	return len(reports) > 0
}

// destinationResult returns how a destination responded; it is silent if none of its servers
// replied at all.
func destinationResult(reports []Handover) scheduler.AttemptResult {
	for _, r := range reports {
		if r.MX != "" || r.Code != 0 || r.Outcome != delivery.OutcomeTemporary {
			return scheduler.AttemptResult{HealthState: scheduler.HealthAnswering}
		}
	}
	if len(reports) == 0 {
		return scheduler.AttemptResult{}
	}
	return scheduler.AttemptResult{HealthState: scheduler.HealthSilent, Report: reports[0].Text}
}

// commitReports commits the outcome of one job. The last job of the attempt also ends the attempt.
func (q *Queue) commitReports(ctx context.Context, t *attemptTask, reports []Handover, tried bool) error {
	order := inbox.ReportAttempt{ID: t.messageKey.id, AttemptNumber: t.attemptNumber, Reports: make([]inbox.AttemptReport, len(reports))}
	for i, r := range reports {
		order.Reports[i] = inbox.AttemptReport{Email: r.Rcpt, Outcome: r.Outcome, Error: r.reportSentence(), MX: r.MX}
	}
	// Until its outcome is on disk, the message may be sent twice. So neither a stop nor a busy
	// moment ends this early.
	ctx = context.WithoutCancel(ctx)
	next, more := q.RetrySchedule.NextRetry(t.attemptNumber, t.message.ReceivedAt, q.now(), rand.Float64())
	if t.jobCount > 1 {
		if _, err := q.retryCommand(ctx, t.messageKey.address, order); err != nil {
			return err
		}
		order.Reports = nil
	}
	if int(t.reportedJobs.Add(1)) == t.jobCount {
		if order.IsDone = true; more {
			order.NextAttempt = next.UTC().Truncate(time.Millisecond)
		}
		if _, err := q.retryCommand(ctx, t.messageKey.address, order); err != nil {
			return err
		}
	}
	failpoint.MarkPoint("result-committed")
	q.logReports(t, reports, tried, !more)
	return nil
}

// commitTaken commits accepted copies while the next ones are being sent, until the channel is
// closed. All copies accepted during a commit are in the next one. So a crash repeats only copies
// that were accepted during the last commits.
func (q *Queue) commitTaken(ctx context.Context, t *attemptTask, taken <-chan inbox.AttemptReport) error {
	for report := range taken {
		order := inbox.ReportAttempt{ID: t.messageKey.id, AttemptNumber: t.attemptNumber, Reports: []inbox.AttemptReport{report}}
		for len(taken) > 0 {
			order.Reports = append(order.Reports, <-taken)
		}
		outcome, err := q.retryCommand(context.WithoutCancel(ctx), t.messageKey.address, order)
		failpoint.MarkPoint("copy-committed")
		if err == nil && outcome.ID == 0 {
			err = errGone // deleted meanwhile
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// retryCommand repeats a command for a while if the inbox is too busy.
func (q *Queue) retryCommand(ctx context.Context, address string, order inbox.Command) (outcome inbox.CommandOutcome, err error) {
	for try := range 8 {
		if outcome, err = q.Inboxes.Do(ctx, address, order); !fault.Is(err, fault.TemporarilyUnavailable) {
			return outcome, err
		}
		time.Sleep(50 * time.Millisecond << try)
	}
	return outcome, err
}

// logReports logs one line per recipient and counts it. If no retry follows, a temporary failure
// counts as the recipient's failure.
func (q *Queue) logReports(t *attemptTask, reports []Handover, tried, last bool) {
	for _, r := range reports {
		verb, counter := "attempt", &q.counts.temporaryFailures
		switch r.Outcome {
		case delivery.OutcomeDelivered:
			verb, counter = "delivered", &q.counts.delivered
		case delivery.OutcomePermanent:
			verb, counter = "failed", &q.counts.permanentFailures
		}
		if last && r.Outcome == delivery.OutcomeTemporary {
			verb = "failed"
		}
		counter.Add(1)
		q.Logger.Info(verb, "inbox", t.messageKey.address, "message_id", t.messageKey.id, "attempt", t.attemptNumber, "to", r.Rcpt,
			"mx", r.MX, "code", r.Code, "tls", r.TLS, "tried", tried, "answer", r.Text)
	}
}
