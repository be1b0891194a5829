package client

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// against returns a client of a server that responds to the nth request, from 1, with answer.
func against(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, n int)) (c *Client, asked func() int) {
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		answer(w, r, int(n.Add(1)))
	}))
	t.Cleanup(s.Close)
	c = New(s.URL, "svc_live_x")
	c.Timeout = 30 * time.Second
	return c, func() int { return int(n.Load()) }
}

// breakOff ends a connection without a response.
func breakOff(w http.ResponseWriter) {
	conn, _, _ := http.NewResponseController(w).Hijack()
	conn.Close()
}

func TestStrangeAnswersAreNamed(t *testing.T) {
	c, asked := against(t, func(w http.ResponseWriter, r *http.Request, n int) {
		w.WriteHeader(500)
		io.WriteString(w, "<html>oops")
	})
	var e *Error
	if _, err := c.Latest(t.Context(), "a@b.test", LatestQuery{}); !errors.As(err, &e) || !e.Foreign || e.Status != 500 || !strings.Contains(e.Detail, "<html>oops") || asked() != 3 {
		t.Errorf("a page of HTML, asked for %d times: %v", asked(), err)
	}
	if err := c.DeleteMessage(t.Context(), "a@b.test", 7); err == nil || asked() != 4 {
		t.Errorf("a deletion was repeated: %d %v", asked(), err)
	}
	for _, body := range []string{`{"email":{"id":`, `{"hello":1}`, `<html>welcome`} {
		c, asked := against(t, func(w http.ResponseWriter, r *http.Request, n int) { io.WriteString(w, body) })
		if _, err := c.Message(t.Context(), "a@b.test", 7); !errors.As(err, &e) || !e.Foreign || asked() != 1 {
			t.Errorf("%s: %v", body, err)
		}
		if err := c.MarkRead(t.Context(), "a@b.test", 7, true); !errors.As(err, &e) || !e.Foreign {
			t.Errorf("%s for a mark: %v", body, err)
		}
	}
	c, _ = against(t, func(w http.ResponseWriter, r *http.Request, n int) {
		w.Header().Set("Location", "http://127.0.0.1:1/")
		w.WriteHeader(302)
	})
	if _, err := c.Inbox(t.Context(), "a@b.test"); StatusOf(err) != 302 {
		t.Errorf("a redirect was followed: %v", err)
	}
}

func TestOnlyWhatDoesNoHarmIsRepeated(t *testing.T) {
	var names []string
	c, _ := against(t, func(w http.ResponseWriter, r *http.Request, n int) {
		names = append(names, r.Header.Get("Idempotency-Key"))
		switch n {
		case 1:
			breakOff(w)
		case 2:
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(503)
			io.WriteString(w, `{"detail":"busy"}`)
		default:
			io.WriteString(w, `{"address":"a@b.test"}`)
		}
	})
	in, err := c.CreateInbox(t.Context(), InboxOrder{})
	if err != nil || in.Address != "a@b.test" || len(names) != 3 || names[0] == "" || names[0] != names[1] || names[1] != names[2] {
		t.Errorf("a creation and its repeats: %+v %v %q", in, err, names)
	}
	if c.CreateInbox(t.Context(), InboxOrder{}); names[3] == names[0] {
		t.Error("two creations have one name")
	}
	c, asked := against(t, func(w http.ResponseWriter, r *http.Request, n int) { breakOff(w) })
	if _, err := c.BurnInbox(t.Context(), "a@b.test"); err == nil || asked() != 1 {
		t.Errorf("burning was repeated: %d %v", asked(), err)
	}
	c, asked = against(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 1 { // it is interrupted during the response
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, `{"email"`)
			return
		}
		io.WriteString(w, `{"email":null}`)
	})
	if m, err := c.Latest(t.Context(), "a@b.test", LatestQuery{}); m != nil || err != nil || asked() != 2 {
		t.Errorf("an answer that breaks off: %v %v after %d", m, err, asked())
	}
}

func TestACallEndsAtItsTime(t *testing.T) {
	hold := make(chan struct{})
	c, _ := against(t, func(w http.ResponseWriter, r *http.Request, n int) { <-hold })
	defer close(hold)
	c.Timeout = 50 * time.Millisecond
	if _, err := c.Inbox(t.Context(), "a@b.test"); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "GET /api/v1/inboxes/a@b.test: no response within 50ms") {
		t.Error(err)
	}
	nobody := New("http://127.0.0.1:1", "")
	nobody.Retries = -1
	if _, err := nobody.Inbox(t.Context(), "a@b.test"); err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Error(err)
	}
	if _, err := nobody.WaitForOTP(t.Context(), "a@b.test", 0); err == nil {
		t.Error("a wait for nobody ends well")
	}
}

// TestHeldBackStreamsBecomePolls: something on the way buffers the stream, including its header or
// from its first block on.
func TestHeldBackStreamsBecomePolls(t *testing.T) {
	for _, flushed := range []bool{true, false} {
		done := make(chan struct{})
		var polls []string
		c, _ := against(t, func(w http.ResponseWriter, r *http.Request, n int) {
			if r.Header.Get("Accept") == "text/event-stream" {
				if flushed {
					w.Header().Set("Content-Type", "text/event-stream")
					http.NewResponseController(w).Flush()
				}
				select {
				case <-done:
				case <-r.Context().Done():
				}
				return
			}
			polls = append(polls, r.URL.RequestURI())
			if len(polls) == 1 {
				io.WriteString(w, `{"events":[],"next":"c1"}`)
				return
			}
			io.WriteString(w, `{"events":[{"event":"message.received","inbox":"a@b.test"}],"next":"c2"}`)
		})
		for e, err := range followEvents(t.Context(), c, EventQuery{}, 50*time.Millisecond) {
			if err != nil || e.Cursor != "c2" {
				t.Errorf("%+v %v", e, err)
			}
			break
		}
		close(done)
		if want := []string{"/api/v1/events?after=now", "/api/v1/events?after=c1&wait=60"}; !slices.Equal(polls, want) {
			t.Errorf("%q, want %q", polls, want)
		}
	}
}

// TestPagesWithoutIds: paging uses the ids, so they are requested even if fields omit them.
func TestPagesWithoutIds(t *testing.T) {
	var asked []string
	c, _ := against(t, func(w http.ResponseWriter, r *http.Request, n int) {
		asked = append(asked, r.URL.Query().Get("fields")+" "+r.URL.Query().Get("before"))
		fmt.Fprintf(w, `{"emails":[{"id":%d,"subject":"s"}],"has_more":%t}`, 9-n, n < 2)
	})
	for m, err := range c.EachMessage(t.Context(), Tagged("a@b.test", "lane"), MessageQuery{Fields: []string{"subject"}}) {
		if err != nil || m.Subject != "s" {
			t.Fatal(m, err)
		}
	}
	if !slices.Equal(asked, []string{"id,subject ", "id,subject 8"}) {
		t.Errorf("asked for %q", asked)
	}
	if got := Tagged("a@b.test", "lane"); got != "a+lane@b.test" {
		t.Error(got)
	}
}

func TestAWaitPassesOverWhatIsDeletedMeanwhile(t *testing.T) {
	c, _ := against(t, func(w http.ResponseWriter, r *http.Request, n int) {
		id := 3
		switch {
		case strings.HasSuffix(r.URL.Path, "/messages"):
			io.WriteString(w, `{"emails":[{"id":2}],"has_more":false}`)
		case strings.HasSuffix(r.URL.Path, "/messages/4/read"):
			io.WriteString(w, `{"claimed":true}`)
		case !strings.HasSuffix(r.URL.Path, "/latest"):
			w.WriteHeader(404)
			io.WriteString(w, `{"detail":"Message not found"}`)
		default:
			if r.URL.Query().Get("after") == "3" {
				id = 4
			}
			fmt.Fprintf(w, `{"email":{"id":%d}}`, id)
		}
	})
	if m, err := c.WaitForMessage(t.Context(), "a@b.test", Wait{Claim: true}); err != nil || m.ID != 4 {
		t.Errorf("%+v %v", m, err)
	}
}

func TestWebhooksAreBelievedWhenAllIsAsItWasSigned(t *testing.T) {
	secret := "whsec_" + base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdef"))
	body := []byte(`{"event":"message.received","inbox":"a@b.test","subject":"ü"}`)
	// With openssl: printf 'evt_1.1790000000.%s' "$body" | openssl dgst -sha256 -hmac
	// 0123456789abcdef0123456789abcdef -binary | base64
	now, signature := time.Unix(1790000000, 0), "XRsfkRNHXq8jAohBt2DXqchTjKb7b/SM8mHrVE263+8="
	header := http.Header{"Webhook-Id": {"evt_1"}, "Webhook-Timestamp": {"1790000000"}, "Webhook-Signature": {"v1,bm8= v1," + signature}}
	if e, err := VerifyWebhookAt(body, header, secret, now.Add(290*time.Second), Tolerance); err != nil || e.Name != "message.received" || e.Subject != "ü" {
		t.Errorf("%+v %v", e, err)
	}
	for i := range body {
		changed := slices.Clone(body)
		changed[i] ^= 1
		if _, err := VerifyWebhookAt(changed, header, secret, now, Tolerance); !errors.Is(err, ErrWebhook) {
			t.Errorf("byte %d changed: %v", i, err)
		}
	}
	without := header.Clone()
	without.Del("webhook-id")
	for _, c := range []struct {
		header http.Header
		secret string
		off    time.Duration
		why    string
	}{
		{header, "whsec_AAAA", 0, "no signature matches"},
		{header, "whsec_%", 0, "use whsec_ followed by base64"},
		{header, "whsec_", 0, "use whsec_ followed by base64"},
		{header, secret, 301 * time.Second, "signed 301 seconds ago"},
		{header, secret, -400 * time.Second, "400 seconds ahead of this clock"},
		{without, secret, 0, "webhook-id, webhook-timestamp or webhook-signature is missing"},
	} {
		if _, err := VerifyWebhookAt(body, c.header, c.secret, now.Add(c.off), Tolerance); !errors.Is(err, ErrWebhook) || !strings.Contains(fmt.Sprint(err), c.why) {
			t.Errorf("%q: %v", c.why, err)
		}
	}
	if _, err := VerifyWebhook(body, header, secret); !errors.Is(err, ErrWebhook) {
		t.Errorf("by the clock of this machine: %v", err)
	}
}

// TestWaitsShareConnections: a thousand waits, ten at a time, use few connections.
func TestWaitsShareConnections(t *testing.T) {
	var opened atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"email":{"id":1,"otp_code":"482913"}}`)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	s.Start()
	defer s.Close()
	c := New(s.URL, "svc_live_x")
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			for range 100 {
				if m, err := c.WaitForOTP(t.Context(), "a@b.test", 0); err != nil || m.OTPCode != "482913" {
					t.Errorf("%+v %v", m, err)
				}
			}
		})
	}
	all.Wait()
	if n := opened.Load(); n > 20 { // a dial may already be under way when another connection becomes idle
		t.Errorf("%d connections were opened", n)
	}
}
