package actors

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"inboxd/actors/journal"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/changefeed"
	"inboxd/internal/core/inbox"
	"inboxd/persist/persisttest"
)

// followed reads as a client does, until it has seen want events.
func followed(t *testing.T, s *System, address string, want int) (events []changefeed.JournalEntry) {
	r := s.AddListener(someone, address)
	defer r.Close()
	for after := uint64(0); len(events) < want; {
		signal := r.NextSignal()
		page, err := s.ReadEvents(context.Background(), someone, after, address, changefeed.EntryLimit(7))
		if err != nil {
			t.Error(err)
			return events
		}
		events = append(events, page.Entries...)
		after = page.LastPosition
		if len(page.Entries) == 0 && !page.HasMore {
			<-signal.C
			after = max(after, r.PassedPosition(signal))
		}
	}
	return events
}

// TestReadersSeeEveryEventOnceAndInOrder runs 64 readers, some of one inbox only, while messages
// arrive at several inboxes.
func TestReadersSeeEveryEventOnceAndInOrder(t *testing.T) {
	const inboxes, mailCount = 4, 50
	store := persisttest.OpenStore(t)
	s := startSystem(t, store, nil)
	var all sync.WaitGroup
	for i := range inboxes {
		makeInbox(t, s, fmt.Sprintf("i%d@inbox.localhost", i))
	}
	for n := range 64 {
		address, want := "", inboxes*mailCount
		if n%2 == 1 {
			address, want = fmt.Sprintf("i%d@inbox.localhost", n/2%inboxes), mailCount
		}
		all.Go(func() {
			last, numbers := uint64(0), map[string]uint64{}
			for _, e := range followed(t, s, address, want) {
				if e.Seq <= last || e.SequenceNumber != numbers[e.Address]+1 {
					t.Errorf("entry %d after %d: event %d of %s after %d", e.Seq, last, e.SequenceNumber, e.Address, numbers[e.Address])
				}
				last, numbers[e.Address] = e.Seq, e.SequenceNumber
			}
		})
	}
	for i := range inboxes {
		all.Go(func() {
			for range mailCount {
				if _, err := s.Do(context.Background(), fmt.Sprintf("i%d@inbox.localhost", i), receive("x")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if end, err := s.JournalEnd(t.Context(), someone); end != inboxes*mailCount || err != nil {
		t.Errorf("the journal ends at %d, %v", end, err)
	}
}

// TestAListenerDoesNotWaitForOthers checks that a step waits for more events only without a
// listener.
func TestAListenerDoesNotWaitForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := persisttest.OpenStore(t)
		s := startSystem(t, store, nil)
		makeInbox(t, s, "a@inbox.localhost")
		for _, c := range []struct {
			listens bool
			most    time.Duration
		}{{false, journalDelay}, {true, 0}} {
			if c.listens {
				defer s.AddListener(someone, "").Close()
			}
			time.Sleep(time.Second)
			began := time.Now()
			must[inbox.CommandOutcome](t)(s.Do(t.Context(), "a@inbox.localhost", receive("x")))
			before, _ := store.JournalEnd(someone)
			for end := before; c.most > 0 && end == before; end, _ = store.JournalEnd(someone) {
				time.Sleep(100 * time.Microsecond)
			}
			synctest.Wait()
			if took := time.Since(began).Truncate(time.Millisecond); took > c.most {
				t.Errorf("listened to %v: taken over after %v", c.listens, took)
			}
			if end, _ := store.JournalEnd(someone); c.listens && end != 2 {
				t.Errorf("not taken over at once: %d entries", end)
			}
		}
	})
}

// TestThePresentIsBehindWhatWasSeen checks this although a step waits for more events.
func TestThePresentIsBehindWhatWasSeen(t *testing.T) {
	s := startSystem(t, persisttest.OpenStore(t), nil)
	makeInbox(t, s, "a@inbox.localhost")
	for want := uint64(1); want <= 100; want++ {
		must[inbox.CommandOutcome](t)(s.Do(t.Context(), "a@inbox.localhost", receive("x")))
		if end := must[uint64](t)(s.CurrentEnd(t.Context(), someone)); end != want {
			t.Fatalf("the present is %d after %d mails", end, want)
		}
	}
}

// TestOldEventsAreNotShown covers trimmed and untrimmed events.
func TestOldEventsAreNotShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := persisttest.OpenStore(t)
		s := startSystem(t, store, func(o *Options) { o.SweepEvery = time.Hour }) // a week passes
		makeInbox(t, s, "a@inbox.localhost")
		receiveOne := func() {
			must[inbox.CommandOutcome](t)(s.Do(t.Context(), "a@inbox.localhost", receive("x")))
			time.Sleep(time.Second)
		}
		receiveOne()
		time.Sleep(journal.EntryAge)
		receiveOne()
		page, err := s.ReadEvents(t.Context(), someone, 0, "", changefeed.EntryLimit(10))
		if err != nil || len(page.Entries) != 1 || page.Entries[0].Seq != 2 || !page.HasGap {
			t.Errorf("%+v %v", page, err)
		}
	})
}

// TestOnePrincipalPerCredential checks that a revocation reaches every request with the key,
// including concurrent ones from before the first result was published.
func TestOnePrincipalPerCredential(t *testing.T) {
	token := account.HashToken([]byte("token"))
	store, key := persisttest.OpenStore(t), &account.APIKey{ID: 1, Hash: token, Kind: account.KindAccountKey}
	if err := store.CommitAccount(&account.Rows{ID: someone, Profile: &account.Profile{ID: someone, CreatedAt: time.Now()}, PutKeys: []*account.APIKey{key}}); err != nil {
		t.Fatal(err)
	}
	e := &accountEntity{id: someone, store: store, now: time.Now, principals: newPrincipals(), state: must[*account.State](t)(store.LoadAccount(someone))}
	held := func() *account.Principal {
		return must[any](t)(e.DecideCommand(presentCredential{token, 1})).(*account.Principal)
	}
	first, second := held(), held()
	e.PublishState()
	third := held()
	e.pendingRows = &account.Rows{ID: someone, DropKeys: []*account.APIKey{key}}
	if err := e.CommitRows(); err != nil {
		t.Fatal(err)
	}
	e.PublishState()
	for i, p := range []*account.Principal{first, second, third} {
		select {
		case <-p.EndedSignal():
		default:
			t.Errorf("holder %d does not know of the revocation", i+1)
		}
	}
	if p := held(); p != nil {
		t.Errorf("revoked, and presented again: %+v", p)
	}
}

// stuckStore never completes the sync of its journal.
type stuckStore struct {
	*persisttest.TestStore
	release chan struct{}
}

func (s *stuckStore) SyncJournal(account.ID) error { <-s.release; return nil }

// TestAFullDiskDoesNotHoldReaders checks that events that cannot be made durable are not returned,
// and that the error comes soon.
func TestAFullDiskDoesNotHoldReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &stuckStore{persisttest.OpenStore(t), make(chan struct{})}
		s := startSystem(t, store.TestStore, func(o *Options) { o.Store = store })
		store.SetFull(true)
		began := time.Now()
		if _, err := s.ReadEvents(t.Context(), someone, 0, "", changefeed.EntryLimit(1)); !fault.Is(err, fault.StorageFull) || time.Since(began) > time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		store.SetFull(false)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := s.JournalEnd(ctx, someone); !fault.Is(err, fault.TemporarilyUnavailable) {
			t.Errorf("%v", err)
		}
		close(store.release)
	})
}
