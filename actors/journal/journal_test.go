package journal

import (
	"context"
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"inboxd/internal/core/account"
	"inboxd/internal/core/changefeed"
	"inboxd/internal/core/inbox"
	"inboxd/internal/core/webhook"
	"inboxd/persist/persisttest"
)

var someone = account.NewID(time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC), [10]byte{1})

// noFanOut is for an account without webhooks.
type noFanOut struct{}

func (noFanOut) FanOutEvents(account.ID, []inbox.PublicEvent, time.Time) ([]webhook.Delivery, error) {
	return nil, nil
}
func (noFanOut) MarkDone(account.ID, []webhook.Delivery) {}
func (noFanOut) ForgetAccount(account.ID)                {}

// TestSettleTakesAllThatCame uses more events than one step holds, in either order of notification
// and settle.
func TestSettleTakesAllThatCame(t *testing.T) {
	for range 50 {
		store := persisttest.OpenStore(t)
		j := New(store, noFanOut{}, time.Now, slog.New(slog.DiscardHandler))
		const all = 2*stepMost + 1
		for n := range uint64(all) {
			j.NotifyEvents([]inbox.PublicEvent{{Account: someone, Address: "a@inbox.localhost", SequenceNumber: n + 1, EventName: "message.received", At: time.Now()}})
		}
		j.Start()
		if err := j.settlePending(t.Context()); err != nil {
			t.Fatal(err)
		}
		if end, err := j.store.JournalEnd(someone); end != all || err != nil {
			t.Errorf("the journal ends at %d, %v", end, err)
		}
		j.Stop()
		if err := j.settlePending(t.Context()); err != nil {
			t.Errorf("after the end: %v", err)
		}
	}
}

// TestBusyStepsGatherLonger checks that a few events enter the journal after stepDelay, and many
// after a further stepMore. Events that fill a step, or whose account has a listener, enter at
// once.
func TestBusyStepsGatherLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := persisttest.OpenStore(t)
		j := New(store, noFanOut{}, time.Now, slog.Default())
		j.Start()
		count := uint64(0)
		notify := func(n int) {
			for range n {
				count++
				j.NotifyEvents([]inbox.PublicEvent{{SequenceNumber: count, Account: someone, Address: "a@inbox.localhost"}})
			}
		}
		must := func(want uint64, when string) {
			t.Helper()
			time.Sleep(time.Millisecond)
			if end, err := store.JournalEnd(someone); end != want || err != nil {
				t.Errorf("%d events in the journal %s, %v; want %d", end, when, err, want)
			}
		}
		notify(stepBusy - 1)
		time.Sleep(stepDelay)
		must(count, "after the delay of a few")
		notify(stepBusy)
		time.Sleep(stepDelay)
		must(count-stepBusy, "after the delay of many")
		time.Sleep(stepMore)
		must(count, "after more")
		notify(stepMost + 1)
		must(count, "when there is enough for a step")
		j.readers.AddReader(someone, "")
		notify(stepBusy)
		time.Sleep(stepPace)
		must(count, "when somebody listens")
		j.NotifyEvents(nil)
		time.Sleep(stepPace)
		notify(1)
		must(count, "when somebody listens and a step waits")
		j.Stop()
	})
}

// stopped is a store whose page reads and syncs block.
type stopped struct {
	Store
	page, sync chan struct{}
	pages      atomic.Int32 // being read
	syncs      atomic.Int32 // started
}

func (s *stopped) JournalPage(account.ID, uint64, string, time.Time, changefeed.ReadLimit) (changefeed.JournalPage, error) {
	s.pages.Add(1)
	defer s.pages.Add(-1)
	<-s.page
	return changefeed.JournalPage{}, nil
}

func (s *stopped) SyncJournal(account.ID) error { s.syncs.Add(1); <-s.sync; return nil }
func (s *stopped) IsFull() bool                 { return false }

// TestPagesAreReadByTurns checks that a thousand readers leave a processor to others, and that
// those waiting for a sync do not block reads.
func TestPagesAreReadByTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &stopped{page: make(chan struct{}), sync: make(chan struct{})}
		reading := New(store, noFanOut{}, time.Now, slog.Default()).NewReading(func(string, int64) (bool, error) { return false, nil })
		most := max(1, runtime.GOMAXPROCS(0)/2)
		const all = 20
		answers := make(chan error, all)
		for range all {
			go func() {
				_, err := reading.ReadEvents(t.Context(), someone, 0, "", changefeed.EntryLimit(10))
				answers <- err
			}()
		}
		synctest.Wait()
		if n := int(store.pages.Load()); n != most {
			t.Errorf("%d read at once, want %d", n, most)
		}
		over, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := reading.ReadEvents(over, someone, 0, "", changefeed.EntryLimit(10)); err == nil {
			t.Error("a read outlives its request")
		}
		close(store.page)
		synctest.Wait()
		if n := store.syncs.Load(); n != all {
			t.Errorf("%d wait for a sync, want %d", n, all)
		}
		close(store.sync)
		for range all {
			if err := <-answers; err != nil {
				t.Error(err)
			}
		}
	})
}
