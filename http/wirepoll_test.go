package http

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	nethttp "net/http"
	"strings"
	"testing"
	"time"

	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
)

// wireWorld is a server with one rendered message, and the plain poll for it.
func wireWorld(t testing.TB) (w *world, poll string) {
	w = start(t)
	w.signUp(alice)
	address, key := w.newInbox(alice, "own"), w.key(alice, account.ScopeRead)
	w.deliver(address, inbox.Receive{Subject: "Your code", Content: &inbox.Content{OTP: inbox.OTP{Code: "123456"}}})
	return w, "GET /api/v1/inboxes/" + address + "/latest HTTP/1.1\r\nHost: x\r\nX-API-Key: " + key + "\r\n\r\n"
}

// speaker holds one connection and sends requests on it in sequence.
type speaker struct {
	t testing.TB
	net.Conn
	r *bufio.Reader
}

func (w *world) speak(t testing.TB) *speaker {
	t.Helper()
	c, err := net.Dial("tcp", w.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(20 * time.Second))
	return &speaker{t, c, bufio.NewReader(c)}
}

func (s *speaker) ask(request string) (*nethttp.Response, string) {
	s.t.Helper()
	if _, err := io.WriteString(s, request); err != nil {
		s.t.Fatal(err)
	}
	return s.answer()
}

func (s *speaker) answer() (*nethttp.Response, string) {
	s.t.Helper()
	resp, err := nethttp.ReadResponse(s.r, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp, string(body)
}

// TestWirePollAnswersAsTheRouterDoes sends each request twice: first on a new connection, where
// fasthttp parses it, and again after a poll, where the wire may respond. Both responses must be
// equal.
func TestWirePollAnswersAsTheRouterDoes(t *testing.T) {
	w, poll := wireWorld(t)
	session := w.signUp(bob)
	edit := func(old, new string) string { return strings.Replace(poll, old, new, 1) }
	head := func(field string) string { return edit("\r\n\r\n", "\r\n"+field+"\r\n\r\n") }
	_, field, _ := strings.Cut(strings.TrimSpace(poll), "Host: x\r\n")
	second := w.newInbox(alice, "second")
	key := func(of string) string { return w.keyFor(alice, of, account.ScopeRead) }
	inside := func(key string) string { return strings.Replace(keyed(poll, key), "/v1", "", 1) }
	for name, request := range map[string]string{
		"plain":                poll,
		"lower-case names":     edit("X-API-Key", "x-api-key"),
		"space before value":   edit("Host: x", "Host:   x "),
		"etag known":           head(`If-None-Match: "1-new"`),
		"etag in a list":       head(`If-None-Match: "7-new", W/"1-new"`),
		"etag of another":      head(`If-None-Match: "0"`),
		"any etag":             head(`If-None-Match: *`),
		"agent and accept":     head("User-Agent: a/1\r\nAccept: */*\r\nAccept-Encoding: gzip"),
		"keep-alive":           head("Connection: keep-alive"),
		"close":                head("Connection: close"),
		"unknown key":          edit("svc_", "xvc_"),
		"empty key":            edit("X-API-Key: ", "X-API-Key:\r\nX-Not: "),
		"no key":               edit("X-API-Key", "X-Not-Key"),
		"key twice":            edit("Host: x", "Host: x\r\nX-API-Key: other"),
		"bearer beside key":    head("Authorization: Bearer other"),
		"no host":              edit("Host: x\r\n", ""),
		"http/1.0":             edit("HTTP/1.1", "HTTP/1.0"),
		"foreign inbox":        edit("own@", "nobody@"),
		"query":                edit("/latest", "/latest?after=1"),
		"received":             edit("/latest", "/latest?direction=in"),
		"received, escaped":    edit("/latest", "/latest?direction=i%6e"),
		"received, and more":   edit("/latest", "/latest?direction=in&after=1"),
		"received, and empty":  edit("/latest", "/latest?direction=in&"),
		"received, twice":      edit("/latest", "/latest?direction=in?direction=in"),
		"sent":                 edit("/latest", "/latest?direction=out"),
		"no such direction":    edit("/latest", "/latest?direction=up"),
		"received, of a tag":   strings.Replace(edit("/latest", "/latest?direction=in"), "own@", "own+x@", 1),
		"received, inside":     strings.Replace(inside(key("own@inbox.test")), "/latest", "/latest?direction=in", 1),
		"plus in a query":      edit("/latest", "/latest?to=own+tag@inbox.test"),
		"number in a query":    edit("/latest", "/latest?after=0.0&wait=0.0"),
		"coded, without body":  head("Content-Encoding: gzip"),
		"escaped":              edit("own@", "own%40"),
		"capital":              edit("own@", "Own@"),
		"another method":       edit("GET", "PUT"),
		"a body":               head("Content-Length: 2") + "{}",
		"a chunked body":       head("Transfer-Encoding: chunked") + "0\r\n\r\n",
		"folded field":         head("X-A: b\r\n c"),
		"space before colon":   head("X-A : b"),
		"blank in a name":      head("X A: b"),
		"tab in a name":        head("X\tA: b"),
		"bracket in a name":    head("X(A): b"),
		"control in a name":    head("X\x01A: b"),
		"DEL in a name":        head("X\x7fA: b"),
		"empty name":           head(": b"),
		"odd but good name":    head("X.A!~: b"),
		"host with a port":     edit("Host: x", "Host: x.test:8080"),
		"host, empty port":     edit("Host: x", "Host: x:"),
		"host, port alone":     edit("Host: x", "Host: :x"),
		"host, number alone":   edit("Host: x", "Host: :80"),
		"host, letters a port": edit("Host: x", "Host: x:y"),
		"host, two ports":      edit("Host: x", "Host: x:1:2"),
		"host of IPv6":         edit("Host: x", "Host: [::1]:8080"),
		"host, open bracket":   edit("Host: x", "Host: [::1"),
		"host, bracket within": edit("Host: x", "Host: x]"),
		"empty host":           edit("Host: x", "Host:"),
		"trailer":              head("Transfer-Encoding: chunked") + "0\r\nX-API-Key: other\r\n\r\n",
		"key in the trailer":   strings.Replace(edit("X-API-Key: ", "Transfer-Encoding: chunked\r\nX-Not: "), "\r\n\r\n", "\r\n\r\n0\r\n"+field+"\r\n\r\n", 1),
		"line without colon":   head("nonsense"),
		"bare LF":              edit("Host: x\r\n", "Host: x\n"),
		"CR in a value":        head("X-A: b\rc"),
		"NUL in a value":       head("X-A: b\x00c"),
		"leading empty line":   "\r\n" + poll,
		"absolute form":        edit("GET /", "GET http://x/"),
		"two spaces":           edit("GET /", "GET  /"),
		"tag":                  edit("own@", "own+x@"),
		"slash":                edit("own@", "x/own@"),
		"two ats":              edit("own@", "own@@"),
		"dots":                 edit("own@", "../inboxes/own@"),
		"another path":         edit("/latest", "/messages"),
		"bearer":               edit("X-API-Key: ", "Authorization: Bearer "),
		"bearer in capitals":   edit("X-API-Key: ", "Authorization: BEARER "),
		"empty bearer":         edit("X-API-Key: ", "Authorization: Bearer\r\nX-Not: "),
		"another scheme":       head("Authorization: Basic abc"),
		"bearer of a stranger": edit("X-API-Key: ", "Authorization: Bearer x"),
		"http/1.1 lower-case":  edit("HTTP/1.1", "http/1.1"),
		"inbox key":            keyed(poll, key("own@inbox.test")),
		"inbox key, inside":    inside(key("own@inbox.test")),
		"inbox key, 304":       strings.Replace(inside(key("own@inbox.test")), "Host", "If-None-Match: \"1-new\"\r\nHost", 1),
		"key of another":       keyed(poll, key(second)),
		"key of another, in":   inside(key(second)),
		"account key, inside":  edit("/v1", ""),
		"key may only send":    keyed(poll, w.key(alice, account.ScopeSend)),
		"stranger's key":       keyed(poll, w.key(bob, account.ScopeFull)),
		"stranger's session":   edit("X-API-Key: ", "Authorization: Bearer "+session+"\r\nX-Other: "),
	} {
		t.Run(name, func(t *testing.T) {
			first, firstBody := w.speak(t).ask(request)
			later := w.speak(t)
			if resp, _ := later.ask(poll); resp.StatusCode != 200 {
				t.Fatal(resp.Status)
			}
			second, secondBody := later.ask(request)
			if !second.Close { // again: the first may have opened the shortcut
				second, secondBody = later.ask(request)
			}
			if first.StatusCode != second.StatusCode || firstBody != secondBody || first.Close != second.Close {
				t.Errorf("on a new connection %s %v %s\nafter a poll %s %v %s", first.Status, first.Close, firstBody, second.Status, second.Close, secondBody)
			}
			for _, h := range []nethttp.Header{first.Header, second.Header} {
				h.Del("Date")
				h.Del("X-Request-Id")
			}
			if a, b := headerText(first.Header), headerText(second.Header); a != b {
				t.Errorf("on a new connection\n%safter a poll\n%s", a, b)
			}
		})
	}
}

// keyed is the poll with another key.
func keyed(poll, key string) string {
	before, rest, _ := strings.Cut(poll, "X-API-Key: ")
	_, after, _ := strings.Cut(rest, "\r\n")
	return before + "X-API-Key: " + key + "\r\n" + after
}

func headerText(h nethttp.Header) string {
	var b bytes.Buffer
	_ = h.Write(&b) // a buffer accepts every write
	return b.String()
}

// TestWirePollIsTaken checks that the wire really responds, to both spellings alike, and what it
// leaves to fasthttp.
func TestWirePollIsTaken(t *testing.T) {
	w, poll := wireWorld(t)
	c := w.speak(t)
	c.ask(poll) // rendered by fasthttp
	c.ask(poll) // opens the shortcut
	received := strings.Replace(poll, "/latest", "/latest?direction=in", 1)
	before := w.accounts.asked.Load()
	ids := map[string]bool{}
	for _, request := range []string{poll, received, poll, received, received} {
		resp, _ := c.ask(request)
		ids[resp.Header.Get("X-Request-Id")] = true
		if resp.Header.Get("Date") == "" {
			t.Error("no Date")
		}
	}
	if asked := w.accounts.asked.Load() - before; asked != 0 || len(ids) != 5 { // a route authenticates each time
		t.Errorf("%d of 5 polls went by a route; %d request ids", asked, len(ids))
	}

	// Pipelined requests go to fasthttp together, and all get responses in order.
	io.WriteString(c, poll+poll+strings.Replace(poll, "own@", "nobody@", 1))
	for _, want := range []int{200, 200, 403} {
		if resp, _ := c.answer(); resp.StatusCode != want {
			t.Errorf("pipelined: %s, want %d", resp.Status, want)
		}
	}
	// A request that arrives in pieces also goes to fasthttp.
	io.WriteString(c, poll[:20])
	io.WriteString(c, poll[20:])
	if resp, _ := c.answer(); resp.StatusCode != 200 {
		t.Errorf("in pieces: %s", resp.Status)
	}
}

func TestWirePollSeesRevocationAndExpiry(t *testing.T) {
	w, poll := wireWorld(t)
	c := w.speak(t)
	c.ask(poll)
	c.ask(poll)
	w.advance(25 * time.Hour)
	if _, body := c.ask(poll); !strings.Contains(body, `{"email":null}`) {
		t.Errorf("an expired mail is answered: %s", body)
	}
	for _, p := range w.accounts.principals {
		p.Revoke()
	}
	if resp, _ := c.ask(poll); resp.StatusCode != 401 {
		t.Errorf("a revoked key: %s", resp.Status)
	}
}

// openShortcut polls until no poll authenticates any more: rendered, allowed, then by the shortcut.
func (w *world) openShortcut(t *testing.T, c *speaker, poll string) {
	t.Helper()
	for i := range 4 {
		before := w.accounts.asked.Load()
		if resp, body := c.ask(poll); resp.StatusCode != 200 {
			t.Fatal(resp.Status, body)
		}
		if asked := w.accounts.asked.Load() > before; asked != (i < 2) {
			t.Fatalf("poll %d: asked %v", i+1, asked)
		}
	}
}

// TestShortcutsEnd tries, after a poll has opened the shortcut, everything that makes its response
// wrong or revokes the access of its reader.
func TestShortcutsEnd(t *testing.T) {
	type change struct {
		name   string
		do     func(w *world, key string) // before the next poll
		status int
		body   string
	}
	const address = "own@inbox.test"
	for _, c := range []change{
		{"nothing", func(*world, string) {}, 200, `"subject":"Your code"`},
		{"newer mail", func(w *world, _ string) { w.deliver(address, inbox.Receive{Subject: "Newer"}) }, 200, `"subject":"Newer"`},
		{"read mark", func(w *world, key string) {
			w.expect(200, w.call(methodPost, "/api/v1/inboxes/"+address+"/messages/1/read", key, ""))
		}, 200, `"is_read":true`},
		{"message deleted", func(w *world, key string) {
			w.expect(200, w.call(methodDelete, "/api/v1/inboxes/"+address+"/messages/1", key, ""))
		}, 200, `{"email":null}`},
		{"burned", func(w *world, key string) {
			w.expect(200, w.call(methodPost, "/api/v1/inboxes/"+address+"/burn", key, ""))
		}, 200, `{"email":null}`},
		{"inbox deleted", func(w *world, key string) { w.expect(200, w.call(methodDelete, "/api/v1/inboxes/"+address, key, "")) }, 403, "No inbox own@inbox.test"},
		{"message expired", func(w *world, _ string) { w.advance(25 * time.Hour) }, 200, `{"email":null}`},
		{"key expired", func(w *world, key string) { w.accounts.principals[key].ExpiresAt = w.now() }, 401, "A valid API key"},
		{"key revoked", func(w *world, key string) { w.accounts.principals[key].Revoke() }, 401, "A valid API key"},
		{"key forgotten, then revoked", func(w *world, key string) {
			w.accounts.principals[key].MarkDropped()
			delete(w.accounts.principals, key) // so that a revocation finds no principal
		}, 401, "A valid API key"},
	} {
		for _, wire := range []bool{true, false} {
			w, poll := wireWorld(t)
			full := w.key(alice, account.ScopeFull)
			poll = keyed(poll, full)
			conn := w.speak(t)
			w.openShortcut(t, conn, poll)
			c.do(w, full)
			if !wire {
				conn = w.speak(t) // fasthttp reads the first request of a connection
			}
			if resp, body := conn.ask(poll); resp.StatusCode != c.status || !strings.Contains(body, c.body) {
				t.Errorf("%s (wire %v): %s %s", c.name, wire, resp.Status, body)
			}
		}
	}
}

// TestShortcutsAreNobodyElses: even if the response is cached, every other credential passes all
// checks.
func TestShortcutsAreNobodyElses(t *testing.T) {
	w, poll := wireWorld(t)
	w.signUp(bob)
	other := w.newInbox(alice, "other")
	conn := w.speak(t)
	for name, c := range map[string]struct {
		request string
		status  int
	}{
		"another account":     {keyed(poll, w.key(bob, account.ScopeFull)), 403},
		"another inbox's key": {keyed(poll, w.keyFor(alice, other, account.ScopeRead)), 403},
		"another permission":  {keyed(poll, w.key(alice, account.ScopeSend)), 403},
		"unknown":             {keyed(poll, "svc_live_nobody"), 401},
		"account key inside":  {strings.Replace(poll, "/v1", "", 1), 403},
	} {
		for range 3 {
			if resp, _ := conn.ask(poll); resp.StatusCode != 200 {
				t.Fatal(resp.Status)
			}
			if resp, body := conn.ask(c.request); resp.StatusCode != c.status || strings.Contains(body, "123456") {
				t.Errorf("%s: %s %s", name, resp.Status, body)
			}
		}
	}
}

// TestAPollByShortcutCountsAsAUse of the credential and of the inbox.
func TestAPollByShortcutCountsAsAUse(t *testing.T) {
	w, poll := wireWorld(t)
	conn := w.speak(t)
	w.openShortcut(t, conn, poll)
	w.advance(time.Hour)
	conn.ask(poll)
	_, key, _ := strings.Cut(poll, "X-API-Key: ")
	p := w.accounts.principals[strings.TrimSpace(key)]
	view, err := w.inboxes.View(context.Background(), "own@inbox.test")
	if err != nil || p.LastUsedUnix.Load() != w.now().Unix() || view.PolledAt() != w.now().Unix() {
		t.Errorf("key used at %d, inbox at %d, now %d; %v", p.LastUsedUnix.Load(), view.PolledAt(), w.now().Unix(), err)
	}
}
