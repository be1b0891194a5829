package http

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	nethttp "net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
)

const eventsPath = "/api/v1/events"

// fleet is lone with a second inbox of alice and one of bob, which also receives messages.
func fleet(t *testing.T) (w *world, one, two, key string) {
	w, one, key, _ = lone(t)
	two = w.newInbox(alice, "two")
	w.signUp(bob)
	w.deliver(w.newInbox(bob, "foreign"), inbox.Receive{Subject: "foreign"})
	return w, one, two, key
}

// happened is the response to a poll for events.
type happened struct {
	Events []struct{ Event, Inbox, Subject string }
	Next   string
	Gap    bool
}

func (h happened) subjects() (out []string) {
	for _, e := range h.Events {
		out = append(out, e.Subject)
	}
	return out
}

func (w *world) events(path, key, query string) (h happened) {
	w.t.Helper()
	w.expect(200, w.call(methodGet, path+"?"+query, key, "")).into(w.t, &h)
	return h
}

func TestEventsArePagedInOrder(t *testing.T) {
	w, one, two, key := fleet(t)
	for i := range 5 {
		w.deliver([]string{one, two}[i%2], inbox.Receive{Subject: fmt.Sprint("s", i)})
	}
	first := w.events(eventsPath, key, "limit=2") // without after: from the oldest event
	second := w.events(eventsPath, key, "limit=2&after="+first.Next)
	third := w.events(eventsPath, key, "limit=2&wait=60&after="+second.Next)
	none := w.events(eventsPath, key, "after="+third.Next)
	got := slices.Concat(first.subjects(), second.subjects(), third.subjects())
	if !slices.Equal(got, []string{"s0", "s1", "s2", "s3", "s4"}) || len(none.Events) != 0 || none.Next != third.Next {
		t.Errorf("%v, then %+v", got, none)
	}
	if now := w.events(eventsPath, key, "after=now"); len(now.Events) != 0 || now.Next != third.Next {
		t.Errorf("the present is %+v, want %s", now, third.Next)
	}
	for path, want := range map[string][]string{
		"/api/v1/inboxes/" + one + "/events": {"s0", "s2", "s4"},
		"/api/v1/inboxes/" + two + "/events": {"s1", "s3"},
	} {
		if h := w.events(path, key, ""); !slices.Equal(h.subjects(), want) || h.Next != third.Next {
			t.Errorf("%s: %+v", path, h)
		}
	}
}

// TestPagesOfEventsAreBounded: a page ends at 4 MiB with its cursor and has_more, and a stream
// continues after what it sent. Both are charged before they read, so no account exceeds its share.
func TestPagesOfEventsAreBounded(t *testing.T) {
	w, one, _, key := fleet(t)
	w.unbound = true // by the contract: the shape of a page does not depend on its size
	const events, size = 16, 300_000
	for n := range events {
		w.deliver(one, inbox.Receive{Subject: strconv.Itoa(n) + strings.Repeat("\x01", size/6)}) // six octets each in JSON
	}
	for _, path := range []string{eventsPath + "?limit=500", eventsPath + "?limit=500&wait=1", "/api/v1/inboxes/" + one + "/events?limit=500"} {
		after, seen, pages := "", 0, 0
		for more := true; more; pages++ {
			r := w.expect(200, w.call(methodGet, path+after, key, ""))
			if len(r.body) > 4<<20 {
				t.Fatalf("%s: %d octets", path, len(r.body))
			}
			var page struct {
				Events []json.RawMessage `json:"events"`
				More   bool              `json:"has_more"`
				Next   string            `json:"next"`
			}
			r.into(t, &page)
			seen, more, after = seen+len(page.Events), page.More, "&after="+page.Next
		}
		if seen != events || pages < 2 || pages > 3 {
			t.Errorf("%s: %d events on %d pages", path, seen, pages)
		}
	}
	if r := w.expect(200, w.call(methodGet, eventsPath+"?after=now", key, "")); r.object(t, "has_more").(bool) {
		t.Error(r.body)
	}
	w.accounts.lock.Lock()
	w.accounts.shown = 0
	w.accounts.lock.Unlock()
	s := w.stream(eventsPath, key, "Last-Event-ID", string(appendCursor(nil, w.idOf(alice), 0)))
	for n := range events {
		if data := s.next().data; !strings.Contains(data, `"subject":"`+strconv.Itoa(n)+`\u0001`) {
			t.Fatalf("event %d: %.200s", n, data)
		}
	}
	w.accounts.lock.Lock()
	shown := w.accounts.shown
	w.accounts.lock.Unlock()
	if shown != events {
		t.Errorf("the stream read %d events of %d", shown, events)
	}
	// Without room, nothing large is read.
	w.server.turnPatience = 10 * time.Millisecond
	all := w.server.answerBudget.NewCharge(w.idOf(alice))
	eventually(t, "what the pages held is given back", func() bool { return all.SetBytes(answersHeld / 2) })
	if r := w.expect(503, w.call(methodGet, eventsPath+"?limit=500", key, "")); r.header.Get("Retry-After") == "" {
		t.Error(r.header)
	}
	all.SetBytes(0)
	w.expect(200, w.call(methodGet, eventsPath+"?limit=500", key, ""))
	if _, held := w.server.HeldBytes(); held != 0 {
		eventually(t, "nothing is charged", func() bool { _, held = w.server.HeldBytes(); return held == 0 })
	}
}

// TestEventsAreTheBodiesOfWebhooks, byte for byte.
func TestEventsAreTheBodiesOfWebhooks(t *testing.T) {
	w, one, _, key := fleet(t)
	mail := mailOf("From: Shop <shop@example.com>\r\nSubject: Your <code>\r\n\r\nhi", inbox.OTP{Code: "482913"})
	w.deliver(one, mail)
	want := `{"events":[{"event":"message.received","inbox":"own@inbox.test","message_id":1,"from":"shop@example.com","received_at":"2026-11-21T12:00:00.000Z","subject":"Your <code>","otp":"482913"}],"next":"`
	r := w.expect(200, w.call(methodGet, eventsPath, key, ""))
	if !strings.HasPrefix(r.body, want) || r.header.Get("Content-Type") != "application/json" || r.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%s %v", r.body, r.header)
	}
}

func TestAnInboxKeyFollowsItsOwnInbox(t *testing.T) {
	w, one, two, _ := fleet(t)
	w.deliver(one, inbox.Receive{Subject: "mine"})
	w.deliver(two, inbox.Receive{Subject: "not mine"})
	key := w.keyFor(alice, one, account.ScopeRead)
	for _, path := range []string{eventsPath, "/api/v1/inboxes/" + one + "/events", "/api/inboxes/" + one + "/events"} {
		if h := w.events(path, key, ""); !slices.Equal(h.subjects(), []string{"mine"}) {
			t.Errorf("%s shows %v", path, h.subjects())
		}
	}
	w.accounts.DeleteInbox(t.Context(), w.idOf(alice), one)
	w.expect(403, w.call(methodGet, eventsPath, key, ""))
}

func TestEventsRefuse(t *testing.T) {
	w, _, _, key := fleet(t)
	bobs := w.events(eventsPath, w.key(bob, account.ScopeRead), "after=now").Next
	for query, detail := range map[string]string{
		"wait=61": "'wait' must be between 0 and 60", "limit=0": "'limit' must be between 1 and 500", "limit=501": "'limit' must be between 1 and 500",
		"after=7": "'after' is not a valid cursor", "after=NOW": "'after' is not a valid cursor", "after=" + bobs: "'after' is not a valid cursor",
	} {
		if r := w.expect(422, w.call(methodGet, eventsPath+"?"+query, key, "")); !strings.HasPrefix(r.detail(), "Invalid request: "+detail) {
			t.Errorf("%s: %s", query, r.detail())
		}
	}
	r := w.expect(422, w.call(methodGet, eventsPath, key, "", "Accept", "text/event-stream", "Last-Event-ID", "x"))
	if !strings.HasPrefix(r.detail(), "Invalid request: 'Last-Event-ID' is not a valid cursor") {
		t.Error(r.detail())
	}
	w.accounts.broken = errors.New("no disk")
	w.expect(500, w.call(methodGet, eventsPath, key, ""))
}

// TestCursorsBeyondWhatIsKept: a cursor that is too old resumes at the oldest event, and reports
// the gap. A cursor beyond the end, as after a restored backup, resumes at the end.
func TestCursorsBeyondWhatIsKept(t *testing.T) {
	w, one, _, key := fleet(t)
	for i := range 4 {
		w.deliver(one, inbox.Receive{Subject: fmt.Sprint("s", i)})
	}
	old := string(appendCursor(nil, w.idOf(alice), 1))
	w.accounts.forget(w.idOf(alice), 2)
	if h := w.events(eventsPath, key, "after="+old); !slices.Equal(h.subjects(), []string{"s2", "s3"}) || !h.Gap {
		t.Errorf("too old: %+v", h)
	}
	if h := w.events(eventsPath, key, "after="+string(appendCursor(nil, w.idOf(alice), 2))); h.Gap {
		t.Errorf("right before the oldest: %+v", h)
	}
	if h := w.events(eventsPath, key, ""); h.Gap {
		t.Errorf("nobody asked for more: %+v", h)
	}
	future := w.events(eventsPath, key, "after="+string(appendCursor(nil, w.idOf(alice), 99)))
	if now := w.events(eventsPath, key, "after=now"); len(future.Events) != 0 || future.Next != now.Next {
		t.Errorf("from the future: %+v", future)
	}
}

func TestPollForEventsWakes(t *testing.T) {
	w, one, two, key := fleet(t)
	all, mine := w.waiting(eventsPath+"?wait=60&after=now", key), w.waiting("/api/v1/inboxes/"+one+"/events?wait=60&after=now", key)
	w.awaitWaiters(2)
	w.deliver(two, inbox.Receive{Subject: "second"})
	var h happened
	w.answer(all).into(t, &h)
	if !slices.Equal(h.subjects(), []string{"second"}) {
		t.Errorf("the account's: %+v", h)
	}
	w.deliver(one, inbox.Receive{Subject: "first"})
	h = happened{}
	w.answer(mine).into(t, &h)
	if !slices.Equal(h.subjects(), []string{"first"}) {
		t.Errorf("the inbox's: %+v", h)
	}
	if now := w.events(eventsPath, key, "after=now"); h.Next != now.Next {
		t.Errorf("its cursor is %s, the end %s", h.Next, now.Next)
	}
}

// TestPollForEventsEnds with the position that it reached, after events of other inboxes.
func TestPollForEventsEnds(t *testing.T) {
	w, one, two, key := fleet(t)
	got := w.waiting("/api/v1/inboxes/"+one+"/events?wait=1&after=now", key)
	w.awaitWaiters(1)
	w.deliver(two, inbox.Receive{Subject: "second"})
	var h happened
	r := w.answer(got)
	r.into(t, &h)
	if now := w.events(eventsPath, key, "after=now"); r.status != 200 || len(h.Events) != 0 || h.Next != now.Next {
		t.Errorf("%d %+v, the end is %s", r.status, h, now.Next)
	}
}

// TestEndsOfCredentialsEndWaits: every kind of wait ends immediately, without any event.
func TestEndsOfCredentialsEndWaits(t *testing.T) {
	w, one, _, _ := fleet(t)
	paths := []string{"/api/v1/inboxes/" + one + "/latest?wait=60", eventsPath + "?wait=60&after=now", "/api/v1/inboxes/" + one + "/events?wait=60&after=now"}
	for name, c := range map[string]struct {
		token func() string
		end   func(token string)
	}{
		"key revoked": {
			func() string { return w.key(alice, account.ScopeRead) },
			func(token string) {
				w.accounts.mu.RLock()
				id := w.accounts.principals[token].KeyID
				w.accounts.mu.RUnlock()
				w.accounts.RevokeKey(context.Background(), w.idOf(alice), id)
			},
		},
		"session logged out": {
			func() string { return w.signUpSession(alice) },
			func(token string) { w.expect(200, w.call(methodPost, "/api/auth/logout", token, "")) },
		},
		"key expired": {
			func() string {
				token := w.key(alice, account.ScopeRead)
				w.accounts.principals[token].ExpiresAt = w.now().Add(300 * time.Millisecond)
				return token
			},
			func(string) { w.advance(300 * time.Millisecond) },
		},
		"account moved": {
			func() string { return w.key(alice, account.ScopeRead) },
			func(token string) {
				w.accounts.mu.RLock()
				defer w.accounts.mu.RUnlock()
				w.accounts.principals[token].MarkMoved()
			},
		},
	} {
		status, detail := 401, "A valid API key is required"
		if name == "account moved" {
			status, detail = 503, "This data is being moved to another server, try again in a moment"
		}
		token := c.token()
		var answers []<-chan reply
		for _, p := range paths {
			answers = append(answers, w.waiting(p, token))
		}
		stream := w.stream(eventsPath, token)
		w.awaitWaiters(int64(len(paths)))
		began := time.Now()
		c.end(token)
		for i, got := range answers {
			if r := w.answer(got); r.status != status || r.detail() != detail || (status == 503) != (r.header.Get("Retry-After") != "") {
				t.Errorf("%s: %s: %d %s", name, paths[i], r.status, r.body)
			}
		}
		if rest := stream.rest(); strings.Contains(rest, "data:") {
			t.Errorf("%s: the stream said %q", name, rest)
		}
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("%s: noticed after %v", name, took)
		}
	}
}

func TestTheEndOfAnInboxEndsWaits(t *testing.T) {
	w, one, two, key := fleet(t)
	poll := w.waiting("/api/v1/inboxes/"+one+"/events?wait=60&after=now", key)
	stream, others := w.stream("/api/v1/inboxes/"+one+"/events", key), w.stream(eventsPath, key)
	w.awaitWaiters(1)
	w.accounts.DeleteInbox(t.Context(), w.idOf(alice), one)
	if r := w.answer(poll); r.status != 403 || r.detail() != "No inbox own@inbox.test for this API key" {
		t.Errorf("%d %s", r.status, r.body)
	}
	if rest := stream.rest(); strings.Contains(rest, "data:") {
		t.Errorf("the stream said %q", rest)
	}
	w.deliver(two, inbox.Receive{Subject: "goes on"})
	if e := others.next(); !strings.Contains(e.data, "goes on") {
		t.Errorf("the account's stream said %+v", e)
	}
}

// TestParkedConnectionsAreKept: after a poll that waited, others follow on its connection, each
// with its own request id, including polls that the wire responds to.
func TestParkedConnectionsAreKept(t *testing.T) {
	w, one, _, key := fleet(t)
	c := w.dial()
	ids := map[string]bool{}
	for n := range 5 {
		c.send("GET /api/v1/inboxes/%s/latest?after=%d&wait=60 HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\n\r\n", one, n, key)
		w.awaitWaiters(1)
		w.deliver(one, inbox.Receive{Subject: fmt.Sprint("s", n)})
		for _, plain := range []bool{false, true} {
			if plain {
				c.send("GET /api/v1/inboxes/%s/latest HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\n\r\n", one, key)
			}
			r := c.answer()
			if r.status != 200 || !strings.Contains(r.body, fmt.Sprintf(`"subject":"s%d"`, n)) || r.header.Get("Date") == "" || r.header.Get("ETag") == "" {
				t.Fatalf("round %d: %d %v %s", n, r.status, r.header, r.body)
			}
			ids[r.header.Get("X-Request-Id")] = true
		}
	}
	if len(ids) != 10 {
		t.Errorf("request ids %v", ids)
	}
	c.send("GET /api/v1/inboxes/%s/latest?after=5&wait=60 HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\nConnection: close\r\n\r\n", one, key)
	w.awaitWaiters(1)
	w.deliver(one, inbox.Receive{Subject: "last"})
	if r := c.answer(); r.status != 200 || !c.ended() {
		t.Errorf("%d: the connection goes on", r.status)
	}
}

// TestWaitersAndMailAtOnce: many connections wait, get a response and wait again.
func TestWaitersAndMailAtOnce(t *testing.T) {
	const clients, rounds = 64, 20
	w, one, _, key := fleet(t)
	var all sync.WaitGroup
	for range clients {
		c := w.dial()
		all.Go(func() {
			for n := 0; n < rounds; {
				c.send("GET /api/v1/inboxes/%s/latest?after=%d&wait=60&fields=id HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\n\r\n", one, n, key)
				r := c.answer()
				var a struct{ Email struct{ ID int } }
				if r.into(t, &a); r.status != 200 || a.Email.ID <= n {
					t.Errorf("after %d: %d %s", n, r.status, r.body)
					return
				}
				n = a.Email.ID
			}
		})
	}
	for range rounds {
		w.awaitWaiters(1)
		w.deliver(one, inbox.Receive{Subject: "x"})
	}
	all.Wait()
}

func TestCursor(t *testing.T) {
	me, other := account.ID{1}, account.ID{2}
	for _, seq := range []uint64{0, 1, 255, 1 << 40, 1<<64 - 1} {
		c := string(appendCursor(nil, me, seq))
		if got, ok := parseCursor(me, c); !ok || got != seq || url.QueryEscape(c) != c {
			t.Errorf("%d became %q and %d %v", seq, c, got, ok)
		}
		if _, ok := parseCursor(other, c); ok {
			t.Errorf("%q is another account's too", c)
		}
	}
	if c := string(appendCursor(nil, account.ID{1, 2, 3}, 1000)); c != cursorGolden {
		t.Errorf("the form of cursors changed: %s", c)
	}
}

// cursorGolden is a cursor that clients may have stored since the first release.
const cursorGolden = "AQAAAAAAAAPozGjx2w"

// FuzzCursor: every input is refused or is the canonical form of a number.
func FuzzCursor(f *testing.F) {
	id := account.ID{9}
	f.Add(string(appendCursor(nil, id, 12)))
	f.Add("now")
	f.Add(base64.RawURLEncoding.EncodeToString(make([]byte, cursorBytes)))
	f.Fuzz(func(t *testing.T, s string) {
		if seq, ok := parseCursor(id, s); ok && string(appendCursor(nil, id, seq)) != s {
			t.Errorf("%q is taken for %d", s, seq)
		}
	})
}

// TestWhoAcceptsAStream: the type in any case, with any weight above zero, in any of the fields.
func TestWhoAcceptsAStream(t *testing.T) {
	for accept, want := range map[string]bool{
		"text/event-stream": true, "TEXT/Event-Stream": true, "application/json, text/event-stream": true, "text/event-stream;q=0.1": true,
		"text/event-stream ; charset=utf-8 ; Q=1.000": true, "application/json;q=0,text/event-stream": true, "text/event-stream;q=": true,
		"": false, "*/*": false, "text/*": false, "application/json": false, "text/event-streams": false, "x-text/event-stream": false, ",;,q=0": false,
		"text/event-stream;q=0": false, "text/event-stream; q=0.000": false, "Text/Event-Stream;Q=0.": false, "application/json, text/event-stream;charset=utf-8;q=0": false,
		"text/event-stream;q=0, */*": false,
	} {
		var h fasthttp.RequestHeader
		h.Set("Accept", accept)
		if got := acceptsValue(&h, headerAccept, "text/event-stream"); got != want {
			t.Errorf("%q: %v", accept, got)
		}
		h.Set("Accept", "application/json")
		h.Add("Accept", accept)
		if got := acceptsValue(&h, headerAccept, "text/event-stream"); got != want {
			t.Errorf("in the second field %q: %v", accept, got)
		}
	}
	w, _, _, key := fleet(t)
	for accept, want := range map[string]string{"TEXT/Event-Stream": "text/event-stream", "application/json, text/event-stream;q=0": "application/json"} {
		c := w.dial()
		c.send("GET %s?wait=0 HTTP/1.1\r\nHost: x\r\nAccept: %s\r\nAuthorization: Bearer %s\r\n\r\n", eventsPath, accept, key)
		if resp, err := nethttp.ReadResponse(c.in, nil); err != nil || resp.Header.Get("Content-Type") != want {
			t.Errorf("%s: %v %v", accept, resp, err)
		}
	}
}

// FuzzAccepts: an accepted value is contained in the field, and not only with a weight of zero.
func FuzzAccepts(f *testing.F) {
	f.Add("text/event-stream;q=0.5, */*")
	f.Add("a;q=,;;=,\"")
	f.Fuzz(func(t *testing.T, field string) {
		var h fasthttp.RequestHeader
		h.Set("Accept", field)
		got := acceptsValue(&h, headerAccept, "text/event-stream")
		if got && !strings.Contains(strings.ToLower(field), "text/event-stream") {
			t.Errorf("%q", field)
		}
		if h.Set("Accept", field+",text/event-stream;q=0.00"); acceptsValue(&h, headerAccept, "text/event-stream") != got {
			t.Errorf("%q with a weight of zero at its end", field)
		}
		if h.Set("Accept", field+",text/event-stream;q=1"); !acceptsValue(&h, headerAccept, "text/event-stream") {
			t.Errorf("%q with a weight of one at its end", field)
		}
	})
}
