package http

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	nethttp "net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// shortage is a listener whose Accept fails with err several times before it succeeds.
type shortage struct {
	net.Listener
	err  error
	left atomic.Int32
}

func (l *shortage) Accept() (net.Conn, error) {
	if l.left.Add(-1) >= 0 {
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", l.err)}
	}
	return l.Listener.Accept()
}

func TestAcceptOutlastsAShortage(t *testing.T) {
	for _, err := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ECONNABORTED} {
		w := prepare(t)
		ln, listenErr := net.Listen("tcp", "127.0.0.1:0")
		if listenErr != nil {
			t.Fatal(listenErr)
		}
		short := &shortage{Listener: ln, err: err}
		short.left.Store(4)
		w.serve(short)
		w.expect(200, w.call(methodGet, "/healthz", "", ""))
		if n := strings.Count(w.log.String(), "cannot be accepted"); n != 1 {
			t.Errorf("%v: %d lines in the log", err, n)
		}
	}
}

func TestServeEndsWithItsListener(t *testing.T) {
	w := prepare(t)
	broken := &shortage{err: syscall.EINVAL}
	broken.left.Store(1)
	if err := w.server.Serve(broken); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("Serve: %v", err)
	}
}

// dialFrom opens a connection from one of the local addresses of this machine.
func (w *world) dialFrom(address string) net.Conn {
	w.t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}, Timeout: 10 * time.Second}
	c, err := d.Dial("tcp", w.addr)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(20 * time.Second))
	return c
}

// asks sends a request and returns the first line of the response; empty: the connection ended.
func asks(c net.Conn, path string) string {
	io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n")
	r, err := nethttp.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return ""
	}
	defer r.Body.Close()
	io.Copy(io.Discard, r.Body)
	return r.Status
}

const okay, busy = "200 OK", "503 Service Unavailable"

// TestAClientHasAQuarterOfThePlaces: the connections of one client keep no other client out, and do
// not prevent health checks.
func TestAClientHasAQuarterOfThePlaces(t *testing.T) {
	w := start(t, func(o *Options) { o.MaxConns = 40 })
	for range 10 { // without a byte, and between two requests
		w.dialFrom("127.0.0.2")
		if c := w.dialFrom("127.0.0.3"); asks(c, "/docs") != okay {
			t.Fatal("a client is kept from its quarter")
		}
	}
	for _, from := range []string{"127.0.0.2", "127.0.0.3"} {
		if got := asks(w.dialFrom(from), "/docs"); got != busy {
			t.Errorf("beyond a quarter: %q", got)
		}
		for _, path := range []string{"/healthz", "/readyz", "/healthz?x=1"} {
			if got := asks(w.dialFrom(from), path); got != okay {
				t.Errorf("%s beyond a quarter: %q", path, got)
			}
		}
	}
	if got := asks(w.dialFrom("127.0.0.4"), "/docs"); got != okay {
		t.Errorf("another client: %q", got)
	}
	// Probe connections that send no request give way, and get a response that says why.
	silent := w.dialFrom("127.0.0.2")
	for range 3 * 8 {
		w.dialFrom("127.0.0.2")
	}
	if got := asks(w.dialFrom("127.0.0.2"), "/healthz"); got != okay {
		t.Errorf("behind those who don't ask: %q", got)
	}
	got, err := io.ReadAll(silent)
	if s := string(got); err != nil || !strings.HasPrefix(s, "HTTP/1.1 503 ") || !strings.HasSuffix(s, `try again soon","code":"unavailable"}`) || !strings.Contains(s, "X-Request-Id: ") {
		t.Errorf("one that gave way: %v\n%s", err, got)
	}
}

// TestProxiesShareNoQuarter: a trusted proxy is not limited like a single client.
func TestProxiesShareNoQuarter(t *testing.T) {
	w := start(t, func(o *Options) {
		o.MaxConns, o.TrustedProxies = 8, []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")}
	})
	for range 6 {
		if got := asks(w.dialFrom("127.0.0.2"), "/docs"); got != okay {
			t.Errorf("through a proxy: %q", got)
		}
	}
}

// TestTheLongestIdleGoesFirst: above four fifths in use, a new connection replaces the one that has
// waited longest, whether it never sent a byte or is between two requests.
func TestTheLongestIdleGoesFirst(t *testing.T) {
	w := start(t, func(o *Options) { o.MaxConns = 20 }) // 5 each, 16 are four fifths
	var open []net.Conn
	for i := range 16 {
		c := w.dialFrom("127.0.0." + strconv.Itoa(2+i%8))
		if i != 0 && asks(c, "/docs") != okay {
			t.Fatal(i)
		}
		open = append(open, c)
		time.Sleep(2 * time.Millisecond)
	}
	if asks(open[1], "/docs") != okay { // idle only since now
		t.Fatal("one below four fifths has ended")
	}
	for range 3 {
		if got := asks(w.dialFrom("127.0.0.20"), "/docs"); got != okay {
			t.Errorf("a newcomer: %q", got)
		}
		time.Sleep(50 * time.Millisecond)
	}
	for i, c := range open {
		want := okay
		if i == 0 || i == 2 || i == 3 {
			want = ""
		}
		if got := asks(c, "/docs"); got != want {
			t.Errorf("connection %d: %q", i, got)
		}
	}
}

// TestPlacesAreGivenBack: each once, however its connection ended.
func TestPlacesAreGivenBack(t *testing.T) {
	w := start(t, func(o *Options) { o.MaxConns = 8 })
	for range 50 {
		c := w.dialFrom("127.0.0.2")
		if got := asks(c, "/healthz"); got != okay {
			t.Fatal(got)
		}
		c.Close()
	}
	for end := time.Now().Add(30 * time.Second); asks(w.dialFrom("127.0.0.2"), "/docs") != okay; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no place became free")
		}
	}
}

// TestShutdownGivesUpAtItsDeadline: a hanging request does not block the shutdown.
func TestShutdownGivesUpAtItsDeadline(t *testing.T) {
	entered := make(chan struct{})
	release := make(chan struct{})
	w := start(t, func(o *Options) {
		o.CheckReady = func() error { close(entered); <-release; return nil }
	})
	got := w.waiting("/readyz", "")
	<-entered
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if err := w.server.Shutdown(over); err == nil {
		t.Error("Shutdown says that nothing was in flight")
	}
	if w.server.baseContext.Err() == nil {
		t.Error("requests in flight were not told")
	}
	close(release)
	w.answer(got)
}

// TestShutdownDoesNotWaitForTheSilent: connections without a request, and those between two
// requests, end immediately.
func TestShutdownDoesNotWaitForTheSilent(t *testing.T) {
	w := start(t)
	silent, err := net.Dial("tcp", w.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	w.expect(200, w.call(methodGet, "/healthz", "", "")) // the silent connection was accepted before
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := w.server.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

// TestHTTPSIsKeptTo: if clients reach the service by https, every response has the HSTS header,
// whichever code writes it.
func TestHTTPSIsKeptTo(t *testing.T) {
	const field = "Strict-Transport-Security"
	for base, want := range map[string]string{"https://mail.example": "max-age=31536000", "http://mail.example": "", "": ""} {
		w := start(t, func(o *Options) { o.BaseURL, o.MaxConns = base, 12 })
		session := w.signUp(alice)
		latest := "/api/v1/inboxes/" + w.newInbox(alice, "own") + "/latest"
		etag := ""
		for _, c := range []struct {
			path, token string
			status      int
		}{{"/", "", 200}, {"/healthz", "", 200}, {"/nowhere", "", 404}, {latest, "", 401}, {latest, session, 200}, {latest, session, 200}, {latest, session, 304}, {latest + "?wait=1", session, 200}} {
			var known []string
			if c.status == 304 {
				known = []string{"If-None-Match", etag}
			}
			r := w.expect(c.status, w.call(methodGet, c.path, c.token, "", known...))
			if got := strings.Join(r.header.Values(field), ";"); got != want {
				t.Errorf("%q: %s %d says %q", base, c.path, c.status, got)
			}
			etag = r.header.Get("ETag")
		}
		s := w.dialFrom("127.0.0.2")
		io.WriteString(s, "GET /api/v1/events HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nAuthorization: Bearer "+session+"\r\n\r\n")
		if r, err := nethttp.ReadResponse(bufio.NewReader(s), nil); err != nil || r.StatusCode != 200 || r.Header.Get(field) != want {
			t.Errorf("%q: a stream: %v %v", base, r, err)
		}
		for range 4 {
			w.dialFrom("127.0.0.2")
		}
		c := w.dialFrom("127.0.0.2")
		io.WriteString(c, "GET /docs HTTP/1.1\r\nHost: x\r\n\r\n")
		if r, err := nethttp.ReadResponse(bufio.NewReader(c), nil); err != nil || r.StatusCode != 503 || r.Header.Get(field) != want {
			t.Errorf("%q: one too many: %v %v", base, r, err)
		}
	}
}
