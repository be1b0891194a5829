package post

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"inboxd/internal/core/webhook"
)

// scripted answers the requests of each connection with bytes, in turn, and then closes it;
// it counts connections, and those that either side has ended.
func scripted(t *testing.T, answers ...string) (addr string, conns, ended *atomic.Int64) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	conns, ended = &atomic.Int64{}, &atomic.Int64{}
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			conns.Add(1)
			go func() {
				defer c.Close()
				defer ended.Add(1)
				r := bufio.NewReader(c)
				for _, answer := range answers {
					req, err := http.ReadRequest(r)
					if err != nil {
						return
					}
					io.Copy(io.Discard, req.Body)
					io.WriteString(c, answer)
				}
			}()
		}
	}()
	return ln.Addr().String(), conns, ended
}

// TestCallerKeepsConnections: a connection is reused, except after a response that was not read
// completely, after the receiver closed it, or after surplus bytes. A request that crosses the
// receiver's close is sent again on another connection.
func TestCallerKeepsConnections(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	for name, c := range map[string]struct {
		answers []string
		conns   int64 // of four requests
	}{
		"kept":             {[]string{ok, ok, ok, ok}, 1},
		"chunked":          {[]string{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", ok, ok, ok}, 1},
		"interim":          {[]string{"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n" + ok, ok, ok, ok}, 1},
		"nothing to read":  {[]string{"HTTP/1.1 204 No Content\r\n\r\n", ok, ok, ok}, 1},
		"long":             {[]string{"HTTP/1.1 200 OK\r\nContent-Length: 40000\r\n\r\n" + strings.Repeat("x", 40_000), ok, ok, ok}, 1},
		"closed":           {[]string{ok}, 4},
		"said so":          {[]string{"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", ok}, 4},
		"old":              {[]string{"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", ok}, 4},
		"more than asked":  {[]string{ok + "HTTP/1.1 500 Smuggled\r\nContent-Length: 0\r\n\r\n", ok}, 4},
		"longer than read": {[]string{"HTTP/1.1 200 OK\r\nContent-Length: 70000\r\n\r\n" + strings.Repeat("x", 70_000), ok}, 4},
		"switched":         {[]string{"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", ok}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			p := newCaller(t, loopbackAllowed)
			addr, conns, ended := scripted(t, c.answers...)
			for range 4 {
				a := p.PostWebhook(t.Context(), "http://"+addr, nil, []byte("{}"))
				if a.Status == 0 || a.Status == 500 {
					t.Errorf("%+v", a)
				}
				// A call that is quicker than the end of this one meets the surplus, its receiver's
				// own.
				for name == "more than asked" && ended.Load() < conns.Load() {
					time.Sleep(time.Millisecond)
				}
			}
			if n := conns.Load(); n != c.conns {
				t.Errorf("%d connections, want %d", n, c.conns)
			}
		})
	}
}

// TestHangingCallsAreSmall bounds the memory of an attempt that waits for its response (ADR 0034).
func TestHangingCallsAreSmall(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector holds memory of its own")
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	const calls, most = 400, 24 << 10
	p := newCaller(t, loopbackAllowed)
	var all sync.WaitGroup
	before := held()
	for range calls {
		all.Go(func() { p.PostWebhook(t.Context(), "http://"+ln.Addr().String(), nil, []byte("{}")) })
	}
	conns := make([]net.Conn, calls)
	for i := range conns {
		if conns[i], err = ln.Accept(); err != nil {
			t.Fatal(err)
		}
		var b [16]byte
		if _, err := io.ReadFull(conns[i], b[:]); err != nil {
			t.Fatal(err)
		}
	}
	if each := (held() - before) / calls; each > most {
		t.Errorf("a call that hangs holds %d bytes", each)
	}
	for _, c := range conns {
		c.Close()
	}
	all.Wait()
}

// held returns how much heap and stack the process uses.
func held() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// FuzzRequest: for every accepted URL, the request is the intended one and nothing follows it.
func FuzzRequest(f *testing.F) {
	for _, s := range []string{"http://example.com", "https://example.com:8443/a%0d%0ab?c=%0a&d=e f", "http://[2001:db8::1]/ü?ü", "http://a.b//c?", "http://a.b/%zz"} {
		f.Add(s, "evt_1")
	}
	f.Fuzz(func(t *testing.T, raw, body string) {
		canonical, err := webhook.CanonicalURL(raw)
		if err != nil {
			return
		}
		u, err := url.Parse(canonical)
		if err != nil {
			t.Fatal(err)
		}
		ours, err := newRequest(t.Context(), canonical, []webhook.HeaderField{{Name: "webhook-id", Value: "evt_1"}}, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		var sent bytes.Buffer
		if err := ours.Write(&sent); err != nil {
			t.Fatal(err)
		}
		r := bufio.NewReader(&sent)
		req, err := http.ReadRequest(r)
		if err != nil {
			t.Fatalf("%q: %v", canonical, err)
		}
		got, _ := io.ReadAll(req.Body)
		if req.Method != "POST" || req.Host != u.Host || req.RequestURI != u.RequestURI() || len(req.Header) != 2 || string(got) != body || r.Buffered() != 0 {
			t.Errorf("%q: %+v %q", canonical, req, got)
		}
	})
}
