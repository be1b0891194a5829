// Package post calls webhooks: receivers that strangers chose, over HTTP/1.1. It knows URLs,
// bytes and responses; it refuses to know subscriptions, schedules and what becomes of a
// delivery.
package post

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/base/netguard"
	"inboxd/internal/core/webhook"
)

const (
	callTimeout   = 10 * time.Second // of a whole call (specification, Webhooks)
	checkTimeout  = 2 * time.Second  // of a look-up before a URL is taken
	responseBytes = 64 << 10         // read of a response's body and dropped
	headBytes     = 16 << 10         // of a response's head, interim responses included

	idleTimeout = 30 * time.Second // of a connection that waits for the next call
	idleInAll   = 1024
	idlePerHost = 32
	// A call that waits for its response holds both buffers. A bigger head is read in steps.
	readBufferBytes  = 1 << 10
	writeBufferBytes = 2 << 10 // a call in one write, nearly always
)

// Caller calls receivers. It follows no redirect and no proxy variable, checks the address
// of every connection it opens, and reads a bounded part of what comes back (ADR 0034). Any
// goroutine may use it; nothing of it changes.
type Caller struct {
	guard     netguard.Policy
	resolver  *net.Resolver
	transport *http.Transport
	timeout   time.Duration // callTimeout
}

// New returns a Caller that connects where guard lets it, and asks resolver where hosts are;
// nil is the system's.
func New(guard netguard.Policy, resolver *net.Resolver) *Caller {
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	dialer := net.Dialer{Control: guard.Control, Resolver: resolver, KeepAlive: -1} // no connection gets that old
	return &Caller{
		guard: guard, resolver: resolver, timeout: callTimeout,
		transport: &http.Transport{
			DialContext: dialer.DialContext, TLSClientConfig: &tls.Config{NextProtos: []string{"http/1.1"}},
			DisableCompression: true, MaxResponseHeaderBytes: headBytes,
			MaxIdleConns: idleInAll, MaxIdleConnsPerHost: idlePerHost, IdleConnTimeout: idleTimeout,
			ReadBufferSize: readBufferBytes, WriteBufferSize: writeBufferBytes,
		},
	}
}

// Close drops the connections that wait for a next call.
func (c *Caller) Close() { c.transport.CloseIdleConnections() }

// Check refuses a URL whose host is at an address that may not be called now, so that its
// owner learns it at once. A host that is not found, or not soon, passes: what counts is
// asked at each connection.
func (c *Caller) Check(ctx context.Context, target string) error {
	u, err := url.Parse(target)
	if err != nil {
		return fault.Field("url", "is not a URL")
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	addrs, _ := c.resolver.LookupNetIP(ctx, "ip", u.Hostname())
	for _, addr := range addrs {
		if c.guard.Control("", net.JoinHostPort(addr.Unmap().String(), portOf(u)), nil) != nil {
			return fault.Field("url", "points to an address that is not public. The operator can allow it with --webhook-allow")
		}
	}
	return nil
}

func portOf(u *url.URL) string {
	return cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
}

// Post makes one call. It always says what happened.
func (c *Caller) Post(ctx context.Context, target string, headers []webhook.Header, body []byte) webhook.Answer {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	answer, err := c.exchange(ctx, target, headers, body)
	switch {
	case err != nil:
		answer.Error = inWords(cmp.Or(ctx.Err(), err))
	case !webhook.Succeeded(answer.Status):
		answer.Error = fmt.Sprintf("The receiver responded with status %d", answer.Status)
	}
	answer.Duration = cmp.Or(answer.Duration, time.Since(began))
	return answer
}

// exchange sends the request and reads the response. A body that drips or never ends costs
// no more than the call's time, and changes nothing about the status that came before it.
func (c *Caller) exchange(ctx context.Context, target string, headers []webhook.Header, body []byte) (answer webhook.Answer, err error) {
	began := time.Now()
	req, err := request(ctx, target, headers, body)
	if err != nil {
		return answer, err
	}
	resp, err := c.transport.RoundTrip(req) // which follows no redirect
	if err != nil {
		return answer, err
	}
	defer resp.Body.Close()
	if resp.StatusCode < 100 {
		return answer, fmt.Errorf("status %d", resp.StatusCode)
	}
	answer.Status, answer.Duration = resp.StatusCode, time.Since(began)
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return answer, nil // its body is the connection
	}
	head, err := io.ReadAll(io.LimitReader(resp.Body, webhook.ExcerptBytes))
	answer.Excerpt = strings.ToValidUTF8(string(head), "\uFFFD")
	if err == nil { // a connection whose response was read to the end is used again
		io.CopyN(io.Discard, resp.Body, responseBytes-webhook.ExcerptBytes)
	}
	return answer, nil
}

// request is what travels. Fields keep the spelling of headers. It may be sent once more when
// a receiver's end of the connection crosses it: receivers know a repeat by its webhook-id.
func request(ctx context.Context, target string, headers []webhook.Header, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header["User-Agent"] = nil      // none but that of headers
	req.Header["Idempotency-Key"] = nil // not sent: tells net/http that it may be repeated
	for _, h := range headers {
		req.Header[h.Name] = []string{h.Value}
	}
	return req, nil
}

// inWords says why a call got no response, without what could tell a stranger about the
// network that we stand in.
func inWords(err error) string {
	var refused *netguard.Refused
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	var plain tls.RecordHeaderError
	switch {
	case errors.As(err, &refused):
		return "The receiver's address is not public. The operator can allow it with --webhook-allow"
	case errors.As(err, &dns):
		return "The receiver's host name was not found"
	case errors.As(err, &certificate):
		return "The receiver's certificate is not valid for it"
	case errors.As(err, &plain):
		return "The receiver does not support TLS"
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("The receiver did not respond within %d s", int(callTimeout.Seconds()))
	case errors.Is(err, context.Canceled):
		return "The attempt was interrupted"
	}
	return "The connection to the receiver failed"
}
