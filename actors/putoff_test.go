package actors

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"inboxd/internal/delivery"
	"inboxd/internal/inbox"
	"inboxd/persist/persisttest"
)

// TestPutOffsOfAnInboxGoTogether whatever destinations they are for.
func TestPutOffsOfAnInboxGoTogether(t *testing.T) {
	m := newWindowModel()
	m.q.bounds = usualBounds
	for n := range 200 {
		d := fmt.Sprint("dead", n%20)
		if n < 20 {
			l := m.q.lane(d)
			l.temper, l.deafTo, l.report = silent, m.now.Add(time.Second), "No route"
		}
		m.submit(d)
	}
	if jobs := m.turn(); len(jobs) != 0 {
		t.Errorf("%d attempts at silent destinations", len(jobs))
	}
	if len(m.aside) != 200 || m.groups != 6 { // 66 or 67 of each of three inboxes, 64 at most at a time
		t.Errorf("%d mails are put off in %d commits", len(m.aside), m.groups)
	}
}

// TestNotAllThatIsAsideIsPutOff: what an operator wants tried goes back to its lane, and all of
// it when the destination answered meanwhile.
func TestNotAllThatIsAsideIsPutOff(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(m *windowModel, l *lane)
		putOff    int
		tried     []int64
	}{
		"nothing happens": {func(*windowModel, *lane) {}, 4, nil},
		"a retry":         {func(m *windowModel, _ *lane) { m.retry(t, m.index.sorted()[1]) }, 3, []int64{1}},
		"an answer":       {func(_ *windowModel, l *lane) { l.temper = answering }, 0, []int64{1, 2, 3, 4}},
	} {
		m := newWindowModel()
		m.q.sys.DomainWorkers, m.q.bounds = 10, usualBounds
		l := m.q.lane("dead")
		l.temper, l.deafTo, l.report = silent, m.now.Add(time.Second), "No route"
		for range 4 {
			m.submit("dead")
		}
		m.q.step()
		if l.aside != 4 {
			t.Fatalf("%d mails are aside", l.aside)
		}
		c.meanwhile(m, l)
		<-m.q.wake
		first := m.turn()
		if woken := len(m.q.wake) == 1; woken != (c.tried != nil) {
			t.Errorf("%s: woken %v", name, woken)
		}
		var tried []int64
		for _, j := range append(first, m.turn()...) {
			if tried = append(tried, j.mail.id); j.putOff != "" {
				t.Errorf("%s: mail %d is put off by a worker", name, j.mail.id)
			}
		}
		slices.Sort(tried)
		if len(m.aside) != c.putOff || !slices.Equal(tried, c.tried) || l.aside != c.putOff {
			t.Errorf("%s: %d mails are put off, tried %v, aside %d", name, len(m.aside), tried, l.aside)
		}
		if m.putOff(0); l.aside != 0 {
			t.Errorf("%s: %d mails are still aside", name, l.aside)
		}
	}
}

// TestAnAttemptThatBeganIsNotPutOff: it was made at another destination.
func TestAnAttemptThatBeganIsNotPutOff(t *testing.T) {
	m := newWindowModel()
	l := m.q.lane("dead")
	l.running = m.q.sys.DomainWorkers
	m.submit("dead", "live")
	jobs := m.turn()
	if len(jobs) != 1 {
		t.Fatalf("%d attempts", len(jobs))
	}
	m.end(jobs[0], answering, 0)
	l.running, l.temper, l.deafTo = 0, silent, m.now.Add(time.Second)
	if m.q.enlist(l); l.aside != 0 || len(l.jobs) != 1 || !slices.Contains(m.q.mute, l) {
		t.Errorf("%d mails are aside, %d wait for a worker", l.aside, len(l.jobs))
	}
}

// TestStrangersShare: new ones get half of the workers, those that hang a third, and one at
// least.
func TestStrangersShare(t *testing.T) {
	for _, c := range []struct{ workers, lately, long int }{{1, 1, 1}, {2, 1, 1}, {8, 4, 2}, {64, 32, 21}} {
		m := newWindowModel()
		m.q.sys.DeliveryWorkers = c.workers
		l := &lane{since: m.now}
		for waited, want := range map[time.Duration]int{0: c.lately, m.q.sys.HangAfter: c.lately, m.q.sys.HangAfter + 1: c.long} {
			if got := m.q.mostStrange(l, m.now.Add(waited)); got != want {
				t.Errorf("%d of %d workers after %v, want %d", got, c.workers, waited, want)
			}
		}
	}
}

// TestRetryTriesWhateverIsKnown: a destination was silent a moment ago, and has more mail than
// memory holds of it.
func TestRetryTriesWhateverIsKnown(t *testing.T) {
	store := persisttest.Open(t)
	courier := &fakeCourier{answer: func(Consignment) Handover {
		return Handover{Outcome: delivery.Temporary, Text: "No route to dead.test"}
	}}
	s := startSystem(t, store, func(o *Options) { o.Courier = courier })
	_, address := openAccount(t, s)
	var ids []int64
	for range 40 {
		ids = append(ids, must[int64](t)(s.Send(t.Context(), address, letter("a@dead.test"))))
	}
	for _, id := range ids {
		sending(t, s, address, id, func(s *inbox.Sending) bool { return s.Status == delivery.Retrying })
	}
	for n, id := range []int64{ids[39], ids[0], ids[20], ids[39]} {
		before := sending(t, s, address, id, func(s *inbox.Sending) bool { return !s.Leased }).Attempts
		if err := s.Retry(t.Context(), address, id); err != nil {
			t.Fatal(err)
		}
		got := sending(t, s, address, id, func(s *inbox.Sending) bool { return s.Attempts > before && !s.Leased })
		if tried := len(courier.handed()); tried != n+2 {
			t.Errorf("after %d retries %d attempts were made: %+v", n+1, tried, got)
		}
	}
}

// TestTheLivingAlwaysHaveWorkers, though destinations that never answered hang as well as some
// that were silent before, and no more may hang than do.
func TestTheLivingAlwaysHaveWorkers(t *testing.T) {
	store := persisttest.Open(t)
	over := make(chan struct{})
	var hung atomic.Int64
	courier := &fakeCourier{}
	courier.answer = func(c Consignment) Handover {
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
			return Handover{Outcome: delivery.Delivered, Code: 250, MX: "mx"}
		case first > 1 || strings.HasPrefix(c.Domain, "never"):
			hung.Add(1)
			<-over
		}
		return Handover{Outcome: delivery.Temporary, Text: "no route"}
	}
	s := startSystem(t, store, func(o *Options) {
		fast(o)
		o.Courier, o.DeliveryWorkers, o.MostHanging, o.HangAfter = courier, 8, 1, time.Millisecond
	})
	defer close(over)
	_, address := openAccount(t, s)
	must[int64](t)(s.Send(t.Context(), address, letter("a@live.test")))
	for n := range 20 {
		must[int64](t)(s.Send(t.Context(), address, letter(fmt.Sprintf("a@dead%d.test", n))))
	}
	until(func() bool { return hung.Load() >= 2 })
	for n := range 20 {
		must[int64](t)(s.Send(t.Context(), address, letter(fmt.Sprintf("a@never%d.test", n))))
	}
	until(func() bool { return hung.Load() >= 4 })
	for range 10 {
		id := must[int64](t)(s.Send(t.Context(), address, letter("a@live.test")))
		sending(t, s, address, id, final)
	}
}

// lapsedCourier takes the first mail for each domain and hangs at the next ones until these
// are broken off, but not at live.test.
type lapsedCourier struct {
	fakeCourier
	hung atomic.Int64
}

func (f *lapsedCourier) Deliver(ctx context.Context, c Consignment) []Handover {
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
		return allLater(c.Rcpts, "broken off")
	}
	return took
}

// TestThoseThatFellSilentGiveWay: every worker hangs at destinations that answered before, and
// as many attempts beside as may.
func TestThoseThatFellSilentGiveWay(t *testing.T) {
	store := persisttest.Open(t)
	courier := &lapsedCourier{}
	s := startSystem(t, store, func(o *Options) {
		o.Courier, o.DeliveryWorkers, o.MostHanging, o.HangAfter = courier, 8, 4, time.Millisecond
	})
	_, address := openAccount(t, s)
	for _, d := range []string{"live", "lapsed0", "lapsed1", "lapsed2", "lapsed3"} {
		id := must[int64](t)(s.Send(t.Context(), address, letter("a@"+d+".test")))
		sending(t, s, address, id, final)
	}
	for n := range 40 {
		must[int64](t)(s.Send(t.Context(), address, letter(fmt.Sprintf("a@lapsed%d.test", n%4))))
	}
	until(func() bool { return courier.hung.Load() >= 12 })
	id := must[int64](t)(s.Send(t.Context(), address, letter("a@live.test")))
	sending(t, s, address, id, final)
}
