package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func received(subject string) string {
	return `{"event":"message.received","inbox":"a@b.test","from":"x@y.test","received_at":"2026-11-21T09:30:01.214Z","subject":"` + subject + `","otp":null}`
}

func TestPolledEventsHaveCursors(t *testing.T) {
	c, got := scripted(t, 200, nil, `{"events":[`+received("one")+`,`+received("two")+`],"next":"c2","gap":true}`)
	page, err := c.Events(t.Context(), EventQuery{Inbox: "a@b.test", After: "c0", Wait: 3 * time.Second, Limit: 7})
	if err != nil || len(page.Events) != 2 || page.Next != "c2" || !page.Gap {
		t.Fatalf("%+v %v", page, err)
	}
	if want := "/api/v1/inboxes/a@b.test/events?after=c0&limit=7&wait=3"; got.RequestURI != want {
		t.Errorf("%s, want %s", got.RequestURI, want)
	}
	one, two := page.Events[0], page.Events[1]
	if one.Cursor != "c0" || two.Cursor != "c2" || two.Subject != "two" || two.OTP != "" || two.ReceivedAt.IsZero() || string(two.Raw) != received("two") {
		t.Errorf("%+v %+v", one, two)
	}
	for e, err := range c.PollEvents(t.Context(), EventQuery{}) {
		if err != nil || e.Name != "message.received" {
			t.Fatalf("%+v %v", e, err)
		}
		if e.Subject == "two" {
			break
		}
	}
}

func TestKeysAreListedInPages(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Query().Get("cursor") {
		case "":
			io.WriteString(w, `{"keys":[{"id":1},{"id":2}],"next_cursor":"p 2"}`)
		case "p 2":
			io.WriteString(w, `{"keys":[{"id":3,"inbox":"a@b.test"}],"next_cursor":null}`)
		default:
			w.WriteHeader(422)
		}
	}))
	defer s.Close()
	var ids []int64
	for k, err := range New(s.URL, "").Keys(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, k.ID)
	}
	if !slices.Equal(ids, []int64{1, 2, 3}) {
		t.Errorf("%v", ids)
	}
}

// TestStreamComesBack: after an interruption it resumes after the last complete block.
func TestStreamComesBack(t *testing.T) {
	const event = "text/event-stream"
	answers := []struct {
		status     int
		kind, body string
	}{
		{200, event, "retry: 1\nid: c0\n\n:\n\nid: c1\nevent: message.received\ndata: " + received("one") + "\n\nid: c2\ndata: " + received("lost")},
		{503, "application/json", `{"detail":"The service is busy, try again soon"}`},
		{200, event, "retry: 1\nid: c1\n\nid: c2\ndata: " + strings.Replace(received("two"), `,"subject"`, ",\ndata: \"subject\"", 1) + "\n\n"},
		{401, "application/json", `{"detail":"A valid API key is required"}`},
	}
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := answers[len(asked)]
		asked = append(asked, r.URL.String()+" "+r.Header.Get("Accept")+" "+r.Header.Get("Last-Event-ID"))
		w.Header().Set("Content-Type", a.kind)
		w.WriteHeader(a.status)
		io.WriteString(w, a.body)
	}))
	defer s.Close()
	var reported []string
	for e, err := range New(s.URL, "svc_live_k").StreamEvents(t.Context(), EventQuery{After: "c0"}) {
		reported = append(reported, fmt.Sprint(e.Subject, e.Cursor, StatusOf(err)))
	}
	if want := []string{"onec10", "twoc20", "401"}; !slices.Equal(reported, want) {
		t.Errorf("told %q, want %q", reported, want)
	}
	path := "/api/v1/events text/event-stream "
	if want := []string{path + "c0", path + "c1", path + "c1", path + "c2"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
}

// TestStreamThatNeverWas ends with the reason, and does not retry forever.
func TestStreamThatNeverWas(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	reading := func(kind, body string) *Client {
		c, _ := scripted(t, 200, map[string]string{"Content-Type": kind}, body)
		return c
	}
	for name, c := range map[string]*Client{
		"nobody there": New(closed.URL, ""),
		"JSON":         reading("application/json", `{"events":[]}`),
		"no event":     reading("text/event-stream", "retry: 1\ndata: {\n\n"),
		"endless line": reading("text/event-stream", "data: "+strings.Repeat("x", maxStreamLine)),
	} {
		var ends []error
		for e, err := range c.StreamEvents(t.Context(), EventQuery{}) {
			ends = append(ends, err)
			if e.Name != "" || len(ends) > 1 {
				t.Fatalf("%s: %+v %v", name, e, err)
			}
		}
		if len(ends) != 1 || ends[0] == nil || StatusOf(ends[0]) != 0 {
			t.Errorf("%s: %v", name, ends)
		}
	}
}

// silentServer responds with a stream that begins and then sends nothing, until the request ends.
type silentServer struct{ asked []time.Time }

func (s *silentServer) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked = append(s.asked, time.Now())
	in, out := io.Pipe()
	go io.WriteString(out, "retry: 1000\nid: c0\n\n")
	context.AfterFunc(r.Context(), func() { out.CloseWithError(r.Context().Err()) })
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: in, Request: r}, nil
}

// TestSilentStreamIsGivenUp: the client reconnects if a connection sends nothing.
func TestSilentStreamIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), maxSilence+10*time.Second)
		defer cancel()
		server := &silentServer{}
		c := New("http://service.test", "")
		c.HTTP = &http.Client{Transport: server}
		var end error
		for _, err := range c.StreamEvents(ctx, EventQuery{}) {
			end = err
		}
		if !errors.Is(end, context.DeadlineExceeded) || len(server.asked) != 2 || server.asked[1].Sub(server.asked[0]) != maxSilence+time.Second {
			t.Errorf("asked at %v, ended with %v", server.asked, end)
		}
	})
}
