package http

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"inboxd/http/errorbody"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
)

func withMetrics(o *Options) {
	o.MetricsHandler = func(c *fasthttp.RequestCtx) {
		c.SetContentType("text/plain; version=0.0.4")
		c.SetBodyString("mails_total 1\n")
	}
}

func withChallenge(o *Options) {
	o.ChallengeHandler = func(c *fasthttp.RequestCtx) { c.SetBodyString("for " + string(c.Path())) }
}

func TestHealthAndReadiness(t *testing.T) {
	var notReady error
	w := start(t, func(o *Options) { o.CheckReady = func() error { return notReady } })
	w.expect(200, w.call(methodGet, "/healthz", "", ""))
	w.expect(200, w.call(methodGet, "/readyz", "", ""))
	notReady = errors.New("disk 7 is gone")
	r := w.expect(503, w.call(methodGet, "/readyz", "", ""))
	if strings.Contains(r.body, "disk 7") || r.header.Get("Retry-After") == "" {
		t.Errorf("answer %s %v", r.body, r.header)
	}
	if !strings.Contains(w.log.String(), "disk 7 is gone") {
		t.Error("the cause is not in the log")
	}
	w.expect(404, w.call(methodGet, "/metrics", "", ""))
}

func TestMetricsAreForLoopbackPeers(t *testing.T) {
	w := start(t, withMetrics)
	if r := w.expect(200, w.call(methodGet, "/metrics", "", "")); r.body != "mails_total 1\n" {
		t.Errorf("answer %q", r.body)
	}
	w.expect(403, w.call(methodGet, "/metrics", "", "", "X-Forwarded-For", "203.0.113.9"))
	for _, field := range []string{"Forwarded", "via", "X-REAL-IP", "X-Forwarded-For", "x-forwarded-host", "X-Forwarded-Proto", "X-Forwarded-Anything"} {
		w.expect(403, w.call(methodGet, "/metrics", "", "", field, "x"))
		w.expect(403, w.call(methodGet, "/metrics", "", "", field, "")) // an empty field also comes from a proxy
	}
	open := start(t, withMetrics, func(o *Options) { o.MetricsPublic = true })
	open.expect(200, open.call(methodGet, "/metrics", "", "", "X-Forwarded-For", "203.0.113.9"))
}

// hosts are Host fields, and whether they name the client's own machine.
var hosts = map[string]bool{
	"localhost": true, "localhost:8080": true, "LocalHost.": true, "app.localhost": true, "a.b.localhost:1": true, "127.0.0.1": true, "127.9.8.7:80": true,
	"[::1]": true, "[::1]:8080": true, "[::ffff:127.0.0.1]:80": true, "localhost:": true,
	"rebind.example": false, "rebind.example:8080": false, "localhost.example": false, "notlocalhost": false, "127.0.0.1.example": false, "128.0.0.1": false,
	"[::2]": false, "::1": false, "[127.0.0.1]": false, "[::1": false, "0.0.0.0": false, "10.0.0.1:80": false, "127.0.0.1:80:81": false, "localhost:x": false, "": false,
}

// TestHostsOfThisMachine: without this check, a page whose name resolves to this machine could read
// metrics and sign up.
func TestHostsOfThisMachine(t *testing.T) {
	local := start(t, withMetrics, func(o *Options) { o.LocalOnly, o.MetricsPublic = true, true })
	metered := start(t, withMetrics)
	public := start(t)
	calls := []string{"signup", "login", "password-reset", "password-reset/confirm"}
	for host, own := range hosts {
		if isLocalHost(host) != own {
			t.Errorf("%q: local %v", host, !own)
		}
		if host == "" || strings.Contains(host, "]") && !own || strings.Count(host, ":") == 2 && !own || host == "localhost:x" {
			continue // no client sends it, or no server accepts it
		}
		for _, w := range []*world{local, metered} {
			if r := w.call(methodGet, "/metrics", "", "", "Host", host); (r.status == 200) != own || !own && r.status != 403 {
				t.Errorf("metrics for %q: %d", host, r.status)
			}
		}
		for _, call := range calls {
			if r := local.call(methodPost, "/api/auth/"+call, "", "{}", "Host", host); !own && r.status != 403 {
				t.Errorf("%s for %q: %d %s", call, host, r.status, r.body)
			}
		}
		local.expect(200, local.call(methodGet, "/healthz", "", "", "Host", host))
	}
	for _, call := range calls { // only attempts from this machine were counted
		public.expect(422, public.call(methodPost, "/api/auth/"+call, "", "{}", "Host", "mail.example"))
	}
}

// TestFaultsBecomeStatuses walks the mapping, and checks that responses reveal no internals.
func TestFaultsBecomeStatuses(t *testing.T) {
	w := start(t)
	w.signUp(alice)
	address := w.newInbox(alice, "own")
	key := w.key(alice, account.ScopeFull)
	for kind := fault.Internal; kind <= fault.UnsupportedContent; kind++ {
		status := errorbody.Status(fault.New(kind, ""))
		cause := errors.New("secret cause")
		w.inboxes.breakWith(&fault.Error{Kind: kind, Detail: "A sentence", RetryAfter: 90 * time.Second, Err: cause})
		r := w.call(methodGet, "/api/v1/inboxes/"+address+"/messages", key, "")
		if r.status != status || strings.Contains(r.body, "secret") || r.detail() == "" {
			t.Errorf("%v: %d %s, want %d", kind, r.status, r.body, status)
		}
		if retry := r.header.Get("Retry-After"); (status == 503 || status == 429) && retry != "90" {
			t.Errorf("%v: Retry-After %q", kind, retry)
		}
	}
	before := strings.Count(w.log.String(), "secret cause")
	w.inboxes.breakWith(errors.New("secret cause"))
	r := w.expect(500, w.call(methodGet, "/api/v1/inboxes/"+address+"/messages", key, ""))
	if log := w.log.String(); strings.Count(log, "secret cause") != before+1 || !strings.Contains(log, r.header.Get("X-Request-Id")) {
		t.Errorf("want one more line with the cause and the request id in\n%s", log)
	}
	if strings.Contains(w.log.String(), key) {
		t.Error("a key is in the log")
	}
}

func TestAPanicCostsOneRequest(t *testing.T) {
	w := start(t)
	session := w.signUp(alice)
	id := w.idOf(alice)
	w.accounts.mu.Lock()
	w.accounts.byID[id] = nil // so that Usage dereferences nil
	w.accounts.mu.Unlock()
	r := w.expect(500, w.call(methodGet, "/api/account", session, ""))
	if r.detail() != detailInternal || r.header.Get("X-Request-Id") == "" {
		t.Errorf("answer %s", r.body)
	}
	w.expect(200, w.call(methodGet, "/healthz", "", ""))
	if !strings.Contains(w.log.String(), "panicked") {
		t.Error("the panic is not in the log")
	}
}

func TestClientAddress(t *testing.T) {
	s := New(Options{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8")}}, Ports{})
	direct := New(Options{}, Ports{})
	for _, c := range []struct{ forwarded, want string }{
		{"", "127.0.0.1"},
		{"203.0.113.9", "203.0.113.9"},
		{"198.51.100.1, 203.0.113.9", "203.0.113.9"},
		{"198.51.100.1, 203.0.113.9, 10.1.2.3", "203.0.113.9"},
		{"10.9.9.9, 10.1.2.3", "10.9.9.9"},
		{"nonsense, 10.1.2.3", "10.1.2.3"},
		{"::ffff:203.0.113.9", "203.0.113.9"},
		{"2001:db8::1", "2001:db8::1"},
	} {
		var ctx fasthttp.RequestCtx
		var req fasthttp.Request
		if c.forwarded != "" {
			req.Header.Set("X-Forwarded-For", c.forwarded)
		}
		ctx.Init(&req, loopbackPeer, nil)
		if got := s.admission.clientAddr(&ctx).String(); got != c.want {
			t.Errorf("%q: %s, want %s", c.forwarded, got, c.want)
		}
		if got := direct.admission.clientAddr(&ctx).String(); got != "127.0.0.1" {
			t.Errorf("%q without trusted proxies: %s", c.forwarded, got)
		}
	}
}

// TestChallenge: the path exists only if the operator uses ACME, and it needs no credential.
func TestChallenge(t *testing.T) {
	const path = "/.well-known/acme-challenge/token-1"
	w := start(t, withChallenge)
	if r := w.expect(200, w.call(methodGet, path, "", "")); r.body != "for "+path {
		t.Error(r.body)
	}
	start(t, withMetrics).expect(404, w.call(methodGet, path+"/more", "", ""))
}

// TestHead: HEAD gets the response of GET without a body, whichever code writes it, and immediately
// instead of a stream. TestEveryRouteForEveryCredential covers the route table.
func TestHead(t *testing.T) {
	w, address, key, latest := lone(t, withMetrics)
	w.deliver(address, inbox.Receive{Subject: "here"})
	after := " HTTP/1.1\r\nHost: localhost\r\nX-API-Key: " + key + "\r\n"
	next := "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
	for request, status := range map[string]string{
		"/healthz" + after: "200 OK", "/readyz" + after: "200 OK", "/docs" + after: "200 OK", "/openapi.json" + after: "200 OK", "/metrics" + after: "200 OK",
		latest + after: "200 OK", latest + "?wait=9" + after: "200 OK",
		latest + after + "If-None-Match: *\r\n": "304 Not Modified", "/api/nothing" + after: "404 Not Found", "/api/auth/login" + after: "405 Method Not Allowed",
	} {
		got := w.raw("HEAD " + request + "\r\n" + next)
		first, second, _ := strings.Cut(got, "\r\n\r\n")
		measured := strings.HasPrefix(status, "304") || strings.Contains(first, "Content-Length: ") && !strings.Contains(first, "Content-Length: 0")
		if !strings.HasPrefix(first, "HTTP/1.1 "+status+"\r\n") || !measured || !strings.HasPrefix(second, "HTTP/1.1 200 OK\r\n") {
			t.Errorf("%s: %s", request, got)
		}
	}
	if waited, at := w.call("HEAD", latest+"?after=1&wait=1", key, ""), w.call(methodGet, latest+"?after=1", key, ""); waited.status != 200 || waited.header.Get("Content-Length") != at.header.Get("Content-Length") {
		t.Errorf("after a wait: %d %v", waited.status, waited.header)
	}
	stream := w.raw("HEAD /api/v1/events" + after + "Accept: text/event-stream\r\n\r\n" + next)
	if !strings.Contains(stream, "\r\nContent-Type: text/event-stream\r\n") || !strings.Contains(stream, "Connection: close") || !strings.HasSuffix(stream, "\r\n\r\n") {
		t.Errorf("a stream: %q", stream)
	}
}
