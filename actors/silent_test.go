package actors

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"inboxd/actors/mailqueue"
	"inboxd/internal/core/delivery"
	"inboxd/internal/core/inbox"
	"inboxd/persist/persisttest"
)

// TestRetryTriesWhateverIsKnown covers a destination that did not respond a moment ago and has more
// messages than memory holds of it.
func TestRetryTriesWhateverIsKnown(t *testing.T) {
	store := persisttest.OpenStore(t)
	courier := &fakeCourier{answer: func(mailqueue.DeliveryRequest) mailqueue.Handover {
		return mailqueue.Handover{Outcome: delivery.OutcomeTemporary, Text: "No route to dead.test"}
	}}
	s := startSystem(t, store, func(o *Options) { o.Courier = courier })
	_, address := openAccount(t, s)
	var ids []int64
	for range 40 {
		ids = append(ids, must[int64](t)(s.SendMessage(t.Context(), address, letter("a@dead.test"))))
	}
	for _, id := range ids {
		sending(t, s, address, id, func(s *inbox.OutgoingDelivery) bool { return s.Status == delivery.StatusRetrying })
	}
	for n, id := range []int64{ids[39], ids[0], ids[20], ids[39]} {
		before := sending(t, s, address, id, func(s *inbox.OutgoingDelivery) bool { return !s.AttemptLeased }).AttemptCount
		if err := s.MailQueue.RetryNow(t.Context(), address, id); err != nil {
			t.Fatal(err)
		}
		got := sending(t, s, address, id, func(s *inbox.OutgoingDelivery) bool { return s.AttemptCount > before && !s.AttemptLeased })
		if tried := len(courier.handed()); tried != n+2 {
			t.Errorf("after %d retries %d attempts were made: %+v", n+1, tried, got)
		}
	}
}

// TestTheLivingAlwaysHaveWorkers covers hanging destinations that never replied, together with some
// that were silent before, at the limit of hanging attempts.
func TestTheLivingAlwaysHaveWorkers(t *testing.T) {
	store := persisttest.OpenStore(t)
	over := make(chan struct{})
	var hung atomic.Int64
	courier := &fakeCourier{}
	courier.answer = func(c mailqueue.DeliveryRequest) mailqueue.Handover {
		courier.mu.Lock()
		first := 0
		for _, j := range courier.jobs {
			if j.Domain == c.Domain {
				first++
			}
		}
		courier.mu.Unlock()
		switch {
		case c.Domain == "live.test":
			return mailqueue.Handover{Outcome: delivery.OutcomeDelivered, Code: 250, MX: "mx"}
		case first > 1 || strings.HasPrefix(c.Domain, "never"):
			hung.Add(1)
			<-over
		}
		return mailqueue.Handover{Outcome: delivery.OutcomeTemporary, Text: "no route"}
	}
	s := startSystem(t, store, func(o *Options) {
		fast(o)
		o.Courier, o.DeliveryWorkers, o.MostHanging, o.HangAfter = courier, 8, 1, time.Millisecond
	})
	defer close(over)
	_, address := openAccount(t, s)
	id := must[int64](t)(s.SendMessage(t.Context(), address, letter("a@live.test")))
	sending(t, s, address, id, final) // a later one would count as another unproven destination
	for n := range 20 {
		must[int64](t)(s.SendMessage(t.Context(), address, letter(fmt.Sprintf("a@dead%d.test", n))))
	}
	until(func() bool { return hung.Load() >= 2 })
	for n := range 20 {
		must[int64](t)(s.SendMessage(t.Context(), address, letter(fmt.Sprintf("a@never%d.test", n))))
	}
	until(func() bool { return hung.Load() >= 4 })
	for range 10 {
		id := must[int64](t)(s.SendMessage(t.Context(), address, letter("a@live.test")))
		sending(t, s, address, id, final)
	}
}

// lapsedCourier accepts the first message for each domain. At the next ones it hangs until they are
// cancelled, except at live.test.
type lapsedCourier struct {
	fakeCourier
	hung atomic.Int64
}

func (f *lapsedCourier) Deliver(ctx context.Context, c mailqueue.DeliveryRequest) []mailqueue.Handover {
	took := f.fakeCourier.Deliver(ctx, c)
	tries := 0
	for _, j := range f.handed() {
		if j.Domain == c.Domain {
			tries++
		}
	}
	if tries > 1 && c.Domain != "live.test" {
		f.hung.Add(1)
		<-ctx.Done()
		return []mailqueue.Handover{{Rcpt: c.Rcpts[0], Outcome: delivery.OutcomeTemporary, Text: "broken off"}}
	}
	return took
}

// TestThoseThatFellSilentGiveWay makes every worker hang at destinations that replied before,
// together with as many further hanging attempts as allowed.
func TestThoseThatFellSilentGiveWay(t *testing.T) {
	store := persisttest.OpenStore(t)
	courier := &lapsedCourier{}
	s := startSystem(t, store, func(o *Options) {
		o.Courier, o.DeliveryWorkers, o.MostHanging, o.HangAfter = courier, 8, 4, time.Millisecond
	})
	_, address := openAccount(t, s)
	for _, d := range []string{"live", "lapsed0", "lapsed1", "lapsed2", "lapsed3"} {
		id := must[int64](t)(s.SendMessage(t.Context(), address, letter("a@"+d+".test")))
		sending(t, s, address, id, final)
	}
	for n := range 40 {
		must[int64](t)(s.SendMessage(t.Context(), address, letter(fmt.Sprintf("a@lapsed%d.test", n%4))))
	}
	until(func() bool { return courier.hung.Load() >= 12 })
	id := must[int64](t)(s.SendMessage(t.Context(), address, letter("a@live.test")))
	sending(t, s, address, id, final)
}
