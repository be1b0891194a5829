package journal

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
	"inboxd/internal/core/changefeed"
	"inboxd/internal/core/inbox"
	"inboxd/internal/core/webhook"
	"inboxd/persist/persisttest"
)

// shaky makes steps of the journal fail.
type shaky struct {
	*persisttest.TestStore
	append, drop bool
}

func (s *shaky) AppendJournal(id account.ID, from uint64, events []inbox.PublicEvent, deliveries []webhook.Delivery) error {
	if s.append {
		return errors.New("injected")
	}
	return s.TestStore.AppendJournal(id, from, events, deliveries)
}

func (s *shaky) DropOutbox(events []inbox.PublicEvent) error {
	if s.drop {
		return errors.New("injected")
	}
	return s.TestStore.DropOutbox(events)
}

func eventOf(address string, n uint64) inbox.PublicEvent {
	return inbox.PublicEvent{Account: someone, Address: address, SequenceNumber: n, EventName: "message.received", At: time.Now()}
}

// commit adds an event to the outbox.
func commit(t *testing.T, s *persisttest.TestStore, e inbox.PublicEvent) {
	t.Helper()
	if err := s.CommitInbox(&inbox.Rows{Address: e.Address, PublicEvents: []inbox.PublicEvent{e}}); err != nil {
		t.Fatal(err)
	}
}

// checkWhole checks that the journal has the events 1 to the last of each inbox, once and in order,
// and that the outbox is empty.
func checkWhole(t *testing.T, s *persisttest.TestStore, when string, last map[string]uint64) {
	t.Helper()
	page, err := s.JournalPage(someone, 0, "", time.Time{}, changefeed.EntryLimit(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]uint64{}
	for _, e := range page.Entries {
		if got[e.Address]++; e.SequenceNumber != got[e.Address] {
			t.Fatalf("%s: %s has event %d at place %d", when, e.Address, e.SequenceNumber, got[e.Address])
		}
	}
	for address, n := range last {
		if got[address] != n {
			t.Fatalf("%s: %d events of %s in the journal, of %d", when, got[address], address, n)
		}
	}
	if left, err := s.Outbox(1); len(left) > 0 || err != nil {
		t.Fatalf("%s: left in the outbox: %v, %v", when, left, err)
	}
}

// TestARepeatIsKnown checks deduplication in the same run and in the next, however many events came
// in between.
func TestARepeatIsKnown(t *testing.T) {
	store := persisttest.OpenStore(t)
	j := New(store, noFanOut{}, time.Now, slog.New(slog.DiscardHandler))
	last := map[string]uint64{}
	const many = 2*stepMost + 10
	for n := range uint64(many) {
		e := eventOf([]string{"a@x", "b@x"}[n%2], n/2+1)
		last[e.Address] = e.SequenceNumber
		commit(t, store, e)
		j.takeEvents(someone, []inbox.PublicEvent{e})
	}
	checkWhole(t, store, "at first", last)
	if err := j.appendMissing(someone, []inbox.PublicEvent{eventOf("a@x", 1), eventOf("b@x", 7), eventOf("a@x", 2)}); err != nil {
		t.Fatal(err)
	}
	checkWhole(t, store, "told again", last)
	for n := range uint64(3) {
		commit(t, store, eventOf("a@x", n+1))
	}
	if err := New(store, noFanOut{}, time.Now, slog.Default()).TakeOver(); err != nil {
		t.Fatal(err)
	}
	checkWhole(t, store, "committed again", last)
}

// TestPassedOverEventsAreTaken checks that events that could not be moved in order, more than a
// step of them, come before the next one of their inbox. Events of the previous account of the
// address are left for its own journal.
func TestPassedOverEventsAreTaken(t *testing.T) {
	store := &shaky{TestStore: persisttest.OpenStore(t)}
	j := New(store, noFanOut{}, time.Now, slog.New(slog.DiscardHandler))
	foreign := eventOf("b@x", 1)
	foreign.Account = account.NewID(time.Now(), [10]byte{9})
	commit(t, store.TestStore, foreign)
	store.append = true
	const passed = stepMost + 5
	for n := range uint64(passed) {
		commit(t, store.TestStore, eventOf("a@x", n+1))
		j.takeEvents(someone, []inbox.PublicEvent{eventOf("a@x", n+1)})
	}
	store.append = false
	j.takeEvents(someone, []inbox.PublicEvent{eventOf("b@x", 2)})
	commit(t, store.TestStore, eventOf("a@x", passed+1))
	j.takeEvents(someone, []inbox.PublicEvent{eventOf("a@x", passed+1)})
	if left, err := store.Outbox(10); len(left) != 1 || left[0].Account != foreign.Account || err != nil {
		t.Errorf("left in the outbox: %v, %v", left, err)
	}
	if err := store.TestStore.DropOutbox([]inbox.PublicEvent{foreign}); err != nil {
		t.Fatal(err)
	}
	page, err := store.JournalPage(someone, 0, "a@x", time.Time{}, changefeed.EntryLimit(1<<20))
	if err != nil || len(page.Entries) != passed+1 || page.Entries[passed].SequenceNumber != passed+1 {
		t.Errorf("%d entries, %v", len(page.Entries), err)
	}
}

// TestEveryEventOnce injects failures, repeats and power losses: each event is in the journal once,
// in the order of its inbox.
func TestEveryEventOnce(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 4))
	for round := range 12 {
		store := &shaky{TestStore: persisttest.OpenCrashable(t)}
		j := New(store, noFanOut{}, time.Now, slog.New(slog.DiscardHandler))
		last := map[string]uint64{}
		for range 60 {
			address := fmt.Sprintf("%c@x", 'a'+rng.IntN(3))
			last[address]++
			e := eventOf(address, last[address])
			commit(t, store.TestStore, e)
			store.append, store.drop = rng.IntN(5) == 0, rng.IntN(5) == 0
			j.takeEvents(someone, []inbox.PublicEvent{e})
			if rng.IntN(6) == 0 {
				_ = j.appendMissing(someone, []inbox.PublicEvent{eventOf(address, 1+rng.Uint64N(last[address]))}) // remains in the outbox
			}
		}
		after := store.CrashCopy(t)
		if err := New(after, noFanOut{}, time.Now, slog.Default()).TakeOver(); err != nil {
			t.Fatal(err)
		}
		checkWhole(t, after, fmt.Sprintf("seed %d, round %d", seed, round), last)
	}
}

// TestTheOutboxWaitsForTheJournal checks that outbox rows stay until the position of their entries
// is reached.
func TestTheOutboxWaitsForTheJournal(t *testing.T) {
	store := persisttest.OpenStore(t)
	j := New(store, noFanOut{}, time.Now, slog.New(slog.DiscardHandler))
	e := eventOf("a@x", 1)
	commit(t, store, e)
	release := store.HoldPositions(someone.HomePartition())
	taken := make(chan struct{}, 1)
	go func() { j.takeEvents(someone, []inbox.PublicEvent{e}); taken <- struct{}{} }()
	for store.WaitingCount(someone.HomePartition())+int64(len(taken)) == 0 {
		runtime.Gosched()
	}
	page, err := store.JournalPage(someone, 0, "", time.Time{}, changefeed.EntryLimit(10))
	if left, _ := store.Outbox(10); len(left) != 1 || len(page.Entries) != 1 || err != nil {
		t.Errorf("%d in the outbox, %d in the journal, %v", len(left), len(page.Entries), err)
	}
	release()
	<-taken
	checkWhole(t, store, "released", map[string]uint64{"a@x": 1})
}

// TestAJournalThatWasElsewhere checks that a journal continues where another node left it, with
// what that node had not moved.
func TestAJournalThatWasElsewhere(t *testing.T) {
	own := partition.NewOwner(partition.AllGroups())
	store, g := persisttest.OpenOwned(t, own), someone.HomePartition().Group()
	here := New(store, noFanOut{}, time.Now, slog.New(slog.DiscardHandler))
	there := New(store, noFanOut{}, time.Now, slog.New(slog.DiscardHandler))
	for _, j := range []*ChangeJournal{here, there} {
		j.Start()
		defer j.Stop()
	}
	n := uint64(0)
	takes := func(j *ChangeJournal) {
		for range 3 {
			n++
			commit(t, store, eventOf("a@x", n))
			j.NotifyEvents([]inbox.PublicEvent{eventOf("a@x", n)})
		}
		if err := j.settlePending(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for round, j := range []*ChangeJournal{here, there, here, there, here} {
		takes(j)
		n++
		commit(t, store, eventOf("a@x", n)) // nobody is notified of it before the loss
		own.SetOwned(g, false)
		if round%2 == 1 {
			j.NotifyEvents([]inbox.PublicEvent{eventOf("a@x", n)})
		}
		if err := j.ReleaseGroup(g); err != nil {
			t.Fatal(err)
		}
		own.SetOwned(g, true)
		next := map[*ChangeJournal]*ChangeJournal{here: there, there: here}[j]
		if err := next.AcquireGroup(g); err != nil {
			t.Fatal(err)
		}
	}
	checkWhole(t, store, "at last", map[string]uint64{"a@x": n})
}
