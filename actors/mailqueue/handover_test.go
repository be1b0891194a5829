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
	outcome delivery.Outcome
}

func (c endedCourier) Deliver(ctx context.Context, o Consignment) []Handover {
	close(c.began)
	<-ctx.Done()
	return []Handover{{Rcpt: o.Rcpts[0], Outcome: c.outcome, Text: "its own"}}
}

// TestWhatWasHandedOverCounts checks that a delivery counts even if its attempt was cancelled for
// others.
func TestWhatWasHandedOverCounts(t *testing.T) {
	for outcome, want := range map[delivery.Outcome]string{
		delivery.Delivered: "its own", delivery.Temporary: "The mail server of far did not respond in time",
	} {
		courier := endedCourier{make(chan struct{}), outcome}
		q := New(Options{Courier: courier, Now: time.Now, Logger: slog.New(slog.DiscardHandler)})
		j := &job{Attempt: &scheduler.Attempt[mailKey]{Lane: "far"}}
		done := make(chan []Handover)
		go func() { done <- q.handOver(t.Context(), j, Consignment{Domain: "far", Rcpts: []string{"a@far"}}) }()
		<-courier.began
		q.mu.Lock()
		end := q.ends[j.Attempt]
		q.mu.Unlock()
		end(errHangs)
		if got := <-done; len(got) != 1 || got[0].Outcome != outcome || got[0].Text != want {
			t.Errorf("%v: %+v", outcome, got)
		}
	}
}

// TestWhatReportsTeach checks that a destination is silent only if none of its servers replied.
func TestWhatReportsTeach(t *testing.T) {
	later := Handover{Outcome: delivery.Temporary, Text: "No route"}
	spoke := Handover{Outcome: delivery.Temporary, MX: "mx", Text: "busy"}
	for name, c := range map[string]struct {
		reports []Handover
		want    scheduler.Result
	}{
		"nobody":     {nil, scheduler.Result{}},
		"no server":  {[]Handover{later, later}, scheduler.Result{Temper: scheduler.Silent, Report: "No route"}},
		"one server": {[]Handover{later, spoke}, scheduler.Result{Temper: scheduler.Answering}},
		"a code":     {[]Handover{{Outcome: delivery.Temporary, Code: 421}}, scheduler.Result{Temper: scheduler.Answering}},
		"a domain's": {[]Handover{{Outcome: delivery.Permanent, Text: "null MX"}}, scheduler.Result{Temper: scheduler.Answering}},
	} {
		if got := learn(c.reports); got != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
