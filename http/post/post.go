// Package post sends webhook requests to receivers that accounts choose, over HTTP/1.1. It knows
// URLs, bytes and responses. It does not know subscriptions, schedules or the outcome of a
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
	callTimeout   = 10 * time.Second // of one attempt (specification, Webhooks)
	checkTimeout  = 2 * time.Second  // of the DNS look-up before a URL is accepted
	responseBytes = 64 << 10         // of a response body that are read and discarded
	headBytes     = 16 << 10         // limit of a response header, including interim responses

	idleTimeout = 30 * time.Second // of a connection that waits for the next request
	idleInAll   = 1024
	idlePerHost = 32
	// An attempt that waits for its response holds both buffers. A larger header is read in steps.
	readBufferBytes  = 1 << 10
	writeBufferBytes = 2 << 10 // so that nearly every request is one write
)

// WebhookCaller sends webhook requests. It follows no redirects and ignores proxy variables. It
// checks the address of every connection that it opens, and reads a limited part of the response
// (ADR 0034). It is immutable, and any goroutine may use it.
type WebhookCaller struct {
	addressGuard netguard.AddressPolicy
	resolver     *net.Resolver
	transport    *http.Transport
	timeout      time.Duration // callTimeout
}

// New returns a WebhookCaller that connects only where guard permits, and looks up hosts with resolver.
// nil selects the system's resolver.
func New(guard netguard.AddressPolicy, resolver *net.Resolver) *WebhookCaller {
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	dialer := net.Dialer{Control: guard.DialControl, Resolver: resolver, KeepAlive: -1} // connections are closed before a keep-alive probe is due
	return &WebhookCaller{
		addressGuard: guard, resolver: resolver, timeout: callTimeout,
		transport: &http.Transport{
			DialContext: dialer.DialContext, TLSClientConfig: &tls.Config{NextProtos: []string{"http/1.1"}},
			DisableCompression: true, MaxResponseHeaderBytes: headBytes,
			MaxIdleConns: idleInAll, MaxIdleConnsPerHost: idlePerHost, IdleConnTimeout: idleTimeout,
			ReadBufferSize: readBufferBytes, WriteBufferSize: writeBufferBytes,
		},
	}
}

// Close closes the idle connections.
func (c *WebhookCaller) Close() { c.transport.CloseIdleConnections() }

// CheckURL refuses a URL whose host currently has an address that may not be called, so that its owner
// gets the error immediately. A host that is not found within checkTimeout is accepted: the address
// is checked again for each connection.
func (c *WebhookCaller) CheckURL(ctx context.Context, target string) error {
	u, err := url.Parse(target)
	if err != nil {
		return fault.InvalidField("url", "is not a URL")
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	addrs, _ := c.resolver.LookupNetIP(ctx, "ip", u.Hostname())
	for _, addr := range addrs {
		if c.addressGuard.DialControl("", net.JoinHostPort(addr.Unmap().String(), portOf(u)), nil) != nil {
			return fault.InvalidField("url", "points to an address that is not public. The operator can allow it with --webhook-allow")
		}
	}
	return nil
}

func portOf(u *url.URL) string {
	return cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
}

// PostWebhook makes one attempt. Its result always describes what happened.
func (c *WebhookCaller) PostWebhook(ctx context.Context, target string, headers []webhook.HeaderField, body []byte) webhook.ReceiverResponse {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	answer, err := c.exchangeOnce(ctx, target, headers, body)
	switch {
	case err != nil:
		answer.Error = inWords(cmp.Or(ctx.Err(), err))
	case !webhook.IsSuccess(answer.Status):
		answer.Error = fmt.Sprintf("The receiver responded with status %d", answer.Status)
	}
	answer.Duration = cmp.Or(answer.Duration, time.Since(began))
	return answer
}

// exchangeOnce sends the request and reads the response. A slow or endless body cannot take longer than
// the attempt's timeout, and does not change the status received before it.
func (c *WebhookCaller) exchangeOnce(ctx context.Context, target string, headers []webhook.HeaderField, body []byte) (answer webhook.ReceiverResponse, err error) {
	began := time.Now()
	req, err := newRequest(ctx, target, headers, body)
	if err != nil {
		return answer, err
	}
	resp, err := c.transport.RoundTrip(req) // RoundTrip follows no redirects
	if err != nil {
		return answer, err
	}
	defer resp.Body.Close()
	if resp.StatusCode < 100 {
		return answer, fmt.Errorf("status %d", resp.StatusCode)
	}
	answer.Status, answer.Duration = resp.StatusCode, time.Since(began)
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return answer, nil // the body is the connection
	}
	head, err := io.ReadAll(io.LimitReader(resp.Body, webhook.ExcerptBytes))
	answer.BodyExcerpt = strings.ToValidUTF8(string(head), "\uFFFD")
	if err == nil { // a connection can be reused only after its response was read completely
		io.CopyN(io.Discard, resp.Body, responseBytes-webhook.ExcerptBytes)
	}
	return answer, nil
}

// newRequest builds the HTTP request. Header names keep their spelling. net/http may send it again if
// the receiver closes the connection at the same moment; receivers recognize a duplicate by its
// webhook-id.
func newRequest(ctx context.Context, target string, headers []webhook.HeaderField, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header["User-Agent"] = nil      // no default User-Agent
	req.Header["Idempotency-Key"] = nil // not sent; permits net/http to repeat the request
	for _, h := range headers {
		req.Header[h.Name] = []string{h.Value}
	}
	return req, nil
}

// inWords describes why an attempt got no response. It must not reveal anything about the network
// in which this server runs.
func inWords(err error) string {
	var refused *netguard.RefusedError
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
