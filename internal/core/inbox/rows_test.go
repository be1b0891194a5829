package inbox_test

import (
	"fmt"
	"reflect"
	"testing"

	"inboxd/internal/core/inbox"
)

// TestClearedRows checks that cleared rows hold only capacity, and that rows that were passed on
// are not overwritten.
func TestClearedRows(t *testing.T) {
	s := &inbox.State{Profile: inbox.Profile{Address: "a@inbox.localhost"}}
	apply := func(r *inbox.Rows, cmds ...inbox.Command) {
		t.Helper()
		for _, cmd := range cmds {
			evs, _, err := inbox.Decide(s, cmd, env(start))
			if err != nil {
				t.Fatal(err)
			}
			r.Apply(s, evs)
		}
	}
	r := begin(s)
	apply(r, create(), mail("one"), submit(false, "x@far.test"), inbox.BeginAttempt{ID: 2, SigningResult: inbox.MessageSigned, SignatureFields: []byte("x")}, mail("two"), inbox.DeleteMessage{ID: 1})
	public, queue, put, store := r.PublicEvents, r.QueueMoves, r.PutMessages, r.StoreMessages
	reported := fmt.Sprint(public, queue)
	r.Clear()
	if want := (inbox.Rows{PutMessages: put[:0], StoreMessages: store[:0]}); !reflect.DeepEqual(*r, want) {
		t.Errorf("left: %+v", *r)
	}
	for i := range put {
		if put[i] != nil {
			t.Errorf("place %d holds a message", i)
		}
	}
	for i := range store {
		if !reflect.DeepEqual(store[i], inbox.StoredMessage{}) {
			t.Errorf("place %d holds %+v", i, store[i])
		}
	}
	r.Begin(s)
	apply(r, mail("three"), submit(false, "y@far.test"))
	if got := fmt.Sprint(public, queue); got != reported {
		t.Errorf("told was %s, now %s", reported, got)
	}
	if &r.PutMessages[0] != &put[0] || &r.StoreMessages[0] != &store[0] {
		t.Error("the room is not used again")
	}
	for range 20 {
		apply(r, mail("many"))
	}
	if r.Clear(); cap(r.PutMessages) != 0 || cap(r.StoreMessages) != 0 {
		t.Errorf("room for %d messages is kept, and for %d contents", cap(r.PutMessages), cap(r.StoreMessages))
	}
}

// TestSpareIsWritten checks that the second copy is written when an inbox is created, changed or
// deleted, and not with each message.
func TestSpareIsWritten(t *testing.T) {
	s := &inbox.State{Profile: inbox.Profile{Address: "a@inbox.localhost"}}
	for _, c := range []struct {
		cmd  inbox.Command
		want bool
	}{
		{create(), true}, {mail("one"), false}, {inbox.UpdateSettings{Label: new("billing")}, true}, {inbox.DeleteMessage{ID: 1}, false}, {inbox.Delete{}, true},
	} {
		evs, _, err := inbox.Decide(s, c.cmd, env(start))
		if err != nil {
			t.Fatal(err)
		}
		r := begin(s)
		if r.Apply(s, evs); r.WriteSpareCopy != c.want || c.want && r.Profile == nil {
			t.Errorf("%T: spare %v", c.cmd, r.WriteSpareCopy)
		}
	}
}
