package http

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"time"

	"inboxd/internal/netguard"
	"inboxd/internal/webhook"
)

const (
	postTimeout     = 10 * time.Second // of a whole attempt (specification, Webhooks)
	postAnswerBytes = 64 << 10         // read of an answer's body and dropped
	postHeadBytes   = 16 << 10         // of an answer's head, interim answers included
	postCheck       = 2 * time.Second  // of a look-up before a URL is taken
)

// Poster posts webhook deliveries to receivers that strangers chose, over HTTP/1.1. It follows
// no redirect and no proxy variable, checks the address of every connection it opens, and
// reads a bounded part of what comes back. An attempt that waits for its answer holds a
// connection and a goroutine with a small stack, and no buffer (ADR 0020).
type Poster struct {
	guard    netguard.Policy
	resolver *net.Resolver
	dialer   net.Dialer
	timeout  time.Duration // postTimeout
	kept     keptConns
}

// NewPoster returns a Poster that connects where guard lets it, and asks resolver where
// hosts are; nil is the system's.
func NewPoster(guard netguard.Policy, resolver *net.Resolver) *Poster {
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	return &Poster{
		guard: guard, resolver: resolver, timeout: postTimeout, kept: keptConns{idle: map[string][]*postConn{}},
		dialer: net.Dialer{Control: guard.Control, Resolver: resolver, KeepAlive: -1}, // no connection gets that old
	}
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
	addrs, _ := p.resolver.LookupNetIP(ctx, "ip", u.Hostname())
	for _, addr := range addrs {
		if p.guard.Control("", net.JoinHostPort(addr.Unmap().String(), portOf(u)), nil) != nil {
			return invalid("'url' points to an address that may not be called: it is not a public one")
		}
	}
	return nil
}

func portOf(u *url.URL) string {
	if port := u.Port(); port != "" {
		return port
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}

// Close drops the kept connections.
func (p *Poster) Close() { p.kept.close() }

// Post makes one attempt. It always says what happened.
func (p *Poster) Post(ctx context.Context, target string, headers []webhook.Header, body []byte) webhook.Answer {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	answer, err := p.exchange(ctx, target, headers, body)
	switch {
	case ctx.Err() != nil && answer.Status == 0:
		answer.Error = inWords(ctx.Err())
	case err != nil:
		answer.Error = inWords(err)
	case !webhook.Succeeded(answer.Status):
		answer.Error = fmt.Sprintf("The receiver answered %d", answer.Status)
	}
	answer.Duration = cmp.Or(answer.Duration, time.Since(began))
	return answer
}

// exchange sends the request and reads the answer to it. The connection is kept when nothing
// speaks against it.
func (p *Poster) exchange(ctx context.Context, target string, headers []webhook.Header, body []byte) (answer webhook.Answer, err error) {
	began := time.Now()
	u, err := url.Parse(target)
	if err != nil {
		return answer, err
	}
	conn, err := p.connect(ctx, u)
	if err != nil {
		return answer, err
	}
	whole := false
	uncut := context.AfterFunc(ctx, conn.interrupt)
	defer func() {
		if !uncut() || !whole || !p.kept.put(conn) {
			conn.Close()
		}
	}()
	if _, err = conn.Write(posted(u, headers, body)); err != nil {
		return answer, err
	}
	var first [1]byte // all that is read while there is no buffer
	if _, err = io.ReadFull(conn, first[:]); err != nil {
		return answer, err
	}
	answer, whole, err = conn.answer(first[0], began)
	return answer, err
}

// inWords says why an attempt got no answer, without what could tell a stranger about the
// network that we stand in.
func inWords(err error) string {
	var refused *netguard.Refused
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	var plain tls.RecordHeaderError
	switch {
	case errors.As(err, &refused):
		return "The receiver's address may not be called: it is not a public one"
	case errors.As(err, &dns):
		return "The receiver's host name was not found"
	case errors.As(err, &certificate):
		return "The receiver's certificate is not valid for it"
	case errors.As(err, &plain):
		return "The receiver does not speak TLS"
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("The receiver did not answer within %d s", int(postTimeout.Seconds()))
	case errors.Is(err, context.Canceled):
		return "The attempt was interrupted"
	}
	return "The connection to the receiver failed"
}
