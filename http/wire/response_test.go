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
func render(body string, expires time.Time) *PollResponse {
	return NewResponse("a@b.test", []byte(body), []byte(`"7"`), expires)
}

func TestAResponseIsPutTogether(t *testing.T) {
	r := render("body", time.Time{})
	fields := "Cache-Control: private, no-cache\r\nETag: \"7\"\r\n"
	for name, got := range map[string][2]string{
		"address": {string(r.pollAddress()), "a@b.test"},
		"fields":  {string(r.headerFields()), fields},
		"tag":     {string(r.etag()), `"7"`},
		"wire":    {string(r.wireBytes()), fields + "Content-Type: application/json\r\nContent-Length: 4\r\n\r\nbody"},
		"body":    {string(r.bodyBytes()), "body"},
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
	ends.KeepInView(v)
	if ResponseOf(v, at(6).Add(-1)) != ends || ResponseOf(v, at(6)) != nil {
		t.Error("the response does not end with its message")
	}
	none := render("null", time.Time{})
	none.KeepInView(v)
	if ResponseOf(v, at(1000)) != none {
		t.Error("the response without a message ended")
	}
}

// readers reports whether any reader may get the response now.
func readers(r *PollResponse) bool { return r.readerNow(start) != nil }

// TestAResponseEndsWithItsView: after every way to end a view, nobody may read the response, and
// its place is free.
func TestAResponseEndsWithItsView(t *testing.T) {
	for name, end := range map[string]func(v *inbox.View){
		"superseded":    func(v *inbox.View) { v.Supersede() },
		"rendered anew": func(v *inbox.View) { render("again", time.Time{}).KeepInView(v) },
	} {
		v, r, p := newView(), render("newest", time.Time{}), new(account.Principal)
		var at responsePlace
		r.KeepInView(v)
		if r.lastReader.Load() != nil || !r.setReader(p) || r.lastReader.Load() != p {
			t.Fatal("the reader is not noted")
		}
		if at.storeResponse(r); at.loadResponse() != r || !readers(r) {
			t.Fatal("nothing is held")
		}
		end(v)
		if at.loadResponse() != nil || readers(r) || r.setReader(p) {
			t.Errorf("%s: place %v, reader %v", name, at.loadResponse(), r.lastReader.Load())
		}
		if at.storeResponse(r); at.loadResponse() != nil {
			t.Errorf("%s: held again", name)
		}
	}
	v, late := newView(), render("late", time.Time{})
	v.Supersede()
	if late.KeepInView(v); late.setReader(new(account.Principal)) {
		t.Error("a response from a view that was superseded while it was made has readers")
	}
}

func TestAPlaceHoldsOneAnswerAndAResponseHasOnePlace(t *testing.T) {
	var a, b responsePlace
	first, second := render("1", time.Time{}), render("2", time.Time{})
	a.storeResponse(first)
	b.storeResponse(first)
	b.storeResponse(first)
	if a.loadResponse() != nil || b.loadResponse() != first {
		t.Error("a response has two places, or not its last")
	}
	b.storeResponse(second)
	if b.loadResponse() != second {
		t.Error("the newer response is not held")
	}
	a.storeResponse(first)
	if a.loadResponse() != first || b.loadResponse() != second {
		t.Error("who lost its place gets none again, or takes another's")
	}
}

// TestRendersOfEverySize crosses the size limits of the rooms.
func TestRendersOfEverySize(t *testing.T) {
	for n := 0; n < 40_000; n = n*9/8 + 1 {
		for _, size := range []int{n, n + 1} {
			body := bytes.Repeat([]byte{'a' + byte(size%26)}, size)
			if r := render(string(body), time.Time{}); !bytes.Equal(r.bodyBytes(), body) || !bytes.HasSuffix(r.wireBytes(), append([]byte("\r\n\r\n"), body...)) {
				t.Fatalf("%d bytes: %.100q", size, r.wireBytes())
			}
		}
	}
}

// TestSupersededResponsesNeverStay: the end of a view races with storing its response in a place.
func TestSupersededResponsesNeverStay(t *testing.T) {
	for range 500 {
		var at responsePlace
		v, r := newView(), render("newest", time.Time{})
		var all sync.WaitGroup
		all.Go(func() { r.KeepInView(v); r.setReader(new(account.Principal)); at.storeResponse(r) })
		all.Go(v.Supersede)
		all.Wait()
		if at.loadResponse() != nil || readers(r) {
			t.Fatalf("place %v, reader %v", at.loadResponse(), r.lastReader.Load())
		}
	}
}

func TestAPollIsAUseOfInboxAndCredential(t *testing.T) {
	v, r, p := newView(), render("newest", time.Time{}), new(account.Principal)
	if v.PolledAt() != 0 {
		t.Error("polled before there is a response")
	}
	r.KeepInView(v)
	for _, now := range []time.Time{start, start.Add(time.Millisecond), at(1)} {
		r.countPoll(p, now)
		if v.PolledAt() != now.Unix() || p.LastUsedUnix.Load() != now.Unix() {
			t.Errorf("at %v: inbox %d, credential %d", now, v.PolledAt(), p.LastUsedUnix.Load())
		}
	}
}
