package client

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
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

// sending answers with the statuses in turn, the last one again and again.
func sending(t *testing.T, statuses ...SendStatus) *Client {
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := min(int(asked.Add(1)), len(statuses)) - 1
		w.Write([]byte(`{"email":{"id":7,"send_status":` + strconv.Quote(string(statuses[n])) + `,"recipients":[{"email":"x@far.test","status":"retrying","error":"451 later"}]}}`))
	}))
	t.Cleanup(s.Close)
	return New(s.URL, "")
}

func TestWaitUntilSent(t *testing.T) {
	for _, last := range []SendStatus{StatusSent, StatusUnsigned, StatusFailed} {
		m, err := sending(t, StatusQueued, StatusRetrying, last).WaitUntilSent(t.Context(), "a@b.test", 7)
		if err != nil || m.SendStatus != last || m.SendStatus.Delivered() != (last != StatusFailed) {
			t.Errorf("%s: %+v %v", last, m, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 80*time.Millisecond)
	defer cancel()
	m, err := sending(t, StatusRetrying).WaitUntilSent(ctx, "a@b.test", 7)
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

// TestDamagedInboxesAreNamed: whoever goes through all inboxes meets those that are lost.
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
