package actors

import (
	"testing"
	"time"

	"inboxd/actors/mailqueue"
	"inboxd/internal/delivery"
	"inboxd/internal/inbox"
	"inboxd/persist/persisttest"
)

// TestInterruptedAttemptsAreFoundAnywhere: a lease that stands behind more of the index than
// is kept in memory is taken up at the start all the same, and the depth is that of all.
func TestInterruptedAttemptsAreFoundAnywhere(t *testing.T) {
	store := persisttest.OpenCrashable(t)
	first := startSystem(t, store, func(o *Options) {
		o.Schedule = delivery.Schedule{Delays: []time.Duration{time.Hour}}
		o.Courier = &fakeCourier{answer: func(mailqueue.Consignment) mailqueue.Handover {
			return mailqueue.Handover{Outcome: delivery.Temporary, Code: 451}
		}}
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
	for n := range 2 * 2048 {
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
	if err := crashed.CommitInbox(change(state, evs)); err != nil {
		t.Fatal(err)
	}
	second := startSystem(t, crashed, func(o *Options) { o.Courier = &fakeCourier{} })
	stats := second.Stats().Queue
	if stats.Depth < 2*2048 || stats.Oldest < 2*time.Hour-time.Minute || stats.Oldest > 2*time.Hour+2*time.Minute {
		t.Errorf("at the start: %+v", stats)
	}
	sending(t, second, address, id, final)
	until(func() bool { return second.Stats().Queue.Depth == 2*2048 })
}
