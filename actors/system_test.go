package actors

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
	"inboxd/internal/intake/ingest"
	"inboxd/persist/persisttest"
)

var someone = account.NewID(time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC), [10]byte{1})

// journalDelay is how long the journal waits for more events.
const journalDelay = 5 * time.Millisecond

// startSystem runs a system over store until the test ends.
func startSystem(t testing.TB, store *persisttest.TestStore, change func(*Options)) *System {
	t.Helper()
	o := Options{Store: store, Namespaces: inbox.Namespaces{ServiceDomain: "inbox.localhost", PlainAddresses: true}, Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&o)
	}
	s, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// roomy is the default capacity of plans.
var roomy = inbox.CapacityOf(account.DefaultPlans().Of(account.PlanFree))

// until waits for a condition that other goroutines bring about.
func until(done func() bool) {
	for !done() {
		runtime.Gosched()
	}
}

func makeInbox(t testing.TB, s *System, address string) {
	t.Helper()
	must[inbox.CommandOutcome](t)(s.Do(context.Background(), address, inbox.Create{Address: address, Account: someone, RetentionHours: 24, At: s.now()}))
}

func receive(text string) inbox.Receive {
	return ingest.ParseMessage(ingest.Envelope{MailFrom: "s@example.test", RcptTo: []string{"x"}}, []byte("Subject: "+text+"\r\n\r\n"+text+"\r\n")).ReceiveFor("x")
}

// TestWhatIsDeletedTakesNoMemory also covers an address that never existed. A new inbox there finds
// the tombstone of the old one on disk.
func TestWhatIsDeletedTakesNoMemory(t *testing.T) {
	s := startSystem(t, persisttest.OpenStore(t), func(o *Options) { o.SweepEvery = time.Hour })
	makeInbox(t, s, "stays@inbox.localhost")
	until(func() bool { return s.inboxDirectory.ReadStats().HeldBytes > 0 }) // it is weighed after its reply
	before := s.inboxDirectory.ReadStats()
	for i := range 50 {
		address := fmt.Sprintf("i%d@inbox.localhost", i)
		makeInbox(t, s, address)
		must[inbox.CommandOutcome](t)(s.Do(t.Context(), address, receive("x")))
		must[inbox.CommandOutcome](t)(s.Do(t.Context(), address, inbox.Delete{}))
		if _, err := s.Do(t.Context(), "nobody@inbox.localhost", receive("x")); !fault.Is(err, fault.NoInbox) {
			t.Fatal(err)
		}
	}
	end := time.Now().Add(30 * time.Second)
	until(func() bool {
		got := s.inboxDirectory.ReadStats()
		return got.ResidentCount == before.ResidentCount && got.HeldBytes == before.HeldBytes || time.Now().After(end)
	})
	if got := s.inboxDirectory.ReadStats(); got.ResidentCount != before.ResidentCount || got.HeldBytes != before.HeldBytes {
		t.Errorf("%+v, before %+v", got, before)
	}
	makeInbox(t, s, "i0@inbox.localhost")
	if got := must[inbox.CommandOutcome](t)(s.Do(t.Context(), "i0@inbox.localhost", receive("x"))); got.ID != 2 {
		t.Errorf("id %d is given again", got.ID)
	}
}

func TestPassivationLosesNoCommand(t *testing.T) {
	const inboxes, workers = 200, 16
	const operations = 5_000
	store := persisttest.OpenStore(t)
	s := startSystem(t, store, func(o *Options) { o.SweepEvery = time.Hour })
	for i := range inboxes {
		makeInbox(t, s, fmt.Sprintf("i%d@inbox.localhost", i))
	}
	var done atomic.Int64
	var sweeper, loads sync.WaitGroup
	tick := make(chan struct{}, 1)
	sweeper.Go(func() {
		for range tick {
			s.inboxDirectory.SweepIdle(time.Hour, 1) // always over budget: all owners are asked to leave
		}
	})
	var got [inboxes]atomic.Int64
	for w := range workers {
		loads.Go(func() {
			for n := range operations / workers {
				i := (n*7 + w*13) % inboxes
				address := fmt.Sprintf("i%d@inbox.localhost", i)
				if done.Add(1)%200 == 0 {
					select {
					case tick <- struct{}{}:
					default:
					}
				}
				switch n % 5 {
				case 0:
					if _, err := s.Do(context.Background(), address, receive("x")); err != nil {
						t.Error(err)
					}
					got[i].Add(1)
				case 1, 2:
					if v, err := s.InboxView(context.Background(), address); err != nil || v.Address != address {
						t.Error(v, err)
					}
				default:
					if _, err := s.Do(context.Background(), address, inbox.MarkRead{ID: 1, Read: n%2 == 0}); err != nil && !fault.Is(err, fault.NotFound) {
						t.Error(err)
					}
				}
			}
		})
	}
	loads.Wait()
	close(tick)
	sweeper.Wait()
	for i := range inboxes {
		state := must[*inbox.State](t)(store.LoadInbox(fmt.Sprintf("i%d@inbox.localhost", i)))
		if n := got[i].Load(); state.LastID != n || int64(len(state.Messages)) != n {
			t.Errorf("inbox %d: %d receives answered, %d messages, last id %d", i, n, len(state.Messages), state.LastID)
		}
	}
	if n := s.ReadStats().Passivated; n < 500 {
		t.Errorf("only %d passivations: the test exercised nothing", n)
	}
	t.Logf("%d operations, %d passivations", operations, s.ReadStats().Passivated)
}

// gate blocks commits until it is opened.
type gate struct{ in, open chan struct{} }

func newGate() *gate { return &gate{make(chan struct{}, 1000), make(chan struct{})} }

func (g *gate) wait(any) error {
	g.in <- struct{}{}
	<-g.open
	return nil
}

func TestGroupCommit(t *testing.T) {
	store := persisttest.OpenStore(t)
	s := startSystem(t, store, nil)
	makeInbox(t, s, "hot@inbox.localhost")
	g := newGate()
	store.BeforeCommit = g.wait
	before := store.CommitCount()
	var senders sync.WaitGroup
	ids := make(chan int64, 101)
	send := func() {
		ids <- must[inbox.CommandOutcome](t)(s.Do(context.Background(), "hot@inbox.localhost", receive("x"))).ID
	}
	senders.Go(send)
	<-g.in // the first commit is in flight
	for range 100 {
		senders.Go(send)
	}
	until(func() bool { return s.ReadStats().InFlight == 101 })
	if v := s.ResidentView([]byte("hot@inbox.localhost")); len(v.Messages) != 0 {
		t.Errorf("%d messages are seen before their commit returned", len(v.Messages))
	}
	close(g.open)
	senders.Wait()
	// Three suffice if all were posted before the gate opened; on a busy machine some were only
	// counted.
	if n := store.CommitCount() - before; n > 25 {
		t.Errorf("101 mails took %d commits; what waits is to be committed together", n)
	}
	seen := map[int64]bool{}
	for range 101 {
		seen[<-ids] = true
	}
	if len(seen) != 101 || len(s.ResidentView([]byte("hot@inbox.localhost")).Messages) != 101 {
		t.Errorf("%d different ids, %d messages", len(seen), len(s.ResidentView([]byte("hot@inbox.localhost")).Messages))
	}
}

func TestFailedCommitShowsNothing(t *testing.T) {
	for name, before := range map[string]func(any) error{
		"error": func(any) error { return fmt.Errorf("disk on fire") },
		"panic": func(any) error { panic("bug") },
	} {
		t.Run(name, func(t *testing.T) {
			store := persisttest.OpenStore(t)
			s := startSystem(t, store, nil)
			makeInbox(t, s, "a@inbox.localhost")
			must[inbox.CommandOutcome](t)(s.Do(context.Background(), "a@inbox.localhost", receive("kept")))
			store.BeforeCommit = before
			_, err := s.Do(context.Background(), "a@inbox.localhost", receive("lost"))
			if !fault.Is(err, fault.TemporarilyUnavailable) || strings.Contains(err.(*fault.Error).Detail, "fire") {
				t.Errorf("err %v", err)
			}
			store.BeforeCommit = nil
			if v := must[*inbox.View](t)(s.InboxView(context.Background(), "a@inbox.localhost")); len(v.Messages) != 1 {
				t.Errorf("%d messages after a failed commit", len(v.Messages))
			}
			for { // the owner rests for some milliseconds
				answer, err := s.Do(context.Background(), "a@inbox.localhost", receive("next"))
				if err == nil {
					if answer.ID != 2 {
						t.Errorf("id %d after 1", answer.ID)
					}
					return
				}
			}
		})
	}
}

func TestFullDiskRefusesMailOnly(t *testing.T) {
	store := persisttest.OpenStore(t)
	s := startSystem(t, store, nil)
	makeInbox(t, s, "a@inbox.localhost")
	must[inbox.CommandOutcome](t)(s.Do(context.Background(), "a@inbox.localhost", receive("one")))
	store.SetFull(true)
	if err := s.CheckRecipient(context.Background(), "a@inbox.localhost"); !fault.Is(err, fault.StorageFull) {
		t.Errorf("RCPT: %v", err)
	}
	if _, err := s.Do(context.Background(), "a@inbox.localhost", receive("two")); !fault.Is(err, fault.StorageFull) {
		t.Errorf("mail: %v", err)
	}
	must[inbox.CommandOutcome](t)(s.Do(context.Background(), "a@inbox.localhost", inbox.DeleteMessage{ID: 1}))
	store.SetFull(false)
	if a := must[inbox.CommandOutcome](t)(s.Do(context.Background(), "a@inbox.localhost", receive("two"))); a.ID != 2 {
		t.Errorf("id %d", a.ID)
	}
}

func TestHangingCommitIsAnsweredWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := persisttest.OpenStore(t)
		s := startSystem(t, store, nil)
		makeInbox(t, s, "a@inbox.localhost")
		g := newGate()
		store.BeforeCommit = g.wait
		store.SetFull(true)
		began := time.Now()
		_, err := s.Do(context.Background(), "a@inbox.localhost", receive("x"))
		if took := time.Since(began); !fault.Is(err, fault.StorageFull) || took > time.Second {
			t.Errorf("%v after %v", err, took)
		}
		close(g.open)
	})
}

func TestAdmissionIsBounded(t *testing.T) {
	store := persisttest.OpenStore(t)
	s := startSystem(t, store, func(o *Options) { o.MaxInFlight = 8 })
	makeInbox(t, s, "a@inbox.localhost")
	g := newGate()
	store.BeforeCommit = g.wait
	var senders sync.WaitGroup
	for range 8 {
		senders.Go(func() { _, _ = s.Do(context.Background(), "a@inbox.localhost", receive("x")) })
	}
	until(func() bool { return s.ReadStats().InFlight == 8 })
	began := time.Now() // an admitted command waits half a minute and gets the same error
	if _, err := s.Do(context.Background(), "a@inbox.localhost", receive("x")); !fault.Is(err, fault.TemporarilyUnavailable) || time.Since(began) > 15*time.Second {
		t.Errorf("the ninth: %v after %v", err, time.Since(began))
	}
	close(g.open)
	senders.Wait()
}

func TestWaiterWakesOnMailAndOnPassivation(t *testing.T) {
	store := persisttest.OpenStore(t)
	s := startSystem(t, store, nil)
	makeInbox(t, s, "a@inbox.localhost")
	v := must[*inbox.View](t)(s.InboxView(context.Background(), "a@inbox.localhost"))
	changed := v.SupersededSignal()
	must[inbox.CommandOutcome](t)(s.Do(context.Background(), "a@inbox.localhost", receive("x")))
	<-changed
	v = must[*inbox.View](t)(s.InboxView(context.Background(), "a@inbox.localhost"))
	changed = v.SupersededSignal()
	s.inboxDirectory.SweepIdle(time.Hour, 1)
	<-changed
	if v = must[*inbox.View](t)(s.InboxView(context.Background(), "a@inbox.localhost")); len(v.Messages) != 1 {
		t.Errorf("after coming back: %d messages", len(v.Messages))
	}
	if c := must[*inbox.Content](t)(s.MessageContent(context.Background(), "a@inbox.localhost", 1)); c == nil || c.Doc.Subject != "x" || c.Doc.Text != "x\n" {
		t.Errorf("read again: %+v", c)
	}
}

func TestUnknownAddressCostsNoActor(t *testing.T) {
	store := persisttest.OpenStore(t)
	s := startSystem(t, store, nil)
	if _, err := s.InboxView(context.Background(), "nobody@inbox.localhost"); !fault.Is(err, fault.NoInbox) {
		t.Error(err)
	}
	if err := s.CheckRecipient(context.Background(), "nobody@inbox.localhost"); !fault.Is(err, fault.NoInbox) {
		t.Error(err)
	}
	if n := s.inboxDirectory.ReadStats().ResidentCount; n != 0 {
		t.Errorf("%d slots", n)
	}
}
