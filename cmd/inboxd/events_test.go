package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	netsmtp "net/smtp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// eventStream is a client of server-sent events, like one in a browser: its position is the id of
// the last block.
type eventStream struct {
	body io.ReadCloser
	in   *bufio.Reader
	last string
}

func (u *user) follow(path, last string) (*eventStream, error) {
	req, err := http.NewRequest("GET", "http://"+u.server.http+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-API-Key", u.key)
	req.Header.Set("Accept", "text/event-stream")
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != 200 {
		resp.Body.Close()
		return nil, fmt.Errorf("status %d", resp.StatusCode)
	}
	s := &eventStream{body: resp.Body, in: bufio.NewReader(resp.Body), last: last}
	return s, s.block(nil) // contains the start of the stream
}

// next returns the code of the next event.
func (s *eventStream) next() (code string, err error) {
	var event struct{ OTP string }
	for event.OTP == "" {
		if err := s.block(&event); err != nil {
			return "", err
		}
	}
	return event.OTP, nil
}

// block reads to the end of a block. Its id counts only if the block is complete.
func (s *eventStream) block(event any) error {
	id := s.last
	for {
		line, err := s.in.ReadString('\n')
		if err != nil {
			return err
		}
		line = strings.TrimSuffix(line, "\n")
		if v, ok := strings.CutPrefix(line, "id: "); ok {
			id = v
		}
		if v, ok := strings.CutPrefix(line, "data: "); ok && event != nil {
			if err := json.Unmarshal([]byte(v), event); err != nil {
				return err
			}
		}
		if line == "" {
			s.last = id
			return nil
		}
	}
}

// present is the server that runs now.
type present struct {
	mu     sync.Mutex
	server *server
}

func (p *present) get() *server {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.server
}

func (p *present) set(s *server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.server = s
}

// sendAll sends messages with codes from first on until n are acknowledged, and returns those. A
// code that was not acknowledged is not returned: it may have been stored.
func (p *present) sendAll(to string, first, mailCount int) (reported []string) {
	for code := strconv.Itoa(first); len(reported) < mailCount; code = strconv.Itoa(first) {
		if first++; p.get().mail(to, code) == nil {
			reported = append(reported, code)
		} else {
			time.Sleep(5 * time.Millisecond) // while the server is down
		}
	}
	return reported
}

// lastCode is the code of the message that ends reading.
const lastCode = "999999"

// streamed follows one stream after another, each from where the previous one broke.
func (p *present) streamed(key, last string) map[string]int {
	seen := map[string]int{}
	for seen[lastCode] == 0 {
		u := user{server: p.get(), key: key}
		s, err := u.follow("/api/v1/events", last)
		for err == nil && seen[lastCode] == 0 {
			var code string
			if code, err = s.next(); err == nil {
				seen[code]++
			}
			last = s.last
		}
		if s != nil {
			s.body.Close()
		}
		if err != nil {
			time.Sleep(5 * time.Millisecond) // while the server is down
		}
	}
	return seen
}

// polled polls repeatedly with the cursor of the previous response.
func (p *present) polled(key, cursor string) map[string]int {
	seen := map[string]int{}
	for seen[lastCode] == 0 {
		a, err := p.get().call("GET", "/api/v1/events?wait=10&limit=7&after="+cursor, map[string]string{"X-API-Key": key}, nil)
		if err != nil || a.status != 200 {
			time.Sleep(5 * time.Millisecond) // while the server is down
			continue
		}
		for _, e := range a.body["events"].([]any) {
			seen[e.(map[string]any)["otp"].(string)]++
		}
		cursor = a.body["next"].(string)
	}
	return seen
}

// TestEventsSurviveKills checks that streams and long polls that continue after each kill -9 with
// their cursor see every acknowledged message, and none twice.
func TestEventsSurviveKills(t *testing.T) {
	const kills, inboxes, mailCount, readers = 3, 4, 120, 3
	dir := filepath.Join(t.TempDir(), "data")
	now := &present{server: launch(t, dir)}
	u := now.server.signUp(t, "me@example.test")
	start := u.do(t, 200, "GET", "/events?after=now", nil)["next"].(string)
	var sending, reading sync.WaitGroup
	reported := make([][]string, inboxes)
	var address string
	for i := range inboxes {
		address = u.inbox(t, fmt.Sprint("box", i))
		to := address
		sending.Go(func() { reported[i] = now.sendAll(to, 100_000*(i+1), mailCount) })
	}
	seen := make([]map[string]int, 2*readers)
	for i := range readers {
		reading.Go(func() { seen[i] = now.streamed(u.key, start) })
		reading.Go(func() { seen[readers+i] = now.polled(u.key, start) })
	}
	for range kills {
		time.Sleep(150 * time.Millisecond) // at any moment
		now.server.kill()
		now.set(launch(t, dir))
	}
	sending.Wait()
	if err := now.server.mail(address, lastCode); err != nil {
		t.Fatal(err)
	}
	reading.Wait()
	for r, codes := range seen {
		for code, n := range codes {
			if n != 1 {
				t.Errorf("reader %d saw %s %d times", r, code, n)
			}
		}
		for _, code := range slices.Concat(reported...) {
			if codes[code] == 0 {
				t.Errorf("reader %d skipped %s, which was acknowledged", r, code)
			}
		}
	}
	t.Logf("%d acknowledged, %d seen", len(slices.Concat(reported...)), len(seen[0]))
}

// TestManyReadersOfOneFleet checks that 64 streams and polls see the same events in the same order.
func TestManyReadersOfOneFleet(t *testing.T) {
	const readers, mailCount = 64, 100
	s := launch(t, filepath.Join(t.TempDir(), "data"))
	u := s.signUp(t, "me@example.test")
	one, two := u.inbox(t, "one"), u.inbox(t, "two")
	orders := make([][]string, readers)
	var reading sync.WaitGroup
	for i := range readers {
		stream, err := u.follow("/api/v1/events", "")
		if err != nil {
			t.Fatal(err)
		}
		reading.Go(func() {
			defer stream.body.Close()
			for len(orders[i]) < mailCount {
				code, err := stream.next()
				if err != nil {
					t.Error(err)
					return
				}
				orders[i] = append(orders[i], code)
			}
		})
	}
	var sending sync.WaitGroup
	for i, to := range []string{one, two} {
		sending.Go(func() { (&present{server: s}).sendAll(to, 100_000*(i+1), mailCount/2) })
	}
	sending.Wait()
	reading.Wait()
	page := u.do(t, 200, "GET", "/events?limit=500", nil)["events"].([]any)
	for i, codes := range orders {
		for n, code := range codes {
			if want := page[n].(map[string]any)["otp"]; code != want {
				t.Fatalf("reader %d: event %d is %s, the journal says %v", i, n, code, want)
			}
		}
	}
}

// TestRevocationEndsWhatWaits revokes a key on a running server: long polls end with 401, streams
// just end.
func TestRevocationEndsWhatWaits(t *testing.T) {
	s := launch(t, filepath.Join(t.TempDir(), "data"))
	u := s.signUp(t, "me@example.test")
	address := u.inbox(t, "agent")
	session := map[string]string{"Authorization": "Bearer " + u.session}
	issued, err := s.call("POST", "/api/keys", session, map[string]any{"label": "short"})
	if err != nil || issued.status != 201 {
		t.Fatalf("%v %v", issued, err)
	}
	short := &user{server: s, key: issued.body["key"].(string)}
	stream, err := short.follow("/api/v1/events", "")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.body.Close()
	answers := make(chan answerOf, 2)
	for _, path := range []string{"/api/v1/inboxes/" + address + "/latest?wait=60", "/api/v1/events?wait=60&after=now"} {
		go func() {
			a, err := s.call("GET", path, map[string]string{"X-API-Key": short.key}, nil)
			if err != nil {
				a.body = map[string]any{"detail": err.Error()}
			}
			answers <- a
		}()
	}
	began := time.Now()
	if a, err := s.call("DELETE", fmt.Sprintf("/api/keys/%v", issued.body["id"]), session, nil); err != nil || a.status != 200 {
		t.Fatalf("%v %v", a, err)
	}
	for range cap(answers) {
		if a := <-answers; a.status != 401 || a.body["detail"] != "A valid API key is required" {
			t.Errorf("%d %v", a.status, a.body)
		}
	}
	if code, err := stream.next(); err == nil {
		t.Errorf("the stream goes on with %s", code)
	}
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("it took %v", took)
	}
}

// TestASlowReaderIsCutOff checks that a client that stops reading loses its connection, that the
// server's memory does not grow, and that another client sees all events.
func TestASlowReaderIsCutOff(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for the server's patience")
	}
	t.Parallel()
	s := launch(t, filepath.Join(t.TempDir(), "data"))
	u := s.signUp(t, "me@example.test")
	address := u.inbox(t, "agent")
	start := u.do(t, 200, "GET", "/events?after=now", nil)["next"].(string)
	subject := strings.Repeat("a long subject ", 3_000)
	for range 150 { // about 7 MB, more than the socket buffers hold
		text := fmt.Sprintf("From: a@shop.test\r\nSubject: %s\r\n\r\nhello\r\n", strings.ReplaceAll(subject, "long", "long\r\n"))
		if err := netsmtp.SendMail(s.smtp, nil, "a@shop.test", []string{address}, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	slow, err := net.Dial("tcp", s.http)
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	slow.(*net.TCPConn).SetReadBuffer(4096)
	fmt.Fprintf(slow, "GET /api/v1/events HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\nAccept: text/event-stream\r\nLast-Event-ID: %s\r\n\r\n", u.key, start)
	for seen, cursor := 0, start; seen < 150; {
		page := u.do(t, 200, "GET", "/events?wait=10&after="+cursor, nil)
		seen, cursor = seen+len(page["events"].([]any)), page["next"].(string)
	}
	if s.streams(t) != 1 {
		t.Fatal("the slow reader has no stream")
	}
	for deadline := time.Now().Add(40 * time.Second); s.streams(t) > 0; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the slow reader still has its stream")
		}
	}
}

// streams returns how many event streams are open, from the metrics.
func (s *server) streams(t *testing.T) (n int) {
	t.Helper()
	resp, err := http.Get("http://" + s.http + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	_, value, ok := strings.Cut(string(b), "\ninboxd_http_streams ")
	if _, err := fmt.Sscan(value, &n); !ok || err != nil {
		t.Fatalf("no count of streams: %v", err)
	}
	return n
}
