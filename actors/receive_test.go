package actors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/changefeed"
	"inboxd/internal/core/inbox"
	"inboxd/internal/intake/ingest"
	"inboxd/persist/persisttest"
)

// failing makes commits fail that touch one address.
func failing(address string) func(any) error {
	return func(rows any) error {
		if r, ok := rows.(*inbox.Rows); ok && r.Address == address {
			return errors.New("refused for the test")
		}
		return nil
	}
}

func count(t *testing.T, s *System, address string) int {
	t.Helper()
	return len(must[*inbox.View](t)(s.InboxView(context.Background(), address)).Messages)
}

func TestPartlyFailedMailIsKnownAgain(t *testing.T) {
	store := persisttest.OpenStore(t)
	s := startSystem(t, store, nil)
	makeInbox(t, s, "a@inbox.localhost")
	makeInbox(t, s, "b@inbox.localhost")
	env := ingest.Envelope{MailFrom: "s@example.test", RcptTo: []string{"a+tag@inbox.localhost", "b@inbox.localhost"}}
	first := []byte("Received: id 1\r\nSubject: hi\r\n\r\nbody\r\n")
	again := []byte("Received: id 2\r\nSubject: hi\r\n\r\nbody\r\n")
	env.TraceLen = len("Received: id 1\r\n")

	store.BeforeCommit = failing("b@inbox.localhost")
	if err := s.ReceiveMessage(context.Background(), env, first); !fault.Is(err, fault.TemporarilyUnavailable) {
		t.Fatalf("one recipient fails for now: %v", err)
	}
	store.BeforeCommit = nil
	until(func() bool { return s.ReceiveMessage(context.Background(), env, again) == nil })
	if a, b := count(t, s, "a@inbox.localhost"), count(t, s, "b@inbox.localhost"); a != 1 || b != 1 {
		t.Errorf("after the repeat a has %d and b %d", a, b)
	}
	if m := s.ResidentView([]byte("a@inbox.localhost")).Messages[0]; m.EnvelopeTo != "a+tag@inbox.localhost" {
		t.Errorf("envelope_to %q", m.EnvelopeTo)
	}

	// Once all of it was acknowledged with 250, the same bytes are a new message.
	until(func() bool {
		return s.ResidentView([]byte("a@inbox.localhost")).Messages[0].RepeatDigest == nil &&
			s.ResidentView([]byte("b@inbox.localhost")).Messages[0].RepeatDigest == nil
	})
	if err := s.ReceiveMessage(context.Background(), env, first); err != nil {
		t.Fatal(err)
	}
	if a, b := count(t, s, "a@inbox.localhost"), count(t, s, "b@inbox.localhost"); a != 2 || b != 2 {
		t.Errorf("a deliberate repeat: a has %d and b %d", a, b)
	}
}

// TestOneMessageToSeveralAddressesOfAnInbox checks that the message is stored once and names all
// addresses, also after a restart and in its event.
func TestOneMessageToSeveralAddressesOfAnInbox(t *testing.T) {
	store := persisttest.OpenStore(t)
	t.Run("received", func(t *testing.T) { receiveForSeveral(t, store) })
	s := startSystem(t, store, nil)
	m := must[*inbox.View](t)(s.InboxView(t.Context(), "a@inbox.localhost")).Messages[0]
	if !slices.Equal(m.EnvelopeRecipients(), []string{"a+7@inbox.localhost", "a+8@inbox.localhost"}) {
		t.Errorf("after a restart: %+v", m)
	}
}

func receiveForSeveral(t *testing.T, store *persisttest.TestStore) {
	s := startSystem(t, store, func(o *Options) { o.Postmaster = "b@inbox.localhost" })
	makeInbox(t, s, "a@inbox.localhost")
	makeInbox(t, s, "b@inbox.localhost")
	for _, c := range []struct {
		rcpts []string
		a, b  []string
	}{
		{[]string{"a+7@inbox.localhost", "a+8@inbox.localhost"}, []string{"a+7@inbox.localhost", "a+8@inbox.localhost"}, nil},
		{[]string{"a@inbox.localhost", "a+8@inbox.localhost"}, []string{"a@inbox.localhost", "a+8@inbox.localhost"}, nil},
		{[]string{"a+8@inbox.localhost", "b@inbox.localhost", "a@inbox.localhost"}, []string{"a+8@inbox.localhost", "a@inbox.localhost"}, []string{"b@inbox.localhost"}},
		{[]string{"postmaster@inbox.localhost", "a@inbox.localhost", "abuse@inbox.localhost"}, []string{"a@inbox.localhost"}, []string{"postmaster@inbox.localhost", "abuse@inbox.localhost"}},
	} {
		before := count(t, s, "a@inbox.localhost")
		var stored []string
		env := ingest.Envelope{MailFrom: "s@example.test", RcptTo: c.rcpts, OnStored: func(address string, _ int64) { stored = append(stored, address) }}
		if err := s.ReceiveMessage(t.Context(), env, []byte("Subject: hi\r\n\r\nbody\r\n")); err != nil {
			t.Fatal(err)
		}
		if n := count(t, s, "a@inbox.localhost") - before; n != 1 || c.b == nil != (len(stored) == 1) {
			t.Errorf("%v: %d messages, stored in %v", c.rcpts, n, stored)
		}
		newest := func(address string) *inbox.Message {
			all := must[*inbox.View](t)(s.InboxView(t.Context(), address)).Messages
			return all[len(all)-1]
		}
		if m := newest("a@inbox.localhost"); m.EnvelopeTo != c.a[0] || !slices.Equal(m.EnvelopeRecipients(), c.a) || (m.NamedRecipients != nil) != (len(c.a) > 1) {
			t.Errorf("%v: %+v", c.rcpts, m)
		}
		if c.b != nil && !slices.Equal(newest("b@inbox.localhost").EnvelopeRecipients(), c.b) {
			t.Errorf("%v: %+v", c.rcpts, newest("b@inbox.localhost"))
		}
	}
	account := must[*inbox.View](t)(s.InboxView(t.Context(), "a@inbox.localhost")).Account
	var page changefeed.JournalPage
	until(func() bool {
		page = must[changefeed.JournalPage](t)(s.ReadEvents(t.Context(), account, 0, "a@inbox.localhost", changefeed.EntryLimit(10)))
		return len(page.Entries) == 4
	})
	if e := page.Entries; !e[0].IsTo("a+8@inbox.localhost") || e[0].IsTo("a@inbox.localhost") || !e[1].IsTo("a@inbox.localhost") {
		t.Errorf("%+v", e)
	}
}

func TestRecipientWhoVanishedDoesNotHoldUpOthers(t *testing.T) {
	store := persisttest.OpenStore(t)
	s := startSystem(t, store, nil)
	makeInbox(t, s, "a@inbox.localhost")
	env := ingest.Envelope{RcptTo: []string{"gone@inbox.localhost", "a@inbox.localhost"}}
	if err := s.ReceiveMessage(context.Background(), env, []byte("\r\nx")); err != nil {
		t.Fatal(err)
	}
	if n := count(t, s, "a@inbox.localhost"); n != 1 {
		t.Errorf("%d messages", n)
	}
	env.RcptTo = env.RcptTo[:1]
	if err := s.ReceiveMessage(context.Background(), env, []byte("\r\nx")); !fault.Is(err, fault.NoInbox) {
		t.Errorf("nobody is left: %v", err)
	}
}

// A disk that fills during DNS look-ups about a message ends them: whatever the results, the
// message cannot be stored, and its sender gets the reply soon.
func TestFullDiskEndsLookups(t *testing.T) {
	store := persisttest.OpenStore(t)
	s := startSystem(t, store, nil)
	makeInbox(t, s, "a@inbox.localhost")
	env := ingest.Envelope{RcptTo: []string{"a@inbox.localhost"}}
	env.DetermineVerdict = func(ctx context.Context, _ ingest.Envelope, _ []byte) ingest.AuthVerdict {
		if err := ctx.Err(); err != nil {
			t.Errorf("before the disk is full: %v", err)
		}
		store.SetFull(true)
		<-ctx.Done()
		return ingest.AuthVerdict{}
	}
	if err := s.ReceiveMessage(context.Background(), env, []byte("\r\nx")); !fault.Is(err, fault.StorageFull) {
		t.Errorf("on a full disk: %v", err)
	}
	store.SetFull(false)
	until(func() bool { return s.untilFull.currentContext().Err() == nil })
	env.DetermineVerdict = nil
	if err := s.ReceiveMessage(context.Background(), env, []byte("\r\nx")); err != nil {
		t.Errorf("with space again: %v", err)
	}
}

// frozen blocks the store's commits until thaw is called; held gets a value for each.
func frozen(store *persisttest.TestStore) (held chan struct{}, thaw func()) {
	held, gate := make(chan struct{}, 100), make(chan struct{})
	store.BeforeCommit = func(any) error {
		held <- struct{}{}
		<-gate
		return nil
	}
	return held, func() { close(gate) }
}

// TestMailWhoseSenderHeard451 checks that a message is stored once although the disk froze and
// stored it late. It covers a message being written, a waiting one, and one whose repeat waited,
// too.
func TestMailWhoseSenderHeard451(t *testing.T) {
	store := persisttest.OpenCrashable(t)
	s := startSystem(t, store, nil)
	makeInbox(t, s, "a@inbox.localhost")
	var offers atomic.Int64
	offer := func(ctx context.Context, text string) error {
		trace := fmt.Sprintf("Received: id %d\r\n", offers.Add(1))
		env := ingest.Envelope{MailFrom: "s@example.test", RcptTo: []string{"a+tag@inbox.localhost"}, TraceLen: len(trace)}
		return s.ReceiveMessage(ctx, env, []byte(trace+"Subject: "+text+"\r\n\r\nbody\r\n"))
	}
	held, thaw := frozen(store)
	short, giveUp := context.WithCancel(t.Context())
	answers := make(chan error)
	later := func(ctx context.Context, text string) { go func() { answers <- offer(ctx, text) }() }
	later(short, "written")
	<-held
	later(short, "waits")
	until(func() bool { return s.inboxDirectory.ReadStats().InFlight == 2 })
	giveUp()
	for range 2 {
		if err := <-answers; !fault.Is(err, fault.TemporarilyUnavailable) {
			t.Fatalf("on a frozen disk: %v", err)
		}
	}
	later(t.Context(), "written")
	until(func() bool { return s.inboxDirectory.ReadStats().InFlight == 1 })
	thaw()
	if err := <-answers; err != nil {
		t.Fatal(err)
	}
	expect := func(s *System, want int, when string) {
		t.Helper()
		if n := count(t, s, "a@inbox.localhost"); n != want {
			t.Errorf("%s: %d messages, want %d", when, n, want)
		}
	}
	again := func(text string, want int) {
		t.Helper()
		if err := offer(t.Context(), text); err != nil {
			t.Fatal(err)
		}
		expect(s, want, text+" again")
	}
	expect(s, 2, "repeated while it was being written")
	after := store.CrashCopy(t) // of "waits" nobody said 250 yet
	again("waits", 2)
	// Both were acknowledged with 250 now: the same bytes again are a new message.
	again("waits", 3)
	again("written", 4)
	again("other", 5)

	s = startSystem(t, after, nil)
	expect(s, 2, "after a power loss")
	again("waits", 2)
}
