package actors

import (
	"fmt"
	"testing"
	"time"

	"inboxd/internal/delivery"
	"inboxd/internal/inbox"
	"inboxd/persist/persisttest"
)

// TestInterruptedAttemptsAreFoundAnywhere: a lease that stands behind more of the index than
// is kept in memory is taken up at the start all the same, and the depth is that of all.
func TestInterruptedAttemptsAreFoundAnywhere(t *testing.T) {
	store := persisttest.Open(t)
	first := startSystem(t, store, func(o *Options) {
		o.Schedule = delivery.Schedule{Delays: []time.Duration{time.Hour}}
		o.Courier = &fakeCourier{answer: func(Consignment) Handover { return Handover{Outcome: delivery.Temporary, Code: 451} }}
	})
	_, address := openAccount(t, first)
	id := must[int64](t)(first.Send(t.Context(), address, letter("a@far.test")))
	sending(t, first, address, id, func(s *inbox.Sending) bool { return s.Status == delivery.Retrying && !s.Leased })
	queue, _, _ := store.MailQueue(inbox.QueueEntry{}, 10)
	if len(queue) != 1 {
		t.Fatalf("queue: %+v", queue)
	}
	// Two pages that are due before it, of an inbox that is not there, and its lease behind them.
	crashed := store.Crash(t)
	rows := &inbox.Rows{Address: "gone@inbox.localhost"}
	since := first.now().Add(-2 * time.Hour)
	for n := range 2 * usualBounds.page {
		rows.Queue = append(rows.Queue, inbox.Queued{ID: int64(n), To: first.now().Add(time.Hour), Since: since, Domains: []string{"other.test"}})
	}
	if err := crashed.CommitInbox(rows); err != nil {
		t.Fatal(err)
	}
	state := must[*inbox.State](t)(crashed.LoadInbox(address))
	evs, _, err := inbox.Decide(state, inbox.Attempt{ID: id, Signed: inbox.Unsigned}, inbox.Env{Now: first.now().Add(2 * time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	if err := crashed.CommitInbox(inbox.Change(state, evs)); err != nil {
		t.Fatal(err)
	}
	second := startSystem(t, crashed, func(o *Options) { o.Courier = &fakeCourier{} })
	stats := second.Stats().Queue
	if stats.Depth < 2*usualBounds.page || stats.Oldest < 2*time.Hour-time.Minute || stats.Oldest > 2*time.Hour+2*time.Minute {
		t.Errorf("at the start: %+v", stats)
	}
	sending(t, second, address, id, final)
	until(func() bool { return second.Stats().Queue.Depth == 2*usualBounds.page })
}

func TestCensusFollowsEveryMove(t *testing.T) {
	at := func(minutes int) time.Time { return time.Unix(int64(minutes)*60, 0) }
	c := census{}
	for _, step := range []struct {
		move inbox.Queued
		want string // depth, age of the oldest at minute 100
	}{
		{inbox.Queued{To: at(10), Since: at(10)}, "1 1h30m0s"},
		{inbox.Queued{To: at(20), Since: at(20)}, "2 1h30m0s"},
		{inbox.Queued{From: at(10), To: at(40), Since: at(10), Leased: true}, "2 1h30m0s"},
		{inbox.Queued{From: at(40), Since: at(10)}, "1 1h20m0s"},
		{inbox.Queued{From: at(20), Since: at(20)}, "0 0s"},
	} {
		c.note(step.move)
		if mails, oldest := c.depth(at(100)); fmt.Sprint(mails, oldest) != step.want {
			t.Errorf("after %+v: %d %v, want %s", step.move, mails, oldest, step.want)
		}
	}
	if len(c) != 0 {
		t.Errorf("minutes are left: %v", c)
	}
}
