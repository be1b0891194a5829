package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestSendIsWellFormed(t *testing.T) {
	c, got := scripted(t, 202, nil, `{"ok":true,"queued":true,"message_id":7}`)
	id, err := c.Send(t.Context(), "a@b.test", Letter{To: "x@far.test", Bcc: []string{"y@far.test"}, Attachments: []File{{Filename: "a.txt", Content: []byte("hi")}}}, SendOptions{IdempotencyKey: "once"})
	if id != 7 || err != nil {
		t.Errorf("%d %v", id, err)
	}
	if want := `{"to":"x@far.test","bcc":["y@far.test"],"attachments":[{"filename":"a.txt","content_b64":"aGk="}]}`; got.Form.Get("body") != want {
		t.Errorf("%s, want %s", got.Form.Get("body"), want)
	}
	if got.RequestURI != "/api/v1/inboxes/a@b.test/send" || got.Header.Get("Idempotency-Key") != "once" {
		t.Errorf("%s %v", got.RequestURI, got.Header)
	}
}

// sending has a sent message whose status changes with each event about it; after the last one
// nothing happens. There are events of other messages in between.
type sending struct {
	statuses []SendStatus
	reported int // long polls that got a response
	looks    atomic.Int64
}

func (s *sending) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/messages/7") {
		s.looks.Add(1)
		w.Write([]byte(`{"email":{"id":7,"direction":"out","send_status":` + strconv.Quote(string(s.statuses[s.reported/2])) + `,"recipients":[{"email":"x@far.test","status":"retrying","error":"451 later"}]}}`))
		return
	}
	switch after := r.URL.Query().Get("after"); {
	case r.URL.Path != "/api/v1/inboxes/a@b.test/events":
		w.WriteHeader(404)
	case after == Now:
		w.Write([]byte(`{"events":[],"next":"0"}`))
	case s.reported/2 == len(s.statuses)-1:
		<-r.Context().Done()
	default:
		s.reported++
		w.Write([]byte(fmt.Sprintf(`{"events":[{"event":"message.delivered","message_id":%d}],"next":"%d"}`, 6+(s.reported+1)%2, s.reported)))
	}
}

// TestWaitUntilSent: it reads the message once at the beginning, and once for each event about it.
func TestWaitUntilSent(t *testing.T) {
	t.Parallel() // it mostly waits
	for _, last := range []SendStatus{StatusSent, StatusUnsigned, StatusFailed} {
		fake := &sending{statuses: []SendStatus{StatusQueued, StatusRetrying, last}}
		s := httptest.NewServer(fake)
		bounded, enough := context.WithTimeout(t.Context(), 30*time.Second)
		m, err := New(s.URL, "").WaitUntilSent(bounded, "a+tag@b.test", 7)
		enough()
		if err != nil || m.SendStatus != last || m.SendStatus.Delivered() != (last != StatusFailed) || fake.looks.Load() != 3 {
			t.Errorf("%s after %d looks: %+v %v", last, fake.looks.Load(), m, err)
		}
		s.Close()
	}
	s := httptest.NewServer(&sending{statuses: []SendStatus{StatusRetrying}})
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	m, err := New(s.URL, "").WaitUntilSent(ctx, "a@b.test", 7)
	if !errors.Is(err, context.DeadlineExceeded) || m == nil || m.SendStatus != StatusRetrying || m.Recipients[0].Error != "451 later" {
		t.Errorf("a wait that ends: %+v %v", m, err)
	}
}

func TestSuppressionsPage(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("cursor") == "" {
			w.Write([]byte(`{"suppressions":[{"email":"a@far.test","at":"2026-11-21T08:00:00.000Z"}],"next_cursor":"a@far.test"}`))
			return
		}
		w.Write([]byte(`{"suppressions":[{"email":"b@far.test","at":"2026-11-21T08:00:00.000Z"}],"next_cursor":null}`))
	}))
	defer s.Close()
	var seen []string
	for sup, err := range New(s.URL, "").Suppressions(t.Context()) {
		if err != nil || sup.At.IsZero() {
			t.Fatal(sup, err)
		}
		seen = append(seen, sup.Email)
	}
	if len(seen) != 2 || seen[1] != "b@far.test" {
		t.Errorf("%v", seen)
	}
}

// TestDamagedInboxesAreNamed: an iteration over all inboxes includes the lost ones.
func TestDamagedInboxesAreNamed(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte(`{"inboxes":[{"address":"a@b.test"}],"next_cursor":null,"damaged":["lost@b.test"]}`))
	}))
	defer s.Close()
	var seen []Inbox
	for in, err := range New(s.URL, "").Inboxes(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, in)
	}
	if len(seen) != 2 || seen[0].Damaged || seen[1].Address != "lost@b.test" || !seen[1].Damaged {
		t.Errorf("%+v", seen)
	}
}

func TestDamagedMeetingsAreNamed(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte(`{"events":[{"id":3}],"next_cursor":null,"damaged":[2,7]}`))
	}))
	defer s.Close()
	var seen []int64
	for m, err := range New(s.URL, "").Calendar("a@b.test").Meetings(t.Context(), MeetingQuery{}) {
		if err != nil || m.Damaged != (m.ID != 3) {
			t.Fatal(m, err)
		}
		seen = append(seen, m.ID)
	}
	if !slices.Equal(seen, []int64{3, 2, 7}) {
		t.Errorf("%d", seen)
	}
}
