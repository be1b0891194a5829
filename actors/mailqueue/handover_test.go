package mailqueue

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"inboxd/internal/core/delivery"
	"inboxd/internal/core/scheduler"
)

// endedCourier returns after its attempt was cancelled.
type endedCourier struct {
	began   chan struct{}
	outcome delivery.AttemptOutcome
}

func (c endedCourier) Deliver(ctx context.Context, o DeliveryRequest) []Handover {
	close(c.began)
	<-ctx.Done()
	return []Handover{{Rcpt: o.Rcpts[0], Outcome: c.outcome, Text: "its own"}}
}

// TestWhatWasHandedOverCounts checks that a delivery counts even if its attempt was cancelled for
// others.
func TestWhatWasHandedOverCounts(t *testing.T) {
	for outcome, want := range map[delivery.AttemptOutcome]string{
		delivery.OutcomeDelivered: "its own", delivery.OutcomeTemporary: "The mail server of far did not respond in time",
	} {
		courier := endedCourier{make(chan struct{}), outcome}
		q := New(Options{Courier: courier, Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
		j := &deliveryJob{Attempt: &scheduler.Attempt[mailKey]{DestinationName: "far"}}
		done := make(chan []Handover)
		go func() { done <- q.handOver(t.Context(), j, DeliveryRequest{Domain: "far", Rcpts: []string{"a@far"}}) }()
		<-courier.began
		q.mu.Lock()
		end := q.cancelAttempts[j.Attempt]
		q.mu.Unlock()
		end(errHangs)
		if got := <-done; len(got) != 1 || got[0].Outcome != outcome || got[0].Text != want {
			t.Errorf("%v: %+v", outcome, got)
		}
	}
}

// TestWhatReportsTeach checks that a destination is silent only if none of its servers replied.
func TestWhatReportsTeach(t *testing.T) {
	later := Handover{Outcome: delivery.OutcomeTemporary, Text: "No route"}
	spoke := Handover{Outcome: delivery.OutcomeTemporary, MX: "mx", Text: "busy"}
	for name, c := range map[string]struct {
		reports []Handover
		want    scheduler.AttemptResult
	}{
		"nobody":     {nil, scheduler.AttemptResult{}},
		"no server":  {[]Handover{later, later}, scheduler.AttemptResult{HealthState: scheduler.HealthSilent, Report: "No route"}},
		"one server": {[]Handover{later, spoke}, scheduler.AttemptResult{HealthState: scheduler.HealthAnswering}},
		"a code":     {[]Handover{{Outcome: delivery.OutcomeTemporary, Code: 421}}, scheduler.AttemptResult{HealthState: scheduler.HealthAnswering}},
		"a domain's": {[]Handover{{Outcome: delivery.OutcomePermanent, Text: "null MX"}}, scheduler.AttemptResult{HealthState: scheduler.HealthAnswering}},
	} {
		if got := destinationResult(c.reports); got != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
