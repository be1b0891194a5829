package http

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"net/url"
	"strings"
	"time"

	"inboxd/internal/netguard"
	"inboxd/internal/webhook"
)

const (
	postTimeout     = 10 * time.Second // of a whole attempt (decisions section 6)
	postAnswerBytes = 64 << 10         // read of an answer's body and dropped
	postHeadBytes   = 16 << 10         // of an answer's head, interim answers included
	postIdle        = 30 * time.Second // of a kept connection
	postIdlePerHost = 32
	postBuffer      = 2 << 10         // of a connection, each way
	postCheck       = 2 * time.Second // of a look-up before a URL is taken
)

// Poster posts webhook deliveries to receivers that strangers chose. It follows no redirect
// and no proxy variable, checks the address of every connection it opens, and reads a
// bounded part of what comes back.
type Poster struct {
	client   *nethttp.Client
	guard    netguard.Policy
	resolver *net.Resolver
}

// NewPoster returns a Poster that connects where guard lets it, and asks resolver where
// hosts are; nil is the system's.
func NewPoster(guard netguard.Policy, resolver *net.Resolver) *Poster {
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	dialer := &net.Dialer{Timeout: postTimeout, Control: guard.Control, Resolver: resolver}
	return &Poster{guard: guard, resolver: resolver, client: &nethttp.Client{
		Timeout:       postTimeout,
		CheckRedirect: func(*nethttp.Request, []*nethttp.Request) error { return nethttp.ErrUseLastResponse },
		Transport: &nethttp.Transport{
			DialContext: dialer.DialContext, TLSHandshakeTimeout: postTimeout, ResponseHeaderTimeout: postTimeout,
			MaxResponseHeaderBytes: postHeadBytes, DisableCompression: true, ForceAttemptHTTP2: true,
			MaxIdleConns: 1024, ReadBufferSize: postBuffer, WriteBufferSize: postBuffer, MaxIdleConnsPerHost: postIdlePerHost, IdleConnTimeout: postIdle,
		},
	}}
}

// Check refuses a URL whose host is at an address that may not be called now, so that its
// owner learns it at once. A host that is not found, or not soon, passes: what counts is
// asked at each connection.
func (p *Poster) Check(ctx context.Context, target string) error {
	u, err := url.Parse(target)
	if err != nil {
		return invalid("'url' is not a URL")
	}
	ctx, cancel := context.WithTimeout(ctx, postCheck)
	defer cancel()
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	addrs, _ := p.resolver.LookupNetIP(ctx, "ip", u.Hostname())
	for _, addr := range addrs {
		if p.guard.Control("", net.JoinHostPort(addr.Unmap().String(), port), nil) != nil {
			return invalid("'url' points to an address that may not be called: it is not a public one")
		}
	}
	return nil
}

// Close drops the kept connections.
func (p *Poster) Close() { p.client.CloseIdleConnections() }

// Post makes one attempt. It always says what happened.
func (p *Poster) Post(ctx context.Context, target string, headers []webhook.Header, body []byte) webhook.Answer {
	began := time.Now()
	answer := webhook.Answer{}
	resp, err := p.send(ctx, target, headers, body)
	answer.Duration = time.Since(began)
	if err != nil {
		answer.Error = inWords(err)
		return answer
	}
	defer resp.Body.Close()
	answer.Status = resp.StatusCode
	// A body that drips or never ends costs no more than the attempt's time, and changes
	// nothing about the status that came before it.
	head, _ := io.ReadAll(io.LimitReader(resp.Body, webhook.ExcerptBytes))
	answer.Excerpt = strings.ToValidUTF8(string(head), "\uFFFD")
	if _, err := io.CopyN(io.Discard, resp.Body, postAnswerBytes-webhook.ExcerptBytes); err == nil {
		p.forget(resp) // more than we read: the connection is of no further use
	}
	if !webhook.Succeeded(answer.Status) {
		answer.Error = fmt.Sprintf("The receiver answered %d", answer.Status)
	}
	return answer
}

// forget closes an answer before its end, which closes its connection too.
func (*Poster) forget(resp *nethttp.Response) { resp.Body.Close() }

func (p *Poster) send(ctx context.Context, target string, headers []webhook.Header, body []byte) (*nethttp.Response, error) {
	req, err := nethttp.NewRequestWithContext(ctx, nethttp.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for _, h := range headers {
		req.Header[h.Name] = []string{h.Value} // spelled as specified
	}
	return p.client.Do(req)
}

// inWords says why an attempt got no answer, without what could tell a stranger about the
// network that we stand in.
func inWords(err error) string {
	var refused *netguard.Refused
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	var wrapped *url.Error
	switch {
	case errors.As(err, &refused):
		return "The receiver's address may not be called: it is not a public one"
	case errors.As(err, &dns):
		return "The receiver's host name was not found"
	case errors.As(err, &certificate):
		return "The receiver's certificate is not valid for it"
	case errors.Is(err, nethttp.ErrSchemeMismatch):
		return "The receiver does not speak TLS"
	case errors.As(err, &wrapped) && wrapped.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("The receiver did not answer within %d s", int(postTimeout.Seconds()))
	case errors.Is(err, context.Canceled):
		return "The attempt was interrupted"
	}
	return "The connection to the receiver failed"
}
