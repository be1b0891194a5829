package http

import (
	"bufio"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"inboxd/internal/base/address"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
)

// TestBadEscapesAreNoAddress sends what no HTTP client would send.
func TestBadEscapesAreNoAddress(t *testing.T) {
	w, _, key, _ := lone(t)
	for _, address := range []string{"own%", "own%4", "own%zz@inbox.test", "%", "own@inbox.test%", "own\xff@inbox.test", "own\x80"} {
		got := w.raw("GET /api/v1/inboxes/" + address + "/latest HTTP/1.1\r\nHost: x\r\nX-API-Key: " + key + "\r\n\r\n")
		if !strings.HasPrefix(got, "HTTP/1.1 403 ") || !strings.Contains(got, `{"detail":"No inbox `) || !strings.Contains(got, `,"code":"no_inbox"}`) {
			t.Errorf("%q: %s", address, got)
		}
	}
}

// FuzzPath requests arbitrary paths with a key for one inbox: the response is never 500, and never
// a message unless the path has that inbox's address.
func FuzzPath(f *testing.F) {
	w := prepare(f)
	w.signUp(alice)
	own, second := w.newInbox(alice, "own"), w.newInbox(alice, "second")
	w.deliver(own, inbox.Receive{Subject: "mine"})
	w.deliver(second, inbox.Receive{Subject: "secret"})
	key := w.keyFor(alice, own, account.ScopeFull)
	for _, s := range []string{
		own + "/latest", second + "/latest", "own%40inbox.test/messages/1", "OWN@INBOX.TEST/messages?fields=id", "x/../" + second + "/latest",
		own + "%2f..%2fsecond@inbox.test/latest", "../inboxes/second@inbox.test/latest", own + "/messages/1/raw", own + "/messages/-1",
		"own+%00@inbox.test/latest", "//" + second + "/latest", own + "/latest?after=1&wait=0&q=%zz", "%73econd@inbox.test/latest",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, tail string) {
		if strings.Contains(tail, "wait") { // a long poll would only take time
			return
		}
		var ctx fasthttp.RequestCtx
		ctx.Init2(&net.TCPConn{}, nil, false)
		sent := "GET /api/v1/inboxes/" + tail + " HTTP/1.1\r\nHost: x\r\nX-API-Key: " + key + "\r\n\r\n"
		if ctx.Request.Header.Read(bufio.NewReader(strings.NewReader(sent))) != nil {
			return
		}
		w.server.handleRequest(&ctx)
		body := string(ctx.Response.Body())
		if ctx.Response.StatusCode() >= 500 || strings.Contains(body, "secret") {
			t.Fatalf("%q: %d %s", tail, ctx.Response.StatusCode(), body)
		}
		if strings.Contains(body, "mine") && !addresses(tail, own) {
			t.Fatalf("%q shows the mail of %s", tail, own)
		}
	})
}

// addresses reports whether the first segment of a path means the address own.
func addresses(tail, own string) bool {
	segment, _, _ := strings.Cut(tail, "/")
	decoded, err := url.PathUnescape(segment)
	canonical, ok := address.CanonicalInbox(decoded)
	return err == nil && ok && address.WithoutTag(canonical) == own
}
