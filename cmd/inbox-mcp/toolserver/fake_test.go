package toolserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"inboxd/http/client"
)

const inboxOfTests = "agent@inbox.test"

// service is an in-memory fake of the part of the API that tools use: one inbox with its messages
// and a calendar with one meeting. In a synctest bubble, it uses the clock of the bubble.
type service struct {
	mu        sync.Mutex
	messages  []*fakeMessage // oldest first
	changed   chan struct{}  // closed at the next change
	down      bool
	encrypted bool
	waiting   int                                // long polls in progress
	orders    map[string]int                     // by Idempotency-Key: number of requests
	lose      int                                // number of responses to lose, to orders and to claims
	script    func(*http.Request) *http.Response // returns the response before anything else, if not nil
	calls     []string                           // method, path and body
}

type fakeMessage struct {
	ID         int64     `json:"id"`
	Direction  string    `json:"direction"`
	From       any       `json:"from"`
	To         []any     `json:"to"`
	ReplyTo    []any     `json:"reply_to"`
	Subject    *string   `json:"subject"`
	ReceivedAt time.Time `json:"received_at"`
	OTPCode    *string   `json:"otp_code"`
	OTP        any       `json:"otp"`
	Candidates []string  `json:"otp_candidates,omitempty"`
	Body       *string   `json:"body"`
	Links      []string  `json:"links"`
	IsRead     bool      `json:"is_read"`
	Encrypted  bool      `json:"encrypted"`
	Note       string    `json:"note,omitempty"`
	Status     *string   `json:"send_status"`
	MessageID  string    `json:"internet_message_id"`
}

func newService() *service {
	return &service{changed: make(chan struct{}), orders: map[string]int{}}
}

// server returns a tool server that uses this service.
func (s *service) server() *Server {
	api := client.New("http://inbox.test", "svc_live_test")
	api.HTTP = &http.Client{Transport: s}
	return New(Options{API: api})
}

func (s *service) change(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
	close(s.changed)
	s.changed = make(chan struct{})
}

// receive adds a message; age is how long ago it arrived.
func (s *service) receive(id int64, code string, age time.Duration) *fakeMessage {
	subject, body := fmt.Sprintf("Subject %d", id), fmt.Sprintf("Body of %d", id)
	m := &fakeMessage{
		ID: id, Direction: "in", From: mailboxOf("from@far.test"), To: []any{mailboxOf(inboxOfTests)}, ReplyTo: []any{}, Subject: &subject, Body: &body,
		ReceivedAt: time.Now().Add(-age), Links: []string{}, Encrypted: s.encrypted, MessageID: fmt.Sprintf("%d@far.test", id),
	}
	if code != "" {
		m.OTPCode, m.OTP = &code, object{"code": code, "confidence": 0.97, "candidates": []string{"2026"}}
	}
	if s.encrypted {
		m.Subject, m.Body, m.OTPCode, m.OTP, m.Note = nil, nil, nil, nil, "The note of the API"
	}
	s.change(func() { s.messages = append(s.messages, m) })
	return m
}

func mailboxOf(email string) any { return map[string]any{"email": email, "name": ""} }

// RoundTrip implements http.RoundTripper.
func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	var sent []byte
	if r.Body != nil {
		sent, _ = io.ReadAll(r.Body)
	}
	s.mu.Lock()
	down, script := s.down, s.script
	s.calls = append(s.calls, r.Method+" "+r.URL.RequestURI()+" "+string(sent))
	s.mu.Unlock()
	if down {
		return nil, syscall.ECONNREFUSED
	}
	if script != nil {
		if resp := script(r); resp != nil {
			return resp, nil
		}
	}
	var body map[string]any
	_ = json.Unmarshal(sent, &body) // no body is the same as an empty one
	status, out, err := s.serve(r, body)
	if err != nil {
		return nil, err
	}
	if r.Method != "GET" && s.loses() {
		return nil, syscall.ECONNRESET
	}
	return httpAnswer(status, out), nil
}

func (s *service) loses() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lose == 0 {
		return false
	}
	s.lose--
	return true
}

func httpAnswer(status int, out any) *http.Response {
	b, ok := out.([]byte)
	if !ok {
		b, _ = json.Marshal(out)
	}
	return &http.Response{StatusCode: status, Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(b))}
}

// asked returns the calls so far.
func (s *service) asked() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.calls, "\n")
}

type object = map[string]any

func (s *service) serve(r *http.Request, body object) (int, any, error) {
	path := strings.TrimPrefix(r.URL.Path, "/api/v1/inboxes")
	if key := r.Header.Get("Idempotency-Key"); key != "" {
		s.change(func() { s.orders[key]++ })
	}
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case path == "" && r.Method == "POST":
		return 201, object{"address": inboxOfTests, "retention_hours": 24, "api_key": nil, "label": "Calm Reef", "created_at": "2026-11-23T10:00:00.000Z", "encrypted": false}, nil
	case path == "":
		return 200, object{"inboxes": []any{object{"address": inboxOfTests, "label": "Calm Reef", "unread_count": 1, "message_count": 2, "last_message_at": nil, "encrypted": false}}, "next_cursor": nil}, nil
	case parts[0] != inboxOfTests:
		return 403, object{"detail": "No inbox " + parts[0] + " for this API key"}, nil
	case len(parts) == 1 && r.Method == "GET":
		return 200, object{"inbox": object{"address": inboxOfTests, "encrypted": s.encrypted}}, nil
	case len(parts) == 1, parts[1] == "burn":
		return 200, object{"ok": true, "deleted": 3}, nil
	case parts[1] == "latest":
		return s.latest(r)
	case parts[1] == "send":
		return 202, object{"ok": true, "queued": true, "message_id": 77}, nil
	case parts[1] == "events":
		return s.events(r)
	case parts[1] == "calendar":
		return calendarOfTests(r, parts[2:])
	case parts[1] == "messages" && len(parts) == 2:
		return s.list(r)
	}
	return s.message(r, parts[2:], body)
}

func calendarOfTests(r *http.Request, parts []string) (int, any, error) {
	event := object{
		"id": 5, "uid": "5@inbox.test", "title": "Sync", "start": "2026-12-01T15:00:00.000Z", "end": "2026-12-01T15:30:00.000Z", "all_day": false, "timezone": "UTC",
		"location": "", "description": "", "organizer": object{"email": inboxOfTests, "name": nil}, "attendees": []any{object{"email": "x@far.test", "name": nil, "role": "req-participant", "status": "needs-action"}},
		"status": "confirmed", "source": "outbound", "sequence": 0, "recurring": false, "my_status": nil, "recurrence": nil,
	}
	switch {
	case parts[0] == "feed":
		return 200, object{"feed_url": "http://inbox.test/f.ics", "webcal_url": "webcal://inbox.test/f.ics", "subscribe_links": object{"google": "g", "apple": "a", "outlook": "o"}, "last_fetched_at": nil, "last_client": nil, "stale": false}, nil
	case r.Method == "GET":
		return 200, object{"events": []any{event}, "next_cursor": nil}, nil
	}
	return 202, object{"ok": true, "event": event, "message_id": 78, "send_status": "queued"}, nil
}

// fits reports whether a received message matches a query.
func fits(m *fakeMessage, r *http.Request) bool {
	q := r.URL.Query()
	after, _ := strconv.ParseInt(q.Get("after"), 10, 64)
	before, err := strconv.ParseInt(q.Get("before"), 10, 64)
	since, _ := time.Parse(time.RFC3339Nano, q.Get("since"))
	direction := q.Get("direction")
	if direction == "" {
		direction = "in"
	}
	return (direction == "all" || m.Direction == direction) && m.ID > after && (err != nil || m.ID < before) && !m.ReceivedAt.Before(since) && (q.Get("otp") == "" || m.OTPCode != nil)
}

func (s *service) latest(r *http.Request) (int, any, error) {
	wait, _ := strconv.Atoi(r.URL.Query().Get("wait"))
	end := time.NewTimer(time.Duration(wait) * time.Second)
	defer end.Stop()
	s.change(func() { s.waiting++ })
	defer s.change(func() { s.waiting-- })
	for {
		s.mu.Lock()
		changed, down := s.changed, s.down
		var found any
		for _, m := range s.messages {
			if fits(m, r) {
				copied := *m
				found = copied
			}
		}
		s.mu.Unlock()
		switch {
		case down:
			return 0, nil, syscall.ECONNRESET
		case found != nil, wait == 0:
			return 200, object{"email": found}, nil
		}
		select {
		case <-changed:
		case <-end.C:
			return 200, object{"email": nil}, nil
		case <-r.Context().Done():
			return 0, nil, r.Context().Err()
		}
	}
}

func (s *service) list(r *http.Request) (int, any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
	if err != nil {
		limit = 50
	}
	out := []fakeMessage{}
	for _, m := range slices.Backward(s.messages) {
		if fits(m, r) {
			out = append(out, *m)
		}
	}
	return 200, object{"emails": out[:min(limit, len(out))], "has_more": len(out) > limit}, nil
}

func (s *service) message(r *http.Request, parts []string, body object) (int, any, error) {
	if r.Method == "POST" {
		time.Sleep(commit)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id, _ := strconv.ParseInt(parts[0], 10, 64)
	at := slices.IndexFunc(s.messages, func(m *fakeMessage) bool { return m.ID == id })
	switch {
	case at < 0:
		return 404, object{"detail": fmt.Sprintf("Message %d not found in inbox %s", id, inboxOfTests)}, nil
	case r.Method == "GET":
		return 200, object{"email": *s.messages[at]}, nil
	case r.Method == "DELETE":
		s.messages = slices.Delete(s.messages, at, at+1)
		return 200, object{"ok": true}, nil
	}
	m := s.messages[at]
	read, given := body["read"].(bool)
	was := m.IsRead
	m.IsRead = read || !given
	if body["claim"] == true {
		return 200, object{"ok": true, "claimed": !was}, nil
	}
	return 200, object{"ok": true}, nil
}

// commit is how long a change takes, during which others see the previous state.
const commit = 10 * time.Millisecond

// events returns only the current cursor until something changes.
func (s *service) events(r *http.Request) (int, any, error) {
	s.mu.Lock()
	changed := s.changed
	s.mu.Unlock()
	if r.URL.Query().Get("wait") == "" {
		return 200, object{"events": []any{}, "next": "1"}, nil
	}
	select {
	case <-changed:
		return 200, object{"events": []any{object{"event": "message.delivered", "message_id": 77}}, "next": "2"}, nil
	case <-r.Context().Done():
		return 0, nil, r.Context().Err()
	}
}

// settle sets the status of the sent message 77.
func (s *service) settle(status string) {
	s.change(func() {
		for _, m := range s.messages {
			if m.ID == 77 {
				m.Status = &status
			}
		}
	})
}

func (s *service) sent(status string) {
	m := s.receive(77, "", 0)
	s.change(func() { m.Direction, m.Status = "out", &status })
}

// until waits until the service satisfies a condition, for what happens in parallel with a test.
func (s *service) until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		s.mu.Lock()
		changed, ok := s.changed, holds()
		s.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatal("not in time: " + what)
		}
	}
}

// scripted gives the same response to everything.
func (s *service) scripted(status int, body []byte) {
	s.change(func() { s.script = func(*http.Request) *http.Response { return httpAnswer(status, body) } })
}

func httpRequest(method string) *http.Request {
	r, err := http.NewRequest(method, "http://inbox.test/", nil)
	if err != nil {
		panic(err)
	}
	return r
}
