package http

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	nethttp "net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
)

// rawClient is a connection that a test drives byte by byte.
type rawClient struct {
	t  testing.TB
	nc net.Conn
	in *bufio.Reader
}

func (w *world) dial() *rawClient {
	w.t.Helper()
	nc, err := net.Dial("tcp", w.addr)
	if err != nil {
		w.t.Fatal(err)
	}
	nc.SetDeadline(time.Now().Add(60 * time.Second))
	w.t.Cleanup(func() { nc.Close() })
	return &rawClient{w.t, nc, bufio.NewReader(nc)}
}

func (c *rawClient) send(format string, args ...any) { fmt.Fprintf(c.nc, format, args...) }

func (c *rawClient) answer() reply {
	resp, err := nethttp.ReadResponse(c.in, nil)
	if err != nil {
		c.t.Error(err)
		return reply{}
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Error(err)
	}
	return reply{resp.StatusCode, resp.Header, string(b)}
}

func (c *rawClient) ended() bool {
	_, err := c.in.ReadByte()
	return err == io.EOF
}

// eventStream is the client's end of a stream.
type eventStream struct {
	*rawClient
	header  nethttp.Header
	started string // id of the first block
}

type streamed struct{ id, event, data string }

// stream opens a stream and reads its first block.
func (w *world) stream(path, token string, header ...string) *eventStream {
	w.t.Helper()
	c := w.dial()
	c.send("GET %s HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nAuthorization: Bearer %s\r\n", path, token)
	for i := 0; i+1 < len(header); i += 2 {
		c.send("%s: %s\r\n", header[i], header[i+1])
	}
	c.send("\r\n")
	resp, err := nethttp.ReadResponse(c.in, nil)
	if err != nil || resp.StatusCode != 200 {
		w.t.Fatalf("stream: %v %v", resp, err)
	}
	c.in = bufio.NewReader(resp.Body)
	s := &eventStream{rawClient: c, header: resp.Header}
	first := s.next()
	if first.id == "" || first.event != "" || first.data != "" {
		w.t.Fatalf("the first block is %+v", first)
	}
	s.started = first.id
	return s
}

// next reads the next block that contains more than a comment.
func (s *eventStream) next() (e streamed) {
	s.t.Helper()
	for {
		line, err := s.in.ReadString('\n')
		if err != nil {
			s.t.Fatalf("the stream ended: %v", err)
		}
		line = strings.TrimSuffix(line, "\n")
		switch name, value, _ := strings.Cut(line, ": "); name {
		case "id":
			e.id = value
		case "event":
			e.event = value
		case "data":
			e.data = value
		case "":
			if e != (streamed{}) {
				return e
			}
		}
	}
}

// rest reads to the end of the stream.
func (s *eventStream) rest() string {
	s.t.Helper()
	b, err := io.ReadAll(s.in)
	if err != nil {
		s.t.Fatalf("the stream does not end: %v", err)
	}
	return string(b)
}

func TestStream(t *testing.T) {
	w, one, two, key := fleet(t)
	w.deliver(one, inbox.Receive{Subject: "before"})
	all, mine := w.stream(eventsPath, key), w.stream("/api/v1/inboxes/"+one+"/events", key)
	for name, want := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no"} {
		if got := all.header.Get(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	if all.header.Get("X-Request-Id") == "" || all.header.Get("Date") == "" {
		t.Errorf("header %v", all.header)
	}
	w.deliver(two, inbox.Receive{Subject: "second"})
	w.deliver(one, inbox.Receive{Subject: "first"})
	for _, want := range []struct {
		s       *eventStream
		subject string
	}{{all, "second"}, {all, "first"}, {mine, "first"}} {
		e := want.s.next()
		if e.event != "message.received" || !strings.Contains(e.data, `"subject":"`+want.subject+`"`) {
			t.Errorf("%+v, want %s", e, want.subject)
		}
	}
	if n := w.server.OpenStreams(); n != 2 {
		t.Errorf("%d streams", n)
	}
	// The data is the webhook body, which a poll also returns.
	page := w.call(methodGet, eventsPath+"?after="+all.started, key, "").body
	again := w.stream(eventsPath, key, "Last-Event-ID", all.started)
	for range 2 {
		if e := again.next(); !strings.Contains(page, e.data) {
			t.Errorf("%s is not in %s", e.data, page)
		}
	}
}

// TestAStreamIsResumed after any event, without a gap or a duplicate, also with the cursor of a
// poll.
func TestAStreamIsResumed(t *testing.T) {
	w, one, two, key := fleet(t)
	s := w.stream(eventsPath, key)
	var got []string
	for n := range 10 {
		w.deliver([]string{one, two}[n%2], inbox.Receive{Subject: fmt.Sprint("s", n)})
		if n%3 == 2 {
			e := s.next()
			got = append(got, e.data)
			s.nc.Close()
			s = w.stream(eventsPath, key, "Last-Event-ID", e.id)
		}
	}
	for len(got) < 10 {
		got = append(got, s.next().data)
	}
	for n := range 10 {
		if !strings.Contains(got[n], fmt.Sprintf(`"subject":"s%d"`, n)) {
			t.Errorf("event %d is %s", n, got[n])
		}
	}
	cursor := w.events(eventsPath, key, "limit=9").Next
	if e := w.stream(eventsPath+"?after="+cursor, key).next(); e.data != got[9] {
		t.Errorf("after a poll's cursor: %+v", e)
	}
}

// TestAStreamCatchesUp over several reads, then waits.
func TestAStreamCatchesUp(t *testing.T) {
	w, one, _, key := fleet(t)
	const mailCount = 2*streamPage + 7
	for n := range mailCount {
		w.deliver(one, inbox.Receive{Subject: fmt.Sprint("s", n)})
	}
	start := string(appendCursor(nil, w.idOf(alice), 0))
	s := w.stream(eventsPath, key, "Last-Event-ID", start)
	var subjects []string
	for n := range mailCount + 1 {
		if n == mailCount {
			w.deliver(one, inbox.Receive{Subject: fmt.Sprint("s", n)})
		}
		data := s.next().data
		_, rest, _ := strings.Cut(data, `"subject":"`)
		subject, _, _ := strings.Cut(rest, `"`)
		subjects = append(subjects, subject)
	}
	if subjects[0] != "s0" || subjects[mailCount] != fmt.Sprint("s", mailCount) || len(slices.Compact(subjects)) != mailCount+1 {
		t.Errorf("%v", subjects)
	}
}

// TestABugEndsItsStreamOnly: a panic leaves nothing behind, and the log has its location.
func TestABugEndsItsStreamOnly(t *testing.T) {
	w, one, _, key := fleet(t)
	set := func(panics bool) {
		w.accounts.lock.Lock()
		defer w.accounts.lock.Unlock()
		w.accounts.panics = panics
	}
	set(true)
	s := w.stream(eventsPath, key)
	s.rest()
	set(false)
	w.deliver(one, inbox.Receive{Subject: "x"})
	w.expect(200, w.call(methodGet, eventsPath, key, ""))
	if text := w.log.String(); !strings.Contains(text, "a panic of type string") || !strings.Contains(text, "fake_test.go") || strings.Contains(text, "a bug") {
		t.Errorf("the log says %s", text)
	}
	for deadline := time.Now().Add(30 * time.Second); w.server.wire.ParkedCount() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d requests are parked", w.server.wire.ParkedCount())
		}
	}
	if w.server.OpenStreams() != 0 {
		t.Error("the stream is still counted")
	}
}

func TestShutdownEndsStreams(t *testing.T) {
	w, one, _, key := fleet(t)
	s := w.stream(eventsPath, key)
	w.deliver(one, inbox.Receive{Subject: "last"})
	s.next()
	began := time.Now()
	if err := w.server.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if rest := s.rest(); strings.Contains(rest, "data:") || time.Since(began) > 15*time.Second {
		t.Errorf("after %v: %q", time.Since(began), rest)
	}
}

// onePipe is a listener with one connection.
type onePipe struct {
	net.Listener
	conns chan net.Conn
}

func (l onePipe) Accept() (net.Conn, error) {
	if c, ok := <-l.conns; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (l onePipe) Close() error { return nil }

// piped requests a stream over a pipe, in a synctest bubble with its own clock. ended waits for the
// end of the stream.
func piped(t *testing.T, test func(w *world, peer net.Conn, ended func())) {
	start(t) // starts fasthttp's goroutine for the date outside the bubble
	synctest.Test(t, func(t *testing.T) {
		w := prepare(t, func(o *Options) { o.Now = time.Now; o.Logger = slog.New(slog.DiscardHandler) })
		w.signUp(alice)
		w.accounts.plans[account.PlanFree] = account.Plan{Name: account.PlanFree, MaxInboxes: 10, MaxKeys: 10, MaxRetentionHours: 72, DefaultRetentionHours: 24}
		mine, peer := net.Pipe()
		conns := make(chan net.Conn, 1)
		conns <- mine
		go w.server.Serve(onePipe{conns: conns})
		fmt.Fprintf(peer, "GET %s HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nX-API-Key: %s\r\n\r\n", eventsPath, w.key(alice, account.ScopeRead))
		ended := func() {
			for w.server.wire.ParkedCount() > 0 {
				time.Sleep(10 * time.Millisecond)
			}
		}
		test(w, peer, ended)
		peer.Close()
		ended()
		close(conns)
		w.server.Shutdown(t.Context())
		time.Sleep(time.Minute) // of the bubble's clock: fasthttp's workers end
	})
}

// TestASlowReaderIsCutOff: a stream ends if its client reads nothing, and holds at most one piece
// until then.
func TestASlowReaderIsCutOff(t *testing.T) {
	piped(t, func(w *world, peer net.Conn, ended func()) {
		in := bufio.NewReader(peer)
		for line := ""; line != "\n"; line, _ = in.ReadString('\n') { // the first block
		}
		address := w.newInbox(alice, "own")
		for n := range 3 * streamPage {
			w.deliver(address, inbox.Receive{Subject: fmt.Sprint(n)})
		}
		began := time.Now()
		ended()
		if took := time.Since(began); took > 20*time.Second+50*time.Millisecond || took < 15*time.Second {
			t.Errorf("cut off after %v", took)
		}
		w.deliver(address, inbox.Receive{Subject: "to nobody"})
	})
}

// TestAStreamThatIsNotReadHoldsLittle: only a write of limited size, not the events that it
// contains.
func TestAStreamThatIsNotReadHoldsLittle(t *testing.T) {
	w, p, address, key := overPipes(t)
	for n := range streamPage {
		w.deliver(address, inbox.Receive{Subject: strings.Repeat("s", 1000) + fmt.Sprint(n)})
	}
	start := appendCursor(nil, w.idOf(alice), 0)
	a := w.askOn(p.dial(), fmt.Sprintf("GET %s HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nX-API-Key: %s\r\nLast-Event-ID: %s\r\n\r\n", eventsPath, key, start))
	io.ReadFull(a, make([]byte, 512)) // the header, and the start of the first events
	journals := &w.inboxes.journals
	eventually(t, "a page was read", func() bool {
		journals.lock.Lock()
		defer journals.lock.Unlock()
		return len(journals.pages) > 0
	})
	eventually(t, "the page is let go of", func() bool { return journals.inHand() == 0 })
	seen := bufio.NewScanner(a)
	for n := 0; n < streamPage && seen.Scan(); {
		if line := seen.Text(); strings.Contains(line, "sss") {
			if !strings.Contains(line, fmt.Sprintf(`s%d"`, n)) {
				t.Fatalf("event %d is %s", n, line)
			}
			n++
		}
	}
}

// TestAQuietStreamShowsThatItLives, and ends when the client is gone.
func TestAQuietStreamShowsThatItLives(t *testing.T) {
	piped(t, func(w *world, peer net.Conn, ended func()) {
		in := bufio.NewReader(peer)
		for blocks, began := 0, time.Now(); blocks < 4; {
			line, err := in.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if line == ":\n" {
				blocks++
				if want := time.Duration(blocks) * heartbeatInterval; time.Since(began) != want {
					t.Errorf("heartbeat %d after %v", blocks, time.Since(began))
				}
			}
		}
		peer.Close()
		ended()
	})
}
