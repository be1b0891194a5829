// Package client calls the inbox service over HTTP: accounts and keys, inboxes, mail, events,
// own domains. It knows the public contract (/openapi.json) and nothing of the server behind
// it; every call takes a context, and every refusal is an *Error that holds the server's own
// sentence.
package client

import (
	"bytes"
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

// Client speaks for one credential. It is safe for concurrent use; its fields are set
// before the first call.
type Client struct {
	// BaseURL is where the service is, "http://127.0.0.1:8080".
	BaseURL string
	// Credential is a session token or an API key; empty for the calls that need none.
	Credential string
	// HTTP carries the calls; nil is http.DefaultClient. A Timeout of its own must be
	// longer than the longest wait asked for.
	HTTP *http.Client
}

// New returns a client of the service at base with a credential, which may be empty.
func New(base, credential string) *Client {
	return &Client{BaseURL: strings.TrimRight(base, "/"), Credential: credential}
}

// With returns a client of the same service with another credential.
func (c *Client) With(credential string) *Client {
	other := *c
	other.Credential = credential
	return &other
}

// Error is a refusal of the service.
type Error struct {
	Status     int           // HTTP status
	Detail     string        // one sentence for a person
	RetryAfter time.Duration // of 429 and 503; zero: not said
	RequestID  string        // finds the call in the server's log
	Foreign    bool          // not the service's own sentence: somebody else answered, and Detail quotes it
}

func (e *Error) Error() string { return fmt.Sprintf("%s (HTTP %d)", e.Detail, e.Status) }

// StatusOf returns the HTTP status of a refusal, 0 for any other error.
func StatusOf(err error) int {
	var e *Error
	if errors.As(err, &e) {
		return e.Status
	}
	return 0
}

// maxErrorBody bounds what is read of a refusal, in bytes.
const maxErrorBody = 64 << 10

// call is one request on its way.
type call struct {
	method, path string
	query        url.Values
	in           any         // sent as JSON; nil: no body
	header       http.Header // more fields; may be nil
}

// named gives a call a name, so that its repeats get the first answer; empty: none.
func (k call) named(name string) call {
	if name != "" {
		k.header = http.Header{"Idempotency-Key": {name}}
	}
	return k
}

// open sends the call and returns a 2xx or 304 answer, whose body the caller closes.
func (c *Client) open(ctx context.Context, k call) (*http.Response, error) {
	var body io.Reader
	if k.in != nil {
		b, err := json.Marshal(k.in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(b)
	}
	target := c.BaseURL + k.path
	if len(k.query) > 0 {
		target += "?" + k.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, k.method, target, body)
	if err != nil {
		return nil, err
	}
	for name, values := range k.header {
		req.Header[name] = values
	}
	c.identify(req.Header)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.client().Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 == 2 || resp.StatusCode == http.StatusNotModified {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, refusal(resp)
}

func (c *Client) client() *http.Client {
	if c.HTTP != nil {
		return c.HTTP
	}
	return http.DefaultClient
}

func (c *Client) identify(h http.Header) {
	switch {
	case c.Credential == "":
	case strings.HasPrefix(c.Credential, "svc_sess_"):
		h.Set("Authorization", "Bearer "+c.Credential)
	default:
		h.Set("X-API-Key", c.Credential)
	}
}

func refusal(resp *http.Response) error {
	e := &Error{Status: resp.StatusCode, RequestID: resp.Header.Get("X-Request-Id")}
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if err != nil {
		return err
	}
	var said struct{ Detail string }
	if json.Unmarshal(b, &said) == nil && said.Detail != "" {
		e.Detail = said.Detail
	} else {
		e.Detail, e.Foreign = fmt.Sprintf("%s: %.200q", resp.Status, b), true // a proxy, perhaps
	}
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
		e.RetryAfter = time.Duration(s) * time.Second
	}
	return e
}

// do makes the call and decodes the answer into out; nil: it says nothing of interest.
func (c *Client) do(ctx context.Context, k call, out any) error {
	resp, err := c.open(ctx, k)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if out == nil || resp.StatusCode == http.StatusNotModified {
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, out); err != nil {
		return &Error{Status: resp.StatusCode, Detail: fmt.Sprintf("%s: %.200q", resp.Status, b), Foreign: true}
	}
	return nil
}

// Request is a call of the API whose answer is wanted as it came, to be passed on: with what later
// versions of the service add.
type Request struct {
	Method, Path string
	Query        url.Values
	In           any // sent as JSON; nil: no body

	// IdempotencyKey makes a repeated POST give the first answer again, for 24 hours.
	IdempotencyKey string
}

// Do makes the call and returns the JSON of its answer.
func (c *Client) Do(ctx context.Context, r Request) (json.RawMessage, error) {
	return fetch[json.RawMessage](ctx, c, call{method: r.Method, path: r.Path, query: r.Query, in: r.In}.named(r.IdempotencyKey))
}

// InboxPath is the path of an inbox on the agent surface, with what follows, for Do.
func InboxPath(address string, rest ...string) string { return inboxPath(address, rest...) }

// fetch makes the call and returns its decoded answer.
func fetch[T any](ctx context.Context, c *Client, k call) (out T, err error) {
	err = c.do(ctx, k, &out)
	return out, err
}

// inboxPath is the path of an inbox on the agent surface, with what follows.
func inboxPath(address string, rest ...string) string {
	var b strings.Builder
	b.WriteString("/api/v1/inboxes/" + url.PathEscape(address))
	for _, part := range rest {
		b.WriteString("/" + url.PathEscape(part))
	}
	return b.String()
}

func number(n int64) string { return strconv.FormatInt(n, 10) }
