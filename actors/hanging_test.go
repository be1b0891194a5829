package actors

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"inboxd/internal/delivery"
)

// hangingJob is an attempt that began some time ago and waits for a server.
func hangingJob(m *windowModel, name string, ago time.Duration) *job {
	j := &job{task: &task{}, lane: m.q.lane(name), since: m.now.Add(-ago), connecting: true, greeted: new(atomic.Bool), patience: time.NewTimer(time.Hour)}
	m.q.running++
	m.q.count(j.temper, 1)
	return j
}

// TestWhoGivesItsPlaceAway: those that wait for a server which has said nothing, within bounds.
func TestWhoGivesItsPlaceAway(t *testing.T) {
	m := newWindowModel()
	hang := m.q.sys.HangAfter
	for name, c := range map[string]struct {
		change func(j *job)
		parks  bool
	}{
		"silent":             {func(*job) {}, true},
		"over":               {func(j *job) { j.over = true }, false},
		"not connecting yet": {func(j *job) { j.connecting = false }, false},
		"spoke":              {func(j *job) { j.greeted.Store(true) }, false},
		"spoke long ago":     {func(j *job) { j.greeted.Store(true); j.since = m.now.Add(-slowFor * hang) }, true},
		"the last one":       {func(*job) { m.q.hanging = m.q.sys.MostHanging - 1 }, true},
		"one too many":       {func(*job) { m.q.hanging = m.q.sys.MostHanging }, false},
		"the last byte":      {func(j *job) { j.task.size.Store(1000); m.q.hung = mostHung - 1000 }, true},
		"a byte too many":    {func(j *job) { j.task.size.Store(1000); m.q.hung = mostHung - 999 }, false},
	} {
		m = newWindowModel()
		j := hangingJob(m, "far", hang)
		c.change(j)
		hanging, hung := m.q.hanging, m.q.hung
		m.q.park(j)
		woken := len(m.q.wake) == 1
		if parked := m.q.running == 0; parked != c.parks || woken != c.parks || slices.Contains(m.q.hangers, j) != c.parks ||
			(m.q.hanging == hanging+1) != c.parks || (m.q.hung == hung+j.hangs) != (c.parks || j.hangs == 0) || (m.q.strange == 0) != c.parks {
			t.Errorf("%s: %d running, %d strange, %d hanging with %d bytes, woken %v", name, m.q.running, m.q.strange, m.q.hanging, m.q.hung, woken)
		}
		if !c.parks {
			continue
		}
		j.lane.running++
		if j.lane.release(m.q, j, answerOf{}); m.q.hanging != hanging || m.q.hung != hung || m.q.running != 0 || m.q.strange != 0 || len(m.q.hangers) != 0 {
			t.Errorf("%s, over: %d hanging with %d bytes, %d running", name, m.q.hanging, m.q.hung, m.q.running)
		}
	}
}

// TestWhoGivesWay: the one that hangs longest of those that may be ended, if others wait.
func TestWhoGivesWay(t *testing.T) {
	stranger := func(m *windowModel) { m.q.fresh = freshLanes{{}} }
	living := func(m *windowModel) { m.q.turns = []*lane{{}}; m.q.running = m.q.sys.DeliveryWorkers }
	for name, c := range map[string]struct {
		wait  func(m *windowModel)
		spoke string
		ends  string
	}{
		"nobody waits":       {func(*windowModel) {}, "", ""},
		"a stranger":         {stranger, "", "longest"},
		"the longest spoke":  {stranger, "longest", "long"},
		"the living":         {living, "", "longest"},
		"a worker is free":   {func(m *windowModel) { living(m); m.q.running-- }, "", ""},
		"one road":           {func(m *windowModel) { living(m); m.q.sys.OneRoad = "road" }, "", ""},
		"one road, stranger": {func(m *windowModel) { stranger(m); m.q.sys.OneRoad = "road" }, "", "longest"},
	} {
		m := newWindowModel()
		hang := m.q.sys.HangAfter
		var ended []string
		for _, one := range []struct {
			name string
			ago  time.Duration
		}{{"short", giveWayFrom * hang}, {"longest", 4 * giveWayFrom * hang}, {"long", 2 * giveWayFrom * hang}} {
			j := hangingJob(m, one.name, one.ago)
			j.end = func(error) { ended = append(ended, j.lane.name) }
			m.q.park(j)
			j.greeted.Store(one.name == c.spoke)
		}
		c.wait(m)
		gave := m.q.giveWay()
		if gave != (c.ends != "") || strings.Join(ended, " ") != c.ends {
			t.Errorf("%s: ended %v, %v", name, ended, gave)
		}
		for m.q.giveWay() {
		}
		if n := len(ended); c.ends != "" && slices.Contains(ended, "short") || len(slices.Compact(slices.Sorted(slices.Values(ended)))) != n {
			t.Errorf("%s: ended %v in all", name, ended)
		}
	}
}

// endedCourier answers after its attempt was ended.
type endedCourier struct{ outcome delivery.Outcome }

func (c endedCourier) Deliver(ctx context.Context, o Consignment) []Handover {
	<-ctx.Done()
	return []Handover{{Rcpt: o.Rcpts[0], Outcome: c.outcome, Text: "its own"}}
}

// TestWhatWasHandedOverCounts though its attempt was ended for others.
func TestWhatWasHandedOverCounts(t *testing.T) {
	for outcome, want := range map[delivery.Outcome]string{
		delivery.Delivered: "its own", delivery.Temporary: "The mail server of far did not answer in time",
	} {
		m := newWindowModel()
		m.q.sys.mail, m.q.sys.Courier = m.q, endedCourier{outcome}
		j := hangingJob(m, "far", 0)
		done := make(chan []Handover)
		m.q.mu.Lock()
		j.connecting = false
		go func() { done <- m.q.sys.handOver(t.Context(), j, Consignment{Domain: "far", Rcpts: []string{"a@far"}}) }()
		m.q.mu.Unlock()
		until(func() bool { m.q.mu.Lock(); defer m.q.mu.Unlock(); return j.connecting })
		j.end(errHangs)
		if got := <-done; len(got) != 1 || got[0].Outcome != outcome || got[0].Text != want {
			t.Errorf("%v: %+v", outcome, got)
		}
	}
}
