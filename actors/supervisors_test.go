package actors

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"inboxd/internal/inbox"
	"inboxd/persist/persisttest"
)

func TestRetentionRemovesWhatIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := persisttest.Open(t)
		s := startSystem(t, store, nil)
		for i := range 20 {
			makeInbox(t, s, fmt.Sprintf("i%d@inbox.localhost", i))
			must[inbox.Outcome](t)(s.Do(t.Context(), fmt.Sprintf("i%d@inbox.localhost", i), receive("x")))
		}
		time.Sleep(24*time.Hour - time.Second)
		if v := must[*inbox.View](t)(s.View(t.Context(), "i3@inbox.localhost")); v.Latest(s.now(), nil) == nil {
			t.Error("gone before its time")
		}
		time.Sleep(time.Second)
		if v := must[*inbox.View](t)(s.View(t.Context(), "i3@inbox.localhost")); v.Latest(s.now(), nil) != nil {
			t.Error("readable after its time")
		}
		time.Sleep(2 * dueLook)
		synctest.Wait()
		for i := range 20 {
			if state, _ := store.LoadInbox(fmt.Sprintf("i%d@inbox.localhost", i)); len(state.Messages) != 0 || !state.DueAt.IsZero() {
				t.Errorf("inbox %d: %d messages on disk, due %v", i, len(state.Messages), state.DueAt)
			}
		}
	})
}

func TestClockJumpDeletesNothingForAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &retention{store: persisttest.Open(t), now: time.Now, log: slog.New(slog.DiscardHandler), last: time.Now().Add(-25 * time.Hour)}
		if r.trusted() {
			t.Error("a clock that is a day ahead is trusted at once")
		}
		time.Sleep(59 * time.Minute)
		if r.trusted() {
			t.Error("trusted before the hour is over")
		}
		time.Sleep(time.Minute)
		if !r.trusted() {
			t.Error("not trusted after the hour")
		}
	})
}

func TestJournalTakesEachEventOnce(t *testing.T) {
	store := persisttest.Open(t)
	s := startSystem(t, store, nil)
	makeInbox(t, s, "a@inbox.localhost")
	makeInbox(t, s, "b@inbox.localhost")
	for i := range 50 {
		must[inbox.Outcome](t)(s.Do(context.Background(), []string{"a", "b"}[i%2]+"@inbox.localhost", receive("x")))
	}
	until(func() bool { left, _ := store.Outbox(1); return len(left) == 0 })
	checkJournal(t, store, 50)

	// A crash left the rows of the last step in the outbox, beside one that was not taken.
	recent, _ := store.RecentJournal(someone, 3)
	rows := append(recent, inbox.Public{Number: 26, Account: someone, Address: "a@inbox.localhost"})
	if err := store.CommitInbox(&inbox.Rows{Address: "a@inbox.localhost", Public: rows}); err != nil {
		t.Fatal(err)
	}
	if err := newJournal(store, newFanOut(store, newSubscriptions(store), nil, nil), time.Now, slog.Default()).takeOver(); err != nil {
		t.Fatal(err)
	}
	checkJournal(t, store, 51)
}

func checkJournal(t *testing.T, store *persisttest.Store, want int) {
	t.Helper()
	events, _ := store.RecentJournal(someone, 1000)
	last := map[string]uint64{}
	for _, e := range events {
		if e.Number != last[e.Address]+1 {
			t.Errorf("%s: event %d after %d", e.Address, e.Number, last[e.Address])
		}
		last[e.Address] = e.Number
	}
	if left, _ := store.Outbox(10); len(events) != want || len(left) != 0 {
		t.Errorf("%d events in the journal, want %d; %d left in the outbox", len(events), want, len(left))
	}
}

// TestBusyStepsGatherLonger: a few events come into the journal after journalDelay, many
// after journalMore more, and at once those that fill a step, or of an account that somebody
// listens to.
func TestBusyStepsGatherLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := persisttest.Open(t)
		j := newJournal(store, newFanOut(store, newSubscriptions(store), nil, nil), time.Now, slog.Default())
		j.start()
		told := uint64(0)
		tell := func(n int) {
			for range n {
				told++
				j.tell([]inbox.Public{{Number: told, Account: someone, Address: "a@inbox.localhost"}})
			}
		}
		must := func(want uint64, when string) {
			t.Helper()
			time.Sleep(time.Millisecond)
			if end, err := store.JournalEnd(someone); end != want || err != nil {
				t.Errorf("%d events in the journal %s, %v; want %d", end, when, err, want)
			}
		}
		tell(journalBusy - 1)
		time.Sleep(journalDelay)
		must(told, "after the delay of a few")
		tell(journalBusy)
		time.Sleep(journalDelay)
		must(told-journalBusy, "after the delay of many")
		time.Sleep(journalMore)
		must(told, "after more")
		tell(journalStep + 1)
		must(told, "when there is enough for a step")
		j.readers.Listen(someone, "")
		tell(journalBusy)
		time.Sleep(journalPace)
		must(told, "when somebody listens")
		j.tell(nil)
		time.Sleep(journalPace)
		tell(1)
		must(told, "when somebody listens and a step waits")
		j.stop()
	})
}
