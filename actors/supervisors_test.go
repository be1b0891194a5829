package actors

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"inboxd/actors/journal"
	"inboxd/actors/webhooks"
	"inboxd/internal/core/inbox"
	"inboxd/persist/persisttest"
)

func TestRetentionRemovesWhatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := persisttest.OpenStore(t)
		s := startSystem(t, store, nil)
		for i := range 20 {
			makeInbox(t, s, fmt.Sprintf("i%d@inbox.localhost", i))
			must[inbox.CommandOutcome](t)(s.Do(t.Context(), fmt.Sprintf("i%d@inbox.localhost", i), receive("x")))
		}
		time.Sleep(24*time.Hour - time.Second)
		if v := must[*inbox.View](t)(s.InboxView(t.Context(), "i3@inbox.localhost")); v.LatestMatching(s.now(), nil) == nil {
			t.Error("gone before its time")
		}
		time.Sleep(time.Second)
		if v := must[*inbox.View](t)(s.InboxView(t.Context(), "i3@inbox.localhost")); v.LatestMatching(s.now(), nil) != nil {
			t.Error("readable after its time")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		for i := range 20 {
			if state, _ := store.LoadInbox(fmt.Sprintf("i%d@inbox.localhost", i)); len(state.Messages) != 0 || !state.DueAt.IsZero() {
				t.Errorf("inbox %d: %d messages on disk, due %v", i, len(state.Messages), state.DueAt)
			}
		}
	})
}

func TestJournalTakesEachEventOnce(t *testing.T) {
	store := persisttest.OpenStore(t)
	s := startSystem(t, store, nil)
	makeInbox(t, s, "a@inbox.localhost")
	makeInbox(t, s, "b@inbox.localhost")
	for i := range 50 {
		must[inbox.CommandOutcome](t)(s.Do(context.Background(), []string{"a", "b"}[i%2]+"@inbox.localhost", receive("x")))
	}
	until(func() bool { left, _ := store.Outbox(1); return len(left) == 0 })
	checkJournal(t, store, 50)

	// A crash left the outbox rows of the last step, next to one that was not moved.
	recent, _ := events(store, nil, someone)
	rows := append(recent[len(recent)-3:], inbox.PublicEvent{SequenceNumber: 26, Account: someone, Address: "a@inbox.localhost"})
	if err := store.CommitInbox(&inbox.Rows{Address: "a@inbox.localhost", PublicEvents: rows}); err != nil {
		t.Fatal(err)
	}
	if err := journal.New(store, webhooks.New(webhooks.Options{Store: store, Now: time.Now}).FanOut(), time.Now, slog.Default()).TakeOver(); err != nil {
		t.Fatal(err)
	}
	checkJournal(t, store, 51)
}

func checkJournal(t *testing.T, store *persisttest.TestStore, want int) {
	t.Helper()
	taken, _ := events(store, nil, someone)
	last := map[string]uint64{}
	for _, e := range taken {
		if e.SequenceNumber != last[e.Address]+1 {
			t.Errorf("%s: event %d after %d", e.Address, e.SequenceNumber, last[e.Address])
		}
		last[e.Address] = e.SequenceNumber
	}
	if left, _ := store.Outbox(10); len(taken) != want || len(left) != 0 {
		t.Errorf("%d events in the journal, want %d; %d left in the outbox", len(taken), want, len(left))
	}
}
