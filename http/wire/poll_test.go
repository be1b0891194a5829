package http

import (
	"bufio"
	"bytes"
	"io"
	"maps"
	"net"
	nethttp "net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"inboxd/internal/account"
	"inboxd/internal/inbox"
)

// wireWorld is a server with one rendered mail, and the plain poll for it.
func wireWorld(t testing.TB) (w *world, poll string) {
	w = start(t)
	w.signUp(alice)
	address, key := w.newInbox(alice, "own"), w.key(alice, account.ScopeRead)
	w.deliver(address, inbox.Receive{Subject: "Your code", Content: &inbox.Content{OTP: inbox.OTP{Code: "123456"}}})
	return w, "GET /api/v1/inboxes/" + address + "/latest HTTP/1.1\r\nHost: x\r\nX-API-Key: " + key + "\r\n\r\n"
}

// speaker holds one connection and sends requests on it one after the other.
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

// TestWirePollAnswersAsTheRouterDoes asks each request twice: first on a connection, where
// fasthttp reads it, and after a poll, where the wire may answer. Both must say the same.
func TestWirePollAnswersAsTheRouterDoes(t *testing.T) {
	w, poll := wireWorld(t)
	session := w.signUp(bob)
	edit := func(old, new string) string { return strings.Replace(poll, old, new, 1) }
	head := func(field string) string { return edit("\r\n\r\n", "\r\n"+field+"\r\n\r\n") }
	second := w.newInbox(alice, "second")
	key := func(of string) string { return w.keyFor(alice, of, account.ScopeRead) }
	inside := func(key string) string { return strings.Replace(keyed(poll, key), "/v1", "", 1) }
	for name, request := range map[string]string{
		"plain":               poll,
		"lower-case names":    edit("X-API-Key", "x-api-key"),
		"space before value":  edit("Host: x", "Host:   x "),
		"etag known":          head(`If-None-Match: "1-new"`),
		"etag in a list":      head(`If-None-Match: "7-new", W/"1-new"`),
		"etag of another":     head(`If-None-Match: "0"`),
		"any etag":            head(`If-None-Match: *`),
		"agent and accept":    head("User-Agent: a/1\r\nAccept: */*\r\nAccept-Encoding: gzip"),
		"keep-alive":          head("Connection: keep-alive"),
		"close":               head("Connection: close"),
		"unknown key":         edit("svc_", "xvc_"),
		"empty key":           edit("X-API-Key: ", "X-API-Key:\r\nX-Not: "),
		"no key":              edit("X-API-Key", "X-Not-Key"),
		"key twice":           edit("Host: x", "Host: x\r\nX-API-Key: other"),
		"bearer beside key":   head("Authorization: Bearer other"),
		"no host":             edit("Host: x\r\n", ""),
		"http/1.0":            edit("HTTP/1.1", "HTTP/1.0"),
		"foreign inbox":       edit("own@", "nobody@"),
		"query":               edit("/latest", "/latest?after=1"),
		"escaped":             edit("own@", "own%40"),
		"capital":             edit("own@", "Own@"),
		"another method":      edit("GET", "PUT"),
		"a body":              head("Content-Length: 2") + "{}",
		"a chunked body":      head("Transfer-Encoding: chunked") + "0\r\n\r\n",
		"folded field":        head("X-A: b\r\n c"),
		"space before colon":  head("X-A : b"),
		"line without colon":  head("nonsense"),
		"bare LF":             edit("Host: x\r\n", "Host: x\n"),
		"CR in a value":       head("X-A: b\rc"),
		"NUL in a value":      head("X-A: b\x00c"),
		"leading empty line":  "\r\n" + poll,
		"absolute form":       edit("GET /", "GET http://x/"),
		"two spaces":          edit("GET /", "GET  /"),
		"http/1.1 lower-case": edit("HTTP/1.1", "http/1.1"),
		"inbox key":           keyed(poll, key("own@inbox.test")),
		"inbox key, inside":   inside(key("own@inbox.test")),
		"inbox key, 304":      strings.Replace(inside(key("own@inbox.test")), "Host", "If-None-Match: \"1-new\"\r\nHost", 1),
		"key of another":      keyed(poll, key(second)),
		"key of another, in":  inside(key(second)),
		"account key, inside": edit("/v1", ""),
		"key may only send":   keyed(poll, w.key(alice, account.ScopeSend)),
		"stranger's key":      keyed(poll, w.key(bob, account.ScopeFull)),
		"stranger's session":  edit("X-API-Key: ", "Authorization: Bearer "+session+"\r\nX-Other: "),
	} {
		t.Run(name, func(t *testing.T) {
			first, firstBody := w.speak(t).ask(request)
			later := w.speak(t)
			if resp, _ := later.ask(poll); resp.StatusCode != 200 {
				t.Fatal(resp.Status)
			}
			second, secondBody := later.ask(request)
			if !second.Close { // once more: the first may have been the one that opened a shortcut
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
	_ = h.Write(&b) // a buffer takes all
	return b.String()
}

// TestWirePollIsTaken holds that the wire really answers, and what it leaves alone.
func TestWirePollIsTaken(t *testing.T) {
	w, poll := wireWorld(t)
	c := w.speak(t)
	c.ask(poll) // renders, by fasthttp
	reached := 0
	router := w.server.fast.Handler
	w.server.fast.Handler = func(ctx *fasthttp.RequestCtx) { reached++; router(ctx) }
	ids := map[string]bool{}
	for range 5 {
		resp, _ := c.ask(poll)
		ids[resp.Header.Get("X-Request-Id")] = true
		if resp.Header.Get("Date") == "" {
			t.Error("no Date")
		}
	}
	if reached != 0 || len(ids) != 5 {
		t.Errorf("fasthttp saw %d of 5 polls; %d request ids", reached, len(ids))
	}

	// Pipelined requests go to fasthttp together, and are all answered in order.
	io.WriteString(c, poll+poll+strings.Replace(poll, "own@", "nobody@", 1))
	for _, want := range []int{200, 200, 403} {
		if resp, _ := c.answer(); resp.StatusCode != want {
			t.Errorf("pipelined: %s, want %d", resp.Status, want)
		}
	}
	// So does one that comes in pieces.
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

// wirePolls are the plain polls of an inbox with one mail by all that may, rendered.
func wirePolls(t testing.TB) (w *world, c *conn, polls map[string][]byte) {
	w, ctx := prepared(t)
	const address = "own@inbox.test"
	account, own := string(ctx.Request.Header.Peek("X-API-Key")), w.keyFor(alice, address, account.ScopeRead)
	polls = map[string][]byte{}
	for name, p := range map[string][2]string{
		"account key":    {"/api/v1/inboxes/", account},
		"inbox key":      {"/api/v1/inboxes/", own},
		"per-inbox":      {"/api/inboxes/", own},
		"304":            {"/api/v1/inboxes/", account + "\r\nIf-None-Match: \"1-new\""},
		"304, inbox key": {"/api/inboxes/", own + "\r\nIf-None-Match: \"1-new\""},
	} {
		polls[name] = []byte("GET " + p[0] + address + "/latest HTTP/1.1\r\nHost: x\r\nX-API-Key: " + p[1] + "\r\n\r\n")
	}
	return w, &conn{Conn: discard{}, number: 7, server: w.server}, polls
}

// TestWirePollAllocatesNothing holds for the wire's whole work but the system call.
func TestWirePollAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	w, c, polls := wirePolls(t)
	for name, request := range polls {
		allocs := testing.AllocsPerRun(200, func() {
			if ok, err := w.server.answerPoll(c, request, time.Now()); !ok || err != nil {
				t.Fatal(name, ok, err)
			}
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations per poll", name, allocs)
		}
	}
}

func BenchmarkWirePoll(b *testing.B) {
	w, c, polls := wirePolls(b)
	for _, name := range slices.Sorted(maps.Keys(polls)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if ok, err := w.server.answerPoll(c, polls[name], time.Now()); !ok || err != nil {
					b.Fatal(ok, err)
				}
			}
		})
	}
}

// discard is a connection that takes everything.
type discard struct{ net.Conn }

func (discard) Write(p []byte) (int, error)      { return len(p), nil }
func (discard) SetWriteDeadline(time.Time) error { return nil }

// FuzzParsePoll: what the wire takes for a plain poll, fasthttp reads the same way, and
// finds nothing else in it.
func FuzzParsePoll(f *testing.F) {
	poll := "GET /api/v1/inboxes/a@b.c/latest HTTP/1.1\r\nHost: x\r\nX-API-Key: k\r\n\r\n"
	for _, seed := range []string{
		poll, strings.Replace(poll, "/v1", "", 1), strings.Replace(poll, "Host", "If-None-Match: \"1\"\r\nHost", 1), strings.Replace(poll, ": k", ":k\t", 1),
		poll + "x", strings.Replace(poll, "Host: x", "Host: x\r\nContent-Length: 1", 1), strings.Replace(poll, "\r\n", "\n", 1),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		q, ok := parsePoll(b)
		if !ok {
			return
		}
		r := bufio.NewReaderSize(bytes.NewReader(b), len(b)+16)
		var h fasthttp.RequestHeader
		if err := h.Read(r); err != nil {
			t.Fatalf("fasthttp refuses it: %v", err)
		}
		of, plain := pollOf(h.RequestURI())
		token, clear := credential(&h)
		switch {
		case r.Buffered() != 0:
			t.Error("something follows")
		case !plain || !bytes.Equal(of.address, q.address) || of.inside != q.inside:
			t.Errorf("path %q %v and %q %v", of.address, of.inside, q.address, q.inside)
		case !clear || !bytes.Equal(token, q.token):
			t.Errorf("token %q and %q", token, q.token)
		case !h.IsGet() || h.ConnectionClose() || h.ContentLength() > 0 || h.ContentLength() == -1:
			t.Errorf("method %s, close %v, length %d", h.Method(), h.ConnectionClose(), h.ContentLength())
		case ambiguous(h.RawHeaders()) != "":
			t.Error(ambiguous(h.RawHeaders()))
		case !bytes.Equal(h.PeekCanonical(headerIfNoneMatch), q.ifNoneMatch):
			t.Errorf("If-None-Match %q and %q", h.PeekCanonical(headerIfNoneMatch), q.ifNoneMatch)
		}
	})
}
