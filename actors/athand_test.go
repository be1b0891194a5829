package actors

import (
	"context"
	"testing"
	"time"

	"inboxd/internal/core/inbox"
	"inboxd/persist/persisttest"
)

// TestAtHand fills the budget with messages to several inboxes: the last contents are cached, the
// first are not, and all can be read.
func TestAtHand(t *testing.T) {
	store := persisttest.OpenStore(t)
	const fits = 3
	s := startSystem(t, store, func(o *Options) { o.MaxResidentBytes = 64 * fits * 1200 })
	var views []*inbox.View
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		address := name + "@inbox.localhost"
		makeInbox(t, s, address)
		must[inbox.CommandOutcome](t)(s.Do(context.Background(), address, receive(name)))
		views = append(views, must[*inbox.View](t)(s.InboxView(context.Background(), address)))
		if views[len(views)-1].NewestContent.Of(1) == nil {
			t.Errorf("%s: just came and is not at hand", name)
		}
	}
	for i, v := range views {
		if got, want := v.NewestContent.Of(1) != nil, i >= len(views)-fits; got != want {
			t.Errorf("%s: at hand: %t, want %t", v.Address, got, want)
		}
		if c := must[*inbox.Content](t)(s.MessageContent(context.Background(), v.Address, 1)); c == nil || c.Doc.Subject != v.Messages[0].Subject {
			t.Errorf("%s: reads %v", v.Address, c)
		}
	}
}

// TestAtHandKeepsNothingTooLarge checks that a large content is evicted at once, together with all
// older ones.
func TestAtHandKeepsNothingTooLarge(t *testing.T) {
	h := &contentCache{maxBytes: 10 << 10}
	small, large := newestOf(t, 1, 100), newestOf(t, 2, 25<<20)
	h.keepNewest(small)
	h.keepNewest(nil)
	h.keepNewest(large)
	if small.Of(1) != nil || large.Of(2) != nil || h.heldBytes != 0 || len(h.queue) != h.firstIndex {
		t.Errorf("at hand: %v, %v; %d bytes, %d waiting", small.Of(1), large.Of(2), h.heldBytes, len(h.queue)-h.firstIndex)
	}
	for range 1000 {
		h.keepNewest(newestOf(t, 1, 100))
	}
	if cap(h.queue) > 100 {
		t.Errorf("the queue grew to %d", cap(h.queue))
	}
}

// change applies the events of one command and returns their rows.
func change(s *inbox.State, evs []inbox.Event) *inbox.Rows {
	r := new(inbox.Rows)
	r.Begin(s)
	r.Apply(s, evs)
	return r
}

// newestOf returns the newest content of an inbox after a message of size bytes with this id.
func newestOf(t *testing.T, id int64, size int) *inbox.CachedContent {
	t.Helper()
	s := &inbox.State{Profile: inbox.Profile{Address: "x@inbox.localhost", CreatedAt: time.Now(), LastID: id - 1}}
	mail := receive("x")
	mail.Raw = append(mail.Raw, make([]byte, size)...)
	evs, _, err := inbox.Decide(s, mail, inbox.Env{Capacity: roomy})
	if err != nil {
		t.Fatal(err)
	}
	change(s, evs)
	return s.NewestContent
}
