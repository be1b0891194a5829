package http

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"inboxd/internal/core/account"
)

// raw sends bytes, closes the writing side, and returns everything that arrives until the server
// closes.
func (w *world) raw(sent string) string {
	w.t.Helper()
	c, err := net.Dial("tcp", w.addr)
	if err != nil {
		w.t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(20 * time.Second))
	go func() {
		io.WriteString(c, sent)
		c.(*net.TCPConn).CloseWrite()
	}()
	got, _ := io.ReadAll(c) // a reset after the response is permitted
	return string(got)
}

// TestAmbiguousFramingIsRefused sends a canary request after each bad request on the same
// connection. It would create an inbox, and must never be executed.
func TestAmbiguousFramingIsRefused(t *testing.T) {
	w := start(t)
	w.signUp(alice)
	key := w.key(alice, account.ScopeFull)
	head := "POST /api/v1/inboxes HTTP/1.1\r\nHost: x\r\nX-API-Key: " + key + "\r\n"
	canary := "POST /api/v1/inboxes HTTP/1.1\r\nHost: x\r\nX-API-Key: " + key + "\r\nContent-Length: 19\r\n\r\n{\"prefix\":\"canary\"}"

	for name, bad := range map[string]string{
		"length and chunked":       head + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"chunked and length":       head + "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n",
		"two lengths":              head + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ",
		"two equal lengths":        head + "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
		"list of lengths":          head + "Content-Length: 2, 2\r\n\r\n{}",
		"signed length":            head + "Content-Length: +2\r\n\r\n{}",
		"hex length":               head + "Content-Length: 0x2\r\n\r\n{}",
		"huge length":              head + "Content-Length: 99999999999999999999\r\n\r\n{}",
		"negative length":          head + "Content-Length: -2\r\n\r\n{}",
		"identity coding":          head + "Transfer-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}",
		"identity alone":           head + "Transfer-Encoding: identity\r\n\r\n",
		"unknown coding":           head + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
		"two codings":              head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"chunked under HTTP/1.0":   strings.Replace(head, "HTTP/1.1", "HTTP/1.0", 1) + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"space before colon":       head + "Content-Length : 2\r\n\r\n{}",
		"blank in a name":          head + "X A: b\r\nContent-Length: 2\r\n\r\n{}",
		"bracket in a name":        head + "X(A): b\r\nContent-Length: 2\r\n\r\n{}",
		"control byte in a name":   head + "X\x01A: b\r\nContent-Length: 2\r\n\r\n{}",
		"empty name":               head + ": b\r\nContent-Length: 2\r\n\r\n{}",
		"host is a port":           strings.Replace(head, "Host: x", "Host: :x", 1) + "Content-Length: 2\r\n\r\n{}",
		"folded header":            head + "X-Note: a\r\n b\r\nContent-Length: 2\r\n\r\n{}",
		"folded length":            head + "Content-Length:\r\n 2\r\n\r\n{}",
		"folded first header":      "POST /api/v1/inboxes HTTP/1.1\r\n Host: x\r\n\r\n",
		"bare LF":                  head + "Content-Length: 2\n\r\n{}",
		"bare LF before the end":   head + "X-Note: a\r\n\n",
		"NUL in a header":          head + "X-Note: a\x00b\r\nContent-Length: 2\r\n\r\n{}",
		"bare CR in a header":      head + "X-Note: a\rContent-Length: 40\r\n\r\n",
		"no colon":                 head + "Nonsense\r\n\r\n",
		"two keys":                 head + "X-API-Key: other\r\nContent-Length: 2\r\n\r\n{}",
		"two equal keys":           head + "x-api-key: " + key + "\r\nContent-Length: 2\r\n\r\n{}",
		"two bearers":              head + "Authorization: Bearer a\r\nAuthorization: Bearer b\r\nContent-Length: 2\r\n\r\n{}",
		"key and another bearer":   head + "Authorization: Bearer other\r\nContent-Length: 2\r\n\r\n{}",
		"two hosts":                head + "Host: y\r\nContent-Length: 2\r\n\r\n{}",
		"no host":                  "POST /api/v1/inboxes HTTP/1.1\r\nX-API-Key: " + key + "\r\nContent-Length: 2\r\n\r\n{}",
		"broken chunk":             head + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}x\r\n0\r\n\r\n",
		"negative chunk":           head + "Transfer-Encoding: chunked\r\n\r\n-2\r\n{}\r\n0\r\n\r\n",
		"LF after chunk size":      head + "Transfer-Encoding: chunked\r\n\r\n2\n{}\r\n0\r\n\r\n",
		"no version":               "POST /api/v1/inboxes\r\nHost: x\r\n\r\n",
		"space in the path":        "GET /api/v1/ inboxes HTTP/1.1\r\nHost: x\r\n\r\n",
		"control byte in the path": "GET /api/v1/inboxes\x01 HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		got := w.raw(bad + canary)
		if !strings.HasPrefix(got, "HTTP/1.1 400 ") || strings.Count(got, "HTTP/1.1 ") != 1 {
			t.Errorf("%s: answer is not one 400:\n%s", name, got)
		}
		if !strings.Contains(got, `{"detail":"`) || !strings.Contains(got, `,"code":"bad_request"}`) || !strings.Contains(got, "X-Request-Id: ") || !strings.Contains(got, "Connection: close") {
			t.Errorf("%s: answer lacks detail, request id or close:\n%s", name, got)
		}
		if w.inboxes.ResidentView([]byte("canary@inbox.test")) != nil {
			t.Fatalf("%s: the request behind it was executed", name)
		}
	}
	// The canary itself is valid.
	if got := w.raw(canary); !strings.HasPrefix(got, "HTTP/1.1 201 ") {
		t.Fatalf("the canary does not work:\n%s", got)
	}
}

// TestTrailersAreDropped: trailer fields after a chunked body are no credential, no idempotency key
// and no condition (RFC 9110 section 6.5.1). The connection continues after them.
func TestTrailersAreDropped(t *testing.T) {
	w, _, key, latest := lone(t)
	w.accounts.plans[account.PlanFree] = account.DefaultPlans()[account.PlanPaid]
	etag := w.expect(200, w.call(methodGet, latest, key, "")).header.Get("ETag")
	chunked := func(start, fields, chunks, trailer string) string {
		return start + " HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n" + fields + "\r\n" + chunks + "0\r\n" + trailer + "\r\n"
	}
	create, mine := "POST /api/v1/inboxes", "X-API-Key: "+key+"\r\n"
	for _, c := range []struct {
		request string
		status  int
	}{
		{chunked(create, "", "2\r\n{}\r\n", mine), 401},
		{chunked(create, "", "", mine), 401},
		{chunked("GET /api/v1/inboxes", "", "", mine), 401},
		{chunked(create, "Trailer: X-API-Key\r\n", "2\r\n{}\r\n", mine), 401},
		{chunked(create, mine, "2\r\n{}\r\n", "X-API-Key: other\r\nX-A: b\r\n"), 201},
		{chunked(create, mine, "2\r\n{}\r\n", "Idempotency-Key: one\r\n"), 201},
		{chunked("GET "+latest, mine, "", "If-None-Match: "+etag+"\r\n"), 200},
		{chunked("GET "+latest, mine+"If-None-Match: "+etag+"\r\n", "", ""), 304},
	} {
		conn, bodies := w.speak(t), map[string]bool{}
		for range 2 { // an Idempotency-Key would make the second response equal the first
			resp, body := conn.ask(c.request)
			if resp.StatusCode != c.status || resp.Close {
				t.Errorf("%d, want %d, close %v: %s\n%s", resp.StatusCode, c.status, resp.Close, c.request, body)
			}
			bodies[body] = true
		}
		if c.status == 201 && len(bodies) != 2 {
			t.Errorf("a name in the trailer counts: %s", c.request)
		}
	}
}

// TestBodiesOfGetsDoNotBecomeRequests sends a request in the body of a GET.
func TestBodiesOfGetsDoNotBecomeRequests(t *testing.T) {
	w := start(t)
	w.signUp(alice)
	key := w.key(alice, account.ScopeFull)
	smuggled := "POST /api/v1/inboxes HTTP/1.1\r\nHost: x\r\nX-API-Key: " + key + "\r\nContent-Length: 2\r\n\r\n{}"
	for _, method := range []string{"GET", "DELETE", "OPTIONS", "HEAD", "PUT"} {
		got := w.raw(fmt.Sprintf("%s /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", method, len(smuggled), smuggled))
		if strings.Count(got, "HTTP/1.1 ") != 1 || strings.Contains(got, "201 Created") {
			t.Errorf("%s: want one answer, got\n%s", method, got)
		}
	}
}

func TestPipelinedRequestsAreAnsweredInOrder(t *testing.T) {
	w := start(t)
	w.signUp(alice)
	key := w.key(alice, account.ScopeFull)
	one := "GET /api/v1/inboxes HTTP/1.1\r\nHost: x\r\nX-API-Key: " + key + "\r\n\r\n"
	got := w.raw(one + "GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n" + one)
	if a, b := strings.Index(got, `"inboxes":[]`), strings.Index(got, detailNoPath); a < 0 || b < a || strings.Count(got, "HTTP/1.1 200") != 2 {
		t.Errorf("answers:\n%s", got)
	}
}

// TestTooLarge covers an announced body, one without a length, and a header.
func TestTooLarge(t *testing.T) {
	w := start(t, func(o *Options) { o.MaxBodyBytes = 3 << 20 })
	big := strings.Repeat("x", 2<<20)
	r := w.expect(413, w.call(methodPost, "/api/auth/login", "", big))
	if r.detail() != "The request body is too large" {
		t.Errorf("detail %q", r.detail())
	}
	chunk := fmt.Sprintf("%x\r\n%s\r\n", len(big), big)
	got := w.raw("POST /api/auth/login HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk + "0\r\n\r\n")
	if !strings.HasPrefix(got, "HTTP/1.1 413 ") {
		t.Errorf("chunked: %s", got)
	}
	got = w.raw("GET /healthz HTTP/1.1\r\nHost: x\r\nX-Note: " + strings.Repeat("n", 8<<10) + "\r\n\r\n")
	if !strings.HasPrefix(got, "HTTP/1.1 431 ") || !strings.Contains(got, `,"code":"too_large"}`) {
		t.Errorf("header: %s", got)
	}
	w.signUp(alice)
	w.unbound = true
	w.expect(201, w.call(methodPost, "/api/v1/inboxes", w.key(alice, account.ScopeFull), "{"+strings.Repeat(" ", maxBodyBytes-2)+"}"))
}

func TestBodyLimitIsRaisedForASendOnly(t *testing.T) {
	s := New(Options{}, Ports{})
	for uri, want := range map[string]int{
		"/api/v1/inboxes/a@b.test/send": 32 << 20, "/api/v1/inboxes": 1 << 20, "/api/v1/inboxes/a@b.test/send/x": 1 << 20,
	} {
		var h fasthttp.RequestHeader
		h.SetMethod("POST")
		h.SetRequestURI(uri)
		if got := s.bodyLimit(&h); got != want {
			t.Errorf("%s: %d, want %d", uri, got, want)
		}
	}
}

// TestABodyIsNotReadToItsEnd: the refusal is sent when the client has only announced the body.
func TestABodyIsNotReadToItsEnd(t *testing.T) {
	w := start(t)
	c, err := net.Dial("tcp", w.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(20 * time.Second))
	io.WriteString(c, "POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999\r\n\r\n{")
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "HTTP/1.1 413 ") {
		t.Fatalf("%q, %v", line, err)
	}
}

// TestARefusedBodyIsReadALittleOn: the client can read the response, and a client that continues to
// send is cut off long before the announced end.
func TestARefusedBodyIsReadALittleOn(t *testing.T) {
	w := start(t)
	const announced = 64 << 20
	a := w.ask(fmt.Sprintf("POST /api/v1/inboxes HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", announced))
	if r := a.answer(); r.StatusCode != 401 {
		t.Errorf("%d", r.StatusCode)
	}
	sent, part := 0, make([]byte, 1<<20)
	for err := error(nil); err == nil && sent < announced; {
		var n int
		n, err = a.Write(part)
		sent += n
	}
	if sent > 24<<20 { // more than the kernel buffers in both directions
		t.Errorf("%d bytes were taken", sent)
	}
}

// TestChunksAreNotEndless: the framing of a chunked body is limited in proportion to the permitted
// body, with or without a key. Chunks of one octet stay within the limit.
func TestChunksAreNotEndless(t *testing.T) {
	w := start(t)
	w.signUp(alice)
	key := "X-API-Key: " + w.key(alice, account.ScopeFull) + "\r\n"
	const extension = 1000
	for _, credential := range []string{"", key} {
		for name, chunks := range map[string]string{
			"one extension": "2;" + strings.Repeat("a", 12<<20) + "\r\n{}\r\n0\r\n\r\n", // it ends, so that a missing refusal would not be a 400
			"small chunks":  strings.Repeat("1;"+strings.Repeat("a", extension)+"\r\n \r\n", 12<<20/extension) + "2\r\n{}\r\n0\r\n\r\n",
		} {
			c := w.ask("POST /api/v1/inboxes HTTP/1.1\r\nHost: x\r\n" + credential + "Transfer-Encoding: chunked\r\n\r\n")
			go io.WriteString(c, chunks)
			if r := c.answer(); r.StatusCode != 400 || !r.Close {
				t.Errorf("%s with %q: %d", name, credential, r.StatusCode)
			}
		}
	}
	body := `{"prefix":"octets","label":"` + strings.Repeat("x", 200) + `"}`
	var octets strings.Builder
	for _, octet := range body {
		fmt.Fprintf(&octets, "1\r\n%c\r\n", octet)
	}
	c := w.ask("POST /api/v1/inboxes HTTP/1.1\r\nHost: x\r\n" + key + "Transfer-Encoding: chunked\r\n\r\n" + octets.String() + "0\r\n\r\n")
	if r := c.answer(); r.StatusCode != 201 && r.StatusCode != 422 {
		t.Errorf("chunks of one octet: %d", r.StatusCode)
	}
}

func TestMethodsBeyondTheTable(t *testing.T) {
	w := start(t)
	r := w.expect(204, w.call("OPTIONS", "/api/keys", "", ""))
	if r.header.Get("Allow") != "GET, HEAD, OPTIONS, POST" {
		t.Errorf("Allow %q", r.header.Get("Allow"))
	}
	w.expect(404, w.call("OPTIONS", "/api/nothing", "", ""))
	w.expect(405, w.call("BREW", "/api/keys", "", ""))
}
