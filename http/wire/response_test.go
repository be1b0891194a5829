package inbox_test

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"inboxd/internal/account"
	"inboxd/internal/inbox"
)

// render makes an answer that expires at the given time.
func render(body string, expires time.Time) *inbox.Rendered {
	return inbox.Render(inbox.Parts{
		Address: "a@b.test", Fields: []byte("Cache-Control: x\r\nETag: \"7\"\r\n"), ETag: []byte(`"7"`),
		Head: []byte("Content-Length: 4\r\n\r\n"), Body: []byte(body), ExpiresAt: expires,
	})
}

func TestRenderPutsThePartsTogether(t *testing.T) {
	r := render("body", time.Time{})
	for name, got := range map[string][2][]byte{
		"address": {r.Address(), []byte("a@b.test")},
		"fields":  {r.Fields(), []byte("Cache-Control: x\r\nETag: \"7\"\r\n")},
		"tag":     {r.ETag(), []byte(`"7"`)},
		"wire":    {r.Wire(), []byte("Cache-Control: x\r\nETag: \"7\"\r\nContent-Length: 4\r\n\r\nbody")},
		"body":    {r.Body(), []byte("body")},
	} {
		if !bytes.Equal(got[0], got[1]) {
			t.Errorf("%s: %q", name, got[0])
		}
	}
}

// TestRendered keeps an answer until its message is over.
func TestRendered(t *testing.T) {
	v := mixed()
	if v.Rendered(start) != nil {
		t.Error("an answer nobody made")
	}
	ends := render("newest", at(6))
	v.KeepRendered(ends)
	if v.Rendered(at(6).Add(-1)) != ends || v.Rendered(at(6)) != nil {
		t.Error("the answer does not end with its message")
	}
	none := render("null", time.Time{})
	v.KeepRendered(none)
	if v.Rendered(at(1000)) != none {
		t.Error("the answer without a message ended")
	}
}

// readers reports whether somebody may have the answer now.
func readers(r *inbox.Rendered) bool { p := r.Reader(); return p != nil && p.Current(start) }

// TestAnAnswerEndsWithItsView: whatever ends it, nobody may read it and its place is free.
func TestAnAnswerEndsWithItsView(t *testing.T) {
	for name, end := range map[string]func(v *inbox.View){
		"superseded":    func(v *inbox.View) { v.Supersede() },
		"rendered anew": func(v *inbox.View) { v.KeepRendered(render("again", time.Time{})) },
	} {
		v, r, p := mixed(), render("newest", time.Time{}), new(account.Principal)
		var place inbox.Place
		v.KeepRendered(r)
		if r.Reader() != nil || !r.Allow(p) || r.Reader() != p {
			t.Fatal("the reader is not noted")
		}
		if place.Put(r); place.Get() != r || !readers(r) {
			t.Fatal("nothing is held")
		}
		end(v)
		if place.Get() != nil || readers(r) || r.Allow(p) {
			t.Errorf("%s: place %v, reader %v", name, place.Get(), r.Reader())
		}
		if place.Put(r); place.Get() != nil {
			t.Errorf("%s: held again", name)
		}
	}
	v, late := mixed(), render("late", time.Time{})
	v.Supersede()
	if v.KeepRendered(late); late.Allow(new(account.Principal)) {
		t.Error("an answer from a view that was superseded while it was made has readers")
	}
}

func TestAPlaceHoldsOneAnswerAndAnAnswerHasOnePlace(t *testing.T) {
	var a, b inbox.Place
	first, second := render("1", time.Time{}), render("2", time.Time{})
	a.Put(first)
	b.Put(first)
	b.Put(first)
	if a.Get() != nil || b.Get() != first {
		t.Error("an answer has two places, or not its last")
	}
	b.Put(second)
	if b.Get() != second {
		t.Error("the newer answer is not held")
	}
	a.Put(first)
	if a.Get() != first || b.Get() != second {
		t.Error("who lost its place gets none again, or takes another's")
	}
}

// TestRendersOfEverySize goes over the edges of the rooms.
func TestRendersOfEverySize(t *testing.T) {
	for n := 0; n < 40_000; n = n*9/8 + 1 {
		for _, size := range []int{n, n + 1} {
			body := bytes.Repeat([]byte{'a' + byte(size%26)}, size)
			if r := render(string(body), time.Time{}); !bytes.Equal(r.Body(), body) || !bytes.HasSuffix(r.Wire(), append([]byte("\r\n\r\n"), body...)) {
				t.Fatalf("%d bytes: %.100q", size, r.Wire())
			}
		}
	}
}

// TestSupersededAnswersNeverStay races the end of a view with its answer's way to a place.
func TestSupersededAnswersNeverStay(t *testing.T) {
	for range 500 {
		var place inbox.Place
		v, r := mixed(), render("newest", time.Time{})
		var all sync.WaitGroup
		all.Go(func() { v.KeepRendered(r); r.Allow(new(account.Principal)); place.Put(r) })
		all.Go(v.Supersede)
		all.Wait()
		if place.Get() != nil || readers(r) {
			t.Fatalf("place %v, reader %v", place.Get(), r.Reader())
		}
	}
}

func TestAPollIsAUseOfInboxAndCredential(t *testing.T) {
	v, r, p := mixed(), render("newest", time.Time{}), new(account.Principal)
	if v.PolledAt() != 0 {
		t.Error("polled before there is an answer")
	}
	v.KeepRendered(r)
	for _, now := range []time.Time{start, start.Add(time.Millisecond), at(1)} {
		r.Count(p, now)
		if v.PolledAt() != now.Unix() || p.Used.Load() != now.Unix() {
			t.Errorf("at %v: inbox %d, credential %d", now, v.PolledAt(), p.Used.Load())
		}
	}
}
