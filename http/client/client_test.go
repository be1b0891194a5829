package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
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
	c, _ := scripted(t, 429, map[string]string{"Retry-After": "7", "X-Request-Id": "r1"}, `{"detail":"Too many tries","code":"rate_limited","field":"email"}`)
	_, err := c.Inbox(t.Context(), "a@b.test")
	var e *Error
	if !errors.As(err, &e) || *e != (Error{Status: 429, Detail: "Too many tries", Code: "rate_limited", Field: "email", RetryAfter: 7 * time.Second, RequestID: "r1"}) || err.Error() != "Too many tries (HTTP 429, request r1)" {
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

// TestOpenChecks: what cannot work is reported before the first request, and by the first call of a
// client of New.
func TestOpenChecks(t *testing.T) {
	for _, wrong := range []struct{ base, credential, err string }{
		{"localhost:8080", "svc_live_x", `invalid base URL "localhost:8080": use a URL such as http://127.0.0.1:8080 or https://mail.example.com`},
		{"ftp://inbox.test", "svc_live_x", `invalid base URL "ftp://inbox.test": use`},
		{"http://", "svc_live_x", `invalid base URL "http:": use`},
		{"http://inbox.test/?a=b", "svc_live_x", `invalid base URL`},
		{"", "", "the API key is missing: set INBOX_API_KEY"},
		{"", "svc_live_x\n", "the API key contains characters that are invalid in a key"},
	} {
		if c, err := Open(wrong.base, wrong.credential); c != nil || err == nil || !strings.HasPrefix(err.Error(), wrong.err) {
			t.Errorf("%q %q: %v", wrong.base, wrong.credential, err)
		}
	}
	if c, err := Open("", "svc_live_x"); err != nil || c.BaseURL != "http://127.0.0.1:8080" {
		t.Errorf("the default: %+v %v", c, err)
	}
	c := New("localhost:8080", "svc_live_x")
	c.HTTP = &http.Client{Transport: panics{}}
	if _, err := c.Inbox(t.Context(), "a@b.test"); err == nil || !strings.Contains(err.Error(), `invalid base URL "localhost:8080": use`) {
		t.Errorf("the first call: %v", err)
	}
}

// panics fails a test that makes a request.
type panics struct{}

func (panics) RoundTrip(*http.Request) (*http.Response, error) { panic("a request was made") }

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
