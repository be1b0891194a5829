package courier

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"net"
	"net/netip"
	"slices"
	"syscall"

	"inboxd/internal/base/stackpool"
	"inboxd/internal/core/delivery"
)

// target is one address to connect to, with its TLS and login requirements.
type target struct {
	host     string // for the certificate and the report
	addr     string // host:port
	control  func(network, address string, c syscall.RawConn) error
	implicit bool // TLS from the first byte
	required bool // verified TLS is mandatory
	plain    bool // no TLS, even if the server offers it

	username, password string
}

func (c *Courier) mxTarget(host string, addr netip.Addr, required bool) target {
	at := netip.AddrPortFrom(addr, uint16(c.opts.MXPort))
	return target{host: host, addr: at.String(), control: c.opts.Guard.Control, required: required}
}

// smarthostTargets returns the addresses of the smarthost in the order to be tried. If there are
// none, why says the reason.
func (c *Courier) smarthostTargets(ctx context.Context) (list []target, host string, why *trouble) {
	s := c.opts.Smarthost
	host, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		host, port = s.Addr, "25"
	}
	addrs := []string{host}
	if _, err := netip.ParseAddr(host); err != nil && !isLoopback(host) {
		addrs, why = c.smarthostAddresses(ctx, host)
	}
	for _, addr := range addrs {
		list = append(list, target{
			host: host, addr: net.JoinHostPort(addr, port), username: s.Username, password: s.Password,
			implicit: s.TLS == TLSImplicit, plain: s.TLS == TLSNone,
			required: s.requiresTLS(host),
		})
	}
	return list, host, why
}

// requiresTLS reports whether messages may only be sent over verified TLS.
func (s Smarthost) requiresTLS(host string) bool {
	switch s.TLS {
	case TLSRequired, TLSImplicit:
		return true
	case TLSAuto:
		return s.Username != "" && !isLoopback(host)
	}
	return false
}

// connect returns a link that is ready for a message. Where TLS is opportunistic (RFC 7435) and its
// handshake fails, it connects again without TLS.
func (c *Courier) connect(ctx context.Context, t target) (*link, error) {
	l, err := c.dial(ctx, t)
	var handshake *handshakeError
	if errors.As(err, &handshake) && !t.required && ctx.Err() == nil {
		c.opts.Logger.Debug("TLS failed, continuing without it", "mx", t.host, "err", err)
		t.plain = true
		l, err = c.dial(ctx, t)
	}
	return l, err
}

func (c *Courier) dial(ctx context.Context, t target) (*link, error) {
	d := net.Dialer{Timeout: c.opts.Timeouts.Connect, Control: t.control}
	var conn net.Conn
	var err error
	stackpool.Do(func() { conn, err = d.DialContext(ctx, "tcp", t.addr) })
	if err != nil {
		return nil, err
	}
	l := newLink(conn, t.host, c.opts.Timeouts)
	l.begin(ctx)
	defer func() { l.end() }()
	if err := c.open(l, t); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// open takes a new connection to a session that is ready for MAIL.
func (c *Courier) open(l *link, t target) error {
	if t.implicit {
		if err := c.secure(l, t); err != nil {
			return err
		}
	}
	greeting, err := l.hear(l.timeouts.Command, nil)
	if err == nil && greeting.code != 220 {
		err = refusal(greeting)
	}
	if err != nil {
		return err
	}
	if err := l.greet(c.opts.Hello); err != nil {
		return err
	}
	if err := c.startTLS(l, t); err != nil {
		return err
	}
	return l.authenticate(t)
}

// startTLS encrypts the connection if the server offers it (RFC 3207), and fails if it is required
// but not available.
func (c *Courier) startTLS(l *link, t target) error {
	switch {
	case l.tls, t.plain:
		return nil
	case !l.ext.startTLS && t.required:
		return &trouble{because(delivery.TLSPolicy, "%s does not offer TLS, which is required", l.host)}
	case !l.ext.startTLS:
		return nil
	}
	r, err := l.command("STARTTLS")
	switch {
	case err != nil:
		return err
	case !r.ok() && t.required:
		return &trouble{because(delivery.TLSPolicy, "%s refused TLS, which is required: %s", l.host, r)}
	case !r.ok():
		return nil
	case l.r.Buffered() > 0: // sent before the handshake, possibly injected by a man in the middle
		return errReply
	}
	if err := c.secure(l, t); err != nil {
		return err
	}
	return l.greet(c.opts.Hello) // RFC 3207 section 4.2: discard what was learned before
}

// handshakeError is a failed TLS handshake with a server that was reached.
type handshakeError struct{ err error }

func (e *handshakeError) Error() string { return "TLS: " + e.err.Error() }
func (e *handshakeError) Unwrap() error { return e.err }

func (c *Courier) secure(l *link, t target) error {
	conn := tls.Client(l.Conn, &tls.Config{
		ServerName: t.host, RootCAs: c.opts.RootCAs,
		InsecureSkipVerify: !t.required, // encryption without authentication is better than plain text
	})
	if err := l.allow(l.timeouts.Connect); err != nil {
		return err
	}
	if err := conn.HandshakeContext(l.ctx); err != nil {
		if t.required {
			return &trouble{because(delivery.TLSPolicy, "%s does not offer the required TLS: %s", l.host, plainReason(err))}
		}
		return &handshakeError{err}
	}
	l.Conn, l.tls, l.verified = conn, true, t.required
	l.r.Reset(conn)
	return nil
}

// authenticate logs in (RFC 4954). A password is sent only over TLS or to this machine itself.
func (l *link) authenticate(t target) error {
	if t.username == "" {
		return nil
	}
	if !l.tls && !isLoopback(t.host) {
		return &trouble{because(delivery.TLSPolicy, "%s does not offer TLS, so the password is not sent", l.host)}
	}
	var r reply
	var err error
	switch {
	case slices.Contains(l.ext.auth, "PLAIN"):
		r, err = l.command("AUTH PLAIN ", encode64("\x00"+t.username+"\x00"+t.password))
	case slices.Contains(l.ext.auth, "LOGIN"):
		if r, err = l.command("AUTH LOGIN"); err == nil && r.code == 334 {
			if r, err = l.command(encode64(t.username)); err == nil && r.code == 334 {
				r, err = l.command(encode64(t.password))
			}
		}
	default:
		return &trouble{because(delivery.TLSPolicy, "%s offers no supported authentication mechanism (PLAIN, LOGIN)", l.host)}
	}
	if err == nil && r.code != 235 {
		err = refusal(r)
	}
	return err
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func encode64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
