package wire

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
)

var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func at(hour int) time.Time { return start.Add(time.Duration(hour) * time.Hour) }

func newView() *inbox.View { return inbox.NewView(&inbox.State{}) }

// render makes a response that expires at the given time.
func render(body string, expires time.Time) *Response {
	return NewResponse("a@b.test", []byte(body), []byte(`"7"`), expires)
}

func TestAResponseIsPutTogether(t *testing.T) {
	r := render("body", time.Time{})
	fields := "Cache-Control: private, no-cache\r\nETag: \"7\"\r\n"
	for name, got := range map[string][2]string{
		"address": {string(r.address()), "a@b.test"},
		"fields":  {string(r.fields()), fields},
		"tag":     {string(r.etag()), `"7"`},
		"wire":    {string(r.wire()), fields + "Content-Type: application/json\r\nContent-Length: 4\r\n\r\nbody"},
		"body":    {string(r.body()), "body"},
	} {
		if got[0] != got[1] {
			t.Errorf("%s: %q", name, got[0])
		}
	}
}

// TestAViewCarriesItsResponse until its message expires.
func TestAViewCarriesItsResponse(t *testing.T) {
	v := newView()
	if ResponseOf(v, start) != nil {
		t.Error("a response nobody made")
	}
	ends := render("newest", at(6))
	ends.Keep(v)
	if ResponseOf(v, at(6).Add(-1)) != ends || ResponseOf(v, at(6)) != nil {
		t.Error("the response does not end with its message")
	}
	none := render("null", time.Time{})
	none.Keep(v)
	if ResponseOf(v, at(1000)) != none {
		t.Error("the response without a message ended")
	}
}

// readers reports whether any reader may get the response now.
func readers(r *Response) bool { return r.readerNow(start) != nil }

// TestAResponseEndsWithItsView: after every way to end a view, nobody may read the response, and
// its place is free.
func TestAResponseEndsWithItsView(t *testing.T) {
	for name, end := range map[string]func(v *inbox.View){
		"superseded":    func(v *inbox.View) { v.Supersede() },
		"rendered anew": func(v *inbox.View) { render("again", time.Time{}).Keep(v) },
	} {
		v, r, p := newView(), render("newest", time.Time{}), new(account.Principal)
		var at place
		r.Keep(v)
		if r.reader.Load() != nil || !r.allow(p) || r.reader.Load() != p {
			t.Fatal("the reader is not noted")
		}
		if at.put(r); at.get() != r || !readers(r) {
			t.Fatal("nothing is held")
		}
		end(v)
		if at.get() != nil || readers(r) || r.allow(p) {
			t.Errorf("%s: place %v, reader %v", name, at.get(), r.reader.Load())
		}
		if at.put(r); at.get() != nil {
			t.Errorf("%s: held again", name)
		}
	}
	v, late := newView(), render("late", time.Time{})
	v.Supersede()
	if late.Keep(v); late.allow(new(account.Principal)) {
		t.Error("a response from a view that was superseded while it was made has readers")
	}
}

func TestAPlaceHoldsOneAnswerAndAResponseHasOnePlace(t *testing.T) {
	var a, b place
	first, second := render("1", time.Time{}), render("2", time.Time{})
	a.put(first)
	b.put(first)
	b.put(first)
	if a.get() != nil || b.get() != first {
		t.Error("a response has two places, or not its last")
	}
	b.put(second)
	if b.get() != second {
		t.Error("the newer response is not held")
	}
	a.put(first)
	if a.get() != first || b.get() != second {
		t.Error("who lost its place gets none again, or takes another's")
	}
}

// TestRendersOfEverySize crosses the size limits of the rooms.
func TestRendersOfEverySize(t *testing.T) {
	for n := 0; n < 40_000; n = n*9/8 + 1 {
		for _, size := range []int{n, n + 1} {
			body := bytes.Repeat([]byte{'a' + byte(size%26)}, size)
			if r := render(string(body), time.Time{}); !bytes.Equal(r.body(), body) || !bytes.HasSuffix(r.wire(), append([]byte("\r\n\r\n"), body...)) {
				t.Fatalf("%d bytes: %.100q", size, r.wire())
			}
		}
	}
}

// TestSupersededResponsesNeverStay: the end of a view races with storing its response in a place.
func TestSupersededResponsesNeverStay(t *testing.T) {
	for range 500 {
		var at place
		v, r := newView(), render("newest", time.Time{})
		var all sync.WaitGroup
		all.Go(func() { r.Keep(v); r.allow(new(account.Principal)); at.put(r) })
		all.Go(v.Supersede)
		all.Wait()
		if at.get() != nil || readers(r) {
			t.Fatalf("place %v, reader %v", at.get(), r.reader.Load())
		}
	}
}

func TestAPollIsAUseOfInboxAndCredential(t *testing.T) {
	v, r, p := newView(), render("newest", time.Time{}), new(account.Principal)
	if v.PolledAt() != 0 {
		t.Error("polled before there is a response")
	}
	r.Keep(v)
	for _, now := range []time.Time{start, start.Add(time.Millisecond), at(1)} {
		r.count(p, now)
		if v.PolledAt() != now.Unix() || p.Used.Load() != now.Unix() {
			t.Errorf("at %v: inbox %d, credential %d", now, v.PolledAt(), p.Used.Load())
		}
	}
}
