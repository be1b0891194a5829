package http

import (
	"bufio"
	"net"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"inboxd/internal/account"
	"inboxd/internal/inbox"
	"inboxd/internal/message"
)

// prepared returns a server with one mail rendered, and the context of a poll for it, as
// fasthttp hands it over.
func prepared(t testing.TB) (*world, *fasthttp.RequestCtx) {
	w := prepare(t)
	w.signUp(alice)
	address, key := w.newInbox(alice, "own"), w.key(alice, account.ScopeRead)
	w.deliver(address, inbox.Receive{Subject: "Your code", Content: &inbox.Content{
		Doc: message.Document{Text: strings.Repeat("text ", 400)}, OTP: inbox.OTP{Code: "123456"},
	}})
	mine, theirs := net.Pipe()
	t.Cleanup(func() { mine.Close(); theirs.Close() })
	ctx := &fasthttp.RequestCtx{}
	ctx.Init2(&conn{Conn: mine, number: 7}, silent{}, false)
	sent := "GET /api/v1/inboxes/" + address + "/latest HTTP/1.1\r\nHost: localhost:8080\r\nUser-Agent: agent/1.0\r\n" +
		"Accept: */*\r\nAccept-Encoding: gzip\r\nX-API-Key: " + key + "\r\n\r\n"
	if err := ctx.Request.Header.Read(bufio.NewReader(strings.NewReader(sent))); err != nil {
		t.Fatal(err)
	}
	w.server.handle(ctx) // renders
	if ctx.Response.StatusCode() != 200 {
		t.Fatalf("status %d: %s", ctx.Response.StatusCode(), ctx.Response.Body())
	}
	return w, ctx
}

// TestThePollAllocatesNothing holds for the whole of our code, request id included.
func TestThePollAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for tag, status := range map[string]int{"": 200, `"1-new"`: 304} {
		w, ctx := prepared(t)
		if tag != "" {
			ctx.Request.Header.Set("If-None-Match", tag)
		}
		allocs := testing.AllocsPerRun(200, func() {
			ctx.Response.Reset()
			w.server.handle(ctx)
		})
		if ctx.Response.StatusCode() != status {
			t.Fatalf("status %d, want %d", ctx.Response.StatusCode(), status)
		}
		if allocs != 0 {
			t.Errorf("status %d: %v allocations per poll", status, allocs)
		}
		if len(ctx.Response.Header.Peek("X-Request-Id")) == 0 || !strings.Contains(ctx.Response.Header.String(), `ETag: "1-new"`) {
			t.Errorf("headers %s", ctx.Response.Header.String())
		}
	}
}

// TestThePollSharesItsBytes: the answer is the view's own, not a copy.
func TestThePollSharesItsBytes(t *testing.T) {
	w, ctx := prepared(t)
	kept := w.inboxes.Resident([]byte("own@inbox.test")).Rendered(w.now())
	ctx.Response.Reset()
	if !w.server.poll(ctx) {
		t.Fatal("not taken")
	}
	if &ctx.Response.Body()[0] != &kept.Body()[0] {
		t.Error("the answer is a copy")
	}
}

// TestThePollLeavesDoubtToTheOrdinaryRoad names what it must not answer.
func TestThePollLeavesDoubtToTheOrdinaryRoad(t *testing.T) {
	w, ctx := prepared(t)
	inboxKey := w.keyFor(alice, "second@inbox.test", account.ScopeRead)
	w.signUp(bob)
	ask := func(change func(*fasthttp.RequestHeader)) bool {
		var h fasthttp.RequestHeader
		ctx.Request.Header.CopyTo(&h)
		defer h.CopyTo(&ctx.Request.Header)
		change(&ctx.Request.Header)
		return w.server.poll(ctx)
	}
	if !ask(func(*fasthttp.RequestHeader) {}) {
		t.Fatal("the plain poll is not taken")
	}
	uri := func(s string) func(*fasthttp.RequestHeader) {
		return func(h *fasthttp.RequestHeader) { h.SetRequestURI(s) }
	}
	set := func(name, value string) func(*fasthttp.RequestHeader) {
		return func(h *fasthttp.RequestHeader) { h.Set(name, value) }
	}
	for name, change := range map[string]func(*fasthttp.RequestHeader){
		"query":          uri("/api/v1/inboxes/own@inbox.test/latest?wait=1"),
		"escape":         uri("/api/v1/inboxes/own%40inbox.test/latest"),
		"tag":            uri("/api/v1/inboxes/own+x@inbox.test/latest"),
		"capital":        uri("/api/v1/inboxes/Own@inbox.test/latest"),
		"slash":          uri("/api/v1/inboxes/x/own@inbox.test/latest"),
		"two ats":        uri("/api/v1/inboxes/own@@inbox.test/latest"),
		"absolute form":  uri("http://x/api/v1/inboxes/own@inbox.test/latest"),
		"dots":           uri("/api/v1/inboxes/../inboxes/own@inbox.test/latest"),
		"another path":   uri("/api/v1/inboxes/own@inbox.test/messages"),
		"no inbox":       uri("/api/v1/inboxes/nobody@inbox.test/latest"),
		"method":         func(h *fasthttp.RequestHeader) { h.SetMethod("POST") },
		"no key":         func(h *fasthttp.RequestHeader) { h.Del("X-API-Key") },
		"unknown key":    set("X-API-Key", "svc_live_x"),
		"two keys":       set("Authorization", "Bearer other"),
		"another scope":  set("X-API-Key", w.key(alice, account.ScopeSend)),
		"another inbox":  set("X-API-Key", inboxKey),
		"another holder": set("X-API-Key", w.key(bob, account.ScopeFull)),
	} {
		if ask(change) {
			t.Errorf("%s: taken", name)
		}
	}
	if !ask(set("Authorization", "Basic abc")) {
		t.Error("another scheme of Authorization is not for us")
	}
}

func BenchmarkPoll(b *testing.B) {
	w, ctx := prepared(b)
	b.ReportAllocs()
	for b.Loop() {
		ctx.Response.Reset()
		w.server.handle(ctx)
	}
}

// BenchmarkConstant is the same context and response with a constant answer: what a poll
// is measured against.
func BenchmarkConstant(b *testing.B) {
	_, ctx := prepared(b)
	body := append([]byte(nil), ctx.Response.Body()...)
	b.ReportAllocs()
	for b.Loop() {
		ctx.Response.Reset()
		ctx.Response.Header.SetContentTypeBytes(typeJSON)
		ctx.Response.SetBodyRaw(body)
	}
}

// loopback measures a server over real connections, eight at a time.
func loopback(b *testing.B, handler fasthttp.RequestHandler, w *world, path, key string) {
	if handler != nil {
		w.server.fast.Handler = handler
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	w.serve(ln)
	client := &fasthttp.HostClient{Addr: w.addr}
	defer client.CloseIdleConnections()
	b.SetParallelism(4)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		var req fasthttp.Request
		var resp fasthttp.Response
		req.SetRequestURI("http://" + w.addr + path)
		req.Header.Set("X-API-Key", key)
		for pb.Next() {
			if err := client.Do(&req, &resp); err != nil || resp.StatusCode() != 200 {
				b.Errorf("%v %d", err, resp.StatusCode())
				return
			}
		}
	})
}

func BenchmarkPollOverLoopback(b *testing.B) {
	w, ctx := prepared(b)
	loopback(b, nil, w, string(ctx.Request.Header.RequestURI()), string(ctx.Request.Header.Peek("X-API-Key")))
}

// BenchmarkConstantOverLoopback answers the same bytes without any of our code but conn.
func BenchmarkConstantOverLoopback(b *testing.B) {
	w, ctx := prepared(b)
	body := append([]byte(nil), ctx.Response.Body()...)
	constant := func(c *fasthttp.RequestCtx) { c.SetContentTypeBytes(typeJSON); c.Response.SetBodyRaw(body) }
	loopback(b, constant, w, "/", "")
}
