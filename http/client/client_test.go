package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// scripted responds to every request with the same bytes and records the latest request.
func scripted(t *testing.T, status int, header map[string]string, body string) (*Client, *http.Request) {
	got := new(http.Request)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*got = *r
		sent, _ := io.ReadAll(r.Body)
		got.Form = map[string][]string{"body": {string(sent)}}
		for k, v := range header {
			w.Header().Set(k, v)
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	c := New(s.URL, "svc_live_secret")
	c.Retries = -1
	return c, got
}

func TestRefusalsAreTyped(t *testing.T) {
	c, _ := scripted(t, 429, map[string]string{"Retry-After": "7", "X-Request-Id": "r1"}, `{"detail":"Too many tries"}`)
	_, err := c.Inbox(t.Context(), "a@b.test")
	var e *Error
	if !errors.As(err, &e) || *e != (Error{Status: 429, Detail: "Too many tries", RetryAfter: 7 * time.Second, RequestID: "r1"}) || err.Error() != "Too many tries (HTTP 429, request r1)" {
		t.Errorf("%#v", err)
	}
	if StatusOf(err) != 429 || StatusOf(io.EOF) != 0 {
		t.Error("StatusOf")
	}
	c, _ = scripted(t, 502, nil, "<html>bad gateway</html>")
	if _, err := c.Inbox(t.Context(), "a@b.test"); err.Error() != `502 Bad Gateway: "<html>bad gateway</html>" (HTTP 502)` {
		t.Error(err)
	}
}

func TestRequestsAreWellFormed(t *testing.T) {
	c, got := scripted(t, 200, nil, `{"email":null,"address":""}`)
	m, err := c.Latest(t.Context(), "a+b/c@d.test", LatestQuery{After: 3, Wait: 2 * time.Second, OTP: true, From: "x y", Fields: []string{"id", "otp_code"}})
	if m != nil || err != nil {
		t.Errorf("%v %v", m, err)
	}
	if want := "/api/v1/inboxes/a+b%2Fc@d.test/latest?after=3&fields=id%2Cotp_code&from=x+y&otp=true&wait=2"; got.RequestURI != want {
		t.Errorf("%s, want %s", got.RequestURI, want)
	}
	if got.Header.Get("X-Api-Key") != "svc_live_secret" || got.Header.Get("Authorization") != "" {
		t.Errorf("%v", got.Header)
	}
	if _, err := c.With("svc_sess_s").CreateInbox(t.Context(), InboxOrder{Prefix: "p", IdempotencyKey: "k"}); err != nil {
		t.Error(err)
	}
	if got.Header.Get("Authorization") != "Bearer svc_sess_s" || got.Header.Get("Idempotency-Key") != "k" || got.Form.Get("body") != `{"prefix":"p"}` {
		t.Errorf("%v %v", got.Header, got.Form)
	}
}

func TestHeaderValues(t *testing.T) {
	c, _ := scripted(t, 200, nil, `{"email":{"id":1,"headers":{"From":"a","Received":["x","y"]},"otp_code":null}}`)
	m, err := c.Message(t.Context(), "a@b.test", 1)
	if err != nil || len(m.Headers["From"]) != 1 || len(m.Headers["Received"]) != 2 || m.OTPCode != "" {
		t.Errorf("%+v %v", m, err)
	}
}

func TestContextEndsACall(t *testing.T) {
	hold := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hold }))
	defer s.Close()
	defer close(hold)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := New(s.URL, "").WaitForOTP(ctx, "a@b.test", 0); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
