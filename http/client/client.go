package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Client makes calls with one credential. It is safe for concurrent use. Set its fields before the
// first call.
type Client struct {
	// BaseURL is the URL of the service, such as "http://127.0.0.1:8080".
	BaseURL string
	// Credential is a session token or an API key. It is empty for calls that need none.
	Credential string
	// HTTP makes the requests. Nil: a client that all Clients share, with up to 1,000 idle
	// connections. Its Timeout, if set, must be longer than the longest wait requested. Redirects
	// are followed only if it has a CheckRedirect, because the credential is sent along.
	HTTP *http.Client
	// Retries is how often a call is retried where that is safe (ADR 0083). 0: twice; negative:
	// never.
	Retries int
	// Timeout limits a call with its retries, not counting the wait that it requests. 0: 30 s;
	// negative: only the context limits it. Streams have no timeout.
	Timeout time.Duration
}

// Open returns a client like New, or an error with what to do if the base URL is invalid, or the
// credential is missing or cannot be one. It makes no request.
func Open(base, credential string) (*Client, error) {
	c := New(base, credential)
	if u, err := url.Parse(c.BaseURL); err != nil || !isHTTP(u) || u.RawQuery != "" || u.Fragment != "" {
		return nil, baseError(c.BaseURL)
	}
	switch {
	case credential == "":
		return nil, errors.New("the API key is missing: set INBOX_API_KEY to a key of the service, svc_live_… or svc_sk_…")
	case strings.ContainsFunc(credential, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return nil, errors.New("the API key contains characters that are invalid in a key. Copy the key again")
	}
	return c, nil
}

func isHTTP(u *url.URL) bool {
	return (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

func baseError(base string) error {
	return fmt.Errorf("invalid base URL %q: use a URL such as http://127.0.0.1:8080 or https://mail.example.com", base)
}

// New returns a client of the service at base, by default "http://127.0.0.1:8080". The credential
// may be empty. Open also checks both.
func New(base, credential string) *Client {
	return &Client{BaseURL: strings.TrimRight(cmp.Or(base, "http://127.0.0.1:8080"), "/"), Credential: credential}
}

// With returns a client of the same service with another credential.
func (c *Client) With(credential string) *Client {
	other := *c
	other.Credential = credential
	return &other
}

// Error is a response of the service other than success.
type Error struct {
	Status     int           // HTTP status
	Detail     string        // one sentence for a person
	Code       string        // what went wrong, for a program: one of ErrorCode of the contract
	Field      string        // member of the body, query parameter or header field that caused it, or empty
	RetryAfter time.Duration // of 429 and 503; zero: not given
	RequestID  string        // identifies the call in the server's log
	Foreign    bool          // the response is not from the service; Detail quotes it
}

func (e *Error) Error() string {
	if e.RequestID == "" {
		return fmt.Sprintf("%s (HTTP %d)", e.Detail, e.Status)
	}
	return fmt.Sprintf("%s (HTTP %d, request %s)", e.Detail, e.Status, e.RequestID)
}

// StatusOf returns the HTTP status of an Error, or 0 for any other error.
func StatusOf(err error) int {
	var e *Error
	if errors.As(err, &e) {
		return e.Status
	}
	return 0
}

// maxErrorBody limits how much of an error response is read, in bytes.
const maxErrorBody = 64 << 10

// apiCall is one call of the API.
type apiCall struct {
	method, path   string
	queryValues    url.Values
	in             any         // sent as JSON; nil: no body
	extraHeader    http.Header // more fields; may be nil
	requiredMember string      // required in the response; empty: none
	isRepeatable   bool        // safe to execute twice, although its method does not imply it
	isNamed        bool        // has an idempotency key, or gets one
}

// withName returns the call with an idempotency key, so that a retry gets the first response. If key
// is empty, one is generated when the client retries calls.
func (k apiCall) withName(name string) apiCall {
	if k.isNamed = true; name != "" {
		k.extraHeader = http.Header{idempotencyKey: {name}}
	}
	return k
}

// openCall sends the request and returns a 2xx or 304 response, whose body the caller closes.
func openCall(ctx context.Context, c *Client, k apiCall) (*http.Response, error) {
	var body io.Reader
	if k.in != nil {
		b, err := json.Marshal(k.in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(b)
	}
	target := c.BaseURL + k.path
	if len(k.queryValues) > 0 {
		target += "?" + k.queryValues.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, k.method, target, body)
	if err == nil && !isHTTP(req.URL) {
		err = &url.Error{Op: "parse", URL: c.BaseURL, Err: baseError(c.BaseURL)}
	}
	if err != nil {
		return nil, err
	}
	for name, values := range k.extraHeader {
		req.Header[name] = values
	}
	setIdentity(c, req.Header)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := httpClient(c).Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 == 2 || resp.StatusCode == http.StatusNotModified {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, refusedError(resp)
}

func httpClient(c *Client) *http.Client {
	switch {
	case c.HTTP == nil:
		return sharedClient
	case c.HTTP.CheckRedirect != nil:
		return c.HTTP
	}
	own := *c.HTTP
	own.CheckRedirect = stopRedirect
	return &own
}

// stopRedirect returns a redirect to the caller. Following it would send the credential to another
// server.
func stopRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Transport returns the transport of clients without an HTTP of their own, for callers that wrap
// it.
func Transport() http.RoundTripper { return sharedClient.Transport }

// sharedClient keeps many idle connections, so that many waits can reuse them.
var sharedClient = func() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 0, 1000
	return &http.Client{Transport: t, CheckRedirect: stopRedirect}
}()

func setIdentity(c *Client, h http.Header) {
	switch {
	case c.Credential == "":
	case strings.HasPrefix(c.Credential, "svc_sess_"):
		h.Set("Authorization", "Bearer "+c.Credential)
	default:
		h.Set("X-API-Key", c.Credential)
	}
}

func refusedError(resp *http.Response) error {
	e := &Error{Status: resp.StatusCode, RequestID: resp.Header.Get("X-Request-Id")}
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if err != nil {
		return err
	}
	var said struct{ Detail, Code, Field string }
	if json.Unmarshal(b, &said) == nil && said.Detail != "" {
		e.Detail, e.Code, e.Field = said.Detail, said.Code, said.Field
	} else {
		e.Detail, e.Foreign = fmt.Sprintf("%s: %.200q", resp.Status, b), true // such as a proxy's page
	}
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
		e.RetryAfter = time.Duration(s) * time.Second
	}
	return e
}

// do makes the call and decodes the response into out; nil: the response is ignored.
func do(ctx context.Context, c *Client, k apiCall, out any) error {
	return attemptCall(ctx, c, k, func(resp *http.Response) error {
		b, err := io.ReadAll(resp.Body)
		switch {
		case err != nil, out == nil && k.requiredMember == "", resp.StatusCode == http.StatusNotModified:
			return err
		case k.requiredMember != "" && !bytes.Contains(b, []byte(`"`+k.requiredMember+`"`)):
			return foreignResponse(resp, b)
		case out != nil && json.Unmarshal(b, out) != nil:
			return foreignResponse(resp, b)
		}
		return nil
	})
}

// foreignResponse returns the error for a response that is not from the service or is truncated.
func foreignResponse(resp *http.Response, body []byte) error {
	return &Error{Status: resp.StatusCode, Detail: fmt.Sprintf("%s: %.200q", resp.Status, body), Foreign: true}
}

// Request is a call of the API whose response is returned unchanged, including fields that later
// versions of the service add.
type Request struct {
	Method, Path string
	Query        url.Values
	In           any // sent as JSON; nil: no body

	// IdempotencyKey makes a repeated POST return the first response again, for 24 hours.
	IdempotencyKey string
}

// Do makes the call and returns the JSON of its response.
func (c *Client) Do(ctx context.Context, r Request) (json.RawMessage, error) {
	return fetchJSON[json.RawMessage](ctx, c, apiCall{method: r.Method, path: r.Path, queryValues: r.Query, in: r.In}.withName(r.IdempotencyKey))
}

// InboxPath returns the path of an inbox in the API, followed by rest, for Do.
func InboxPath(address string, rest ...string) string { return inboxPath(address, rest...) }

// fetchJSON makes the call and returns its decoded response.
func fetchJSON[T any](ctx context.Context, c *Client, k apiCall) (out T, err error) {
	err = do(ctx, c, k, &out)
	return out, err
}

// inboxPath returns the path of an inbox in the API, followed by rest.
func inboxPath(address string, rest ...string) string {
	var b strings.Builder
	b.WriteString("/api/v1/inboxes/" + url.PathEscape(address))
	for _, part := range rest {
		b.WriteString("/" + url.PathEscape(part))
	}
	return b.String()
}

func formatID(n int64) string { return strconv.FormatInt(n, 10) }
