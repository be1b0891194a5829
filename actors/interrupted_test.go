package actors

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"inboxd/actors/mailqueue"
	"inboxd/internal/core/delivery"
	"inboxd/internal/core/inbox"
	"inboxd/persist/persisttest"
)

// TestInterruptedAttemptsAreFoundAnywhere checks that the start finds a lease that lies behind more
// of the index than memory holds, and that the depth counts all entries.
func TestInterruptedAttemptsAreFoundAnywhere(t *testing.T) {
	store := persisttest.OpenCrashable(t)
	first := startSystem(t, store, func(o *Options) {
		o.RetrySchedule = delivery.RetrySchedule{RetryDelays: []time.Duration{time.Hour}}
		o.Courier = &fakeCourier{answer: func(mailqueue.DeliveryRequest) mailqueue.Handover {
			return mailqueue.Handover{Outcome: delivery.OutcomeTemporary, Code: 451}
		}}
	})
	_, address := openAccount(t, first)
	id := must[int64](t)(first.SendMessage(t.Context(), address, letter("a@far.test")))
	sending(t, first, address, id, func(s *inbox.OutgoingDelivery) bool { return s.Status == delivery.StatusRetrying && !s.AttemptLeased })
	queue, _, _ := store.MailQueue(inbox.QueueEntry{}, 10)
	if len(queue) != 1 {
		t.Fatalf("queue: %+v", queue)
	}
	// Two pages of entries of a missing inbox that are due earlier, and the lease after them.
	crashed := store.CrashCopy(t)
	rows := &inbox.Rows{Address: "gone@inbox.localhost"}
	since := first.now().Add(-2 * time.Hour)
	for n := range 2 * 2048 {
		rows.QueueMoves = append(rows.QueueMoves, inbox.QueueMove{ID: int64(n), To: first.now().Add(time.Hour), AcceptedAt: since, WaitingDomains: []string{"other.test"}})
	}
	if err := crashed.CommitInbox(rows); err != nil {
		t.Fatal(err)
	}
	state := must[*inbox.State](t)(crashed.LoadInbox(address))
	evs, _, err := inbox.Decide(state, inbox.BeginAttempt{ID: id, SigningResult: inbox.MessageUnsigned}, inbox.Env{Now: first.now().Add(2 * time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	if err := crashed.CommitInbox(change(state, evs)); err != nil {
		t.Fatal(err)
	}
	second := startSystem(t, crashed, func(o *Options) { o.Courier = &fakeCourier{} })
	stats := second.ReadStats().QueueStats
	if stats.QueueDepth < 2*2048 || stats.OldestAge < 2*time.Hour-time.Minute || stats.OldestAge > 2*time.Hour+2*time.Minute {
		t.Errorf("at the start: %+v", stats)
	}
	sending(t, second, address, id, final)
	until(func() bool { return second.ReadStats().QueueStats.QueueDepth == 2*2048 })
}

// halfCourier serves the first recipient immediately, and the others when over is closed.
type halfCourier struct {
	fakeCourier
	served, over chan struct{}
}

func (f *halfCourier) Deliver(ctx context.Context, c mailqueue.DeliveryRequest) []mailqueue.Handover {
	c.Taken(c.Rcpts[0], "mx")
	close(f.served)
	<-f.over
	return f.fakeCourier.Deliver(ctx, c)
}

// TestACrashBetweenCopiesRepeatsNone checks that an accepted copy is on disk while the other
// recipients are served.
func TestACrashBetweenCopiesRepeatsNone(t *testing.T) {
	store := persisttest.OpenCrashable(t)
	half := &halfCourier{served: make(chan struct{}), over: make(chan struct{})}
	first := startSystem(t, store, func(o *Options) { o.Courier = half })
	over := sync.OnceFunc(func() { close(half.over) })
	t.Cleanup(over)
	_, address := openAccount(t, first)
	id := must[int64](t)(first.SendMessage(t.Context(), address, letter("a@far.test", "b@far.test", "c@far.test")))
	<-half.served
	sending(t, first, address, id, func(s *inbox.OutgoingDelivery) bool { return s.Recipients[0].Status.IsFinal() })
	crashed := store.CrashCopy(t)
	over()
	rest := &fakeCourier{}
	second := startSystem(t, crashed, func(o *Options) { o.Courier = rest })
	got := sending(t, second, address, id, final)
	if got.Status != delivery.StatusUnsigned || got.Recipients[0].MX != "mx" {
		t.Errorf("%+v", got)
	}
	if jobs := rest.handed(); len(jobs) != 1 || fmt.Sprint(jobs[0].Rcpts) != "[b@far.test c@far.test]" {
		t.Errorf("%+v", jobs)
	}
}

// TestADeletedMessageGoesNoFurther checks that it is delivered at most to the recipient being
// served.
func TestADeletedMessageGoesNoFurther(t *testing.T) {
	ended := make(chan error, 1)
	var s *System
	var address string
	courier := courierFunc(func(ctx context.Context, c mailqueue.DeliveryRequest) []mailqueue.Handover {
		if _, err := s.Do(context.Background(), address, inbox.DeleteMessage{ID: 1}); err != nil {
			t.Error(err)
		}
		c.Taken(c.Rcpts[0], "mx")
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return (&fakeCourier{}).Deliver(ctx, c)
	})
	s = startSystem(t, persisttest.OpenStore(t), func(o *Options) { o.Courier = courier })
	_, address = openAccount(t, s)
	must[int64](t)(s.SendMessage(t.Context(), address, letter("a@far.test", "b@far.test")))
	if err := <-ended; err == nil {
		t.Error("the attempt goes on")
	}
}

type courierFunc func(context.Context, mailqueue.DeliveryRequest) []mailqueue.Handover

func (f courierFunc) Deliver(ctx context.Context, c mailqueue.DeliveryRequest) []mailqueue.Handover {
	return f(ctx, c)
}
