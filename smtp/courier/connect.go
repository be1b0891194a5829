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

// connectTarget is one address to connect to, with its TLS and login requirements.
type connectTarget struct {
	host        string // for the certificate and the report
	label       string // in errors of the network
	addr        string // host:port
	dialControl func(network, address string, c syscall.RawConn) error
	implicitTLS bool // TLS from the first byte
	requireTLS  bool // verified TLS is mandatory
	plainOnly   bool // no TLS, even if the server offers it

	username, password string
}

func (c *Courier) mxTarget(host string, addr netip.Addr, required bool) connectTarget {
	at := netip.AddrPortFrom(addr, uint16(c.opts.MXPort))
	return connectTarget{host: host, label: host, addr: at.String(), dialControl: c.opts.AddressPolicy.DialControl, requireTLS: required}
}

// smarthostTargets returns the addresses of the smarthost in the order to be tried. If there are
// none, why says the reason.
func (c *Courier) smarthostTargets(ctx context.Context) (list []connectTarget, host string, why *connectionError) {
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
		list = append(list, connectTarget{
			host: host, label: "smarthost " + net.JoinHostPort(host, port), addr: net.JoinHostPort(addr, port), username: s.Username, password: s.Password,
			implicitTLS: s.TLS == TLSImplicit, plainOnly: s.TLS == TLSNone,
			requireTLS: s.requiresTLS(host),
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
func (c *Courier) connect(ctx context.Context, t connectTarget) (*link, error) {
	l, err := c.dialTarget(ctx, t)
	var handshake *handshakeError
	if errors.As(err, &handshake) && !t.requireTLS && ctx.Err() == nil {
		c.opts.Logger.Debug("TLS failed, continuing without it", "mx", t.host, "err", err)
		t.plainOnly = true
		l, err = c.dialTarget(ctx, t)
	}
	return l, err
}

func (c *Courier) dialTarget(ctx context.Context, t connectTarget) (*link, error) {
	d := net.Dialer{Timeout: c.opts.Timeouts.Connect, Control: t.dialControl}
	var conn net.Conn
	var err error
	stackpool.Do(func() { conn, err = d.DialContext(ctx, "tcp", t.addr) })
	if err != nil {
		return nil, err
	}
	l := newLink(conn, t.host, c.opts.Timeouts)
	l.bindExchange(ctx)
	defer func() { l.unbindExchange() }()
	if err := c.openSession(l, t); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// openSession takes a new connection to a session that is ready for MAIL.
func (c *Courier) openSession(l *link, t connectTarget) error {
	if t.implicitTLS {
		if err := c.upgradeTLS(l, t); err != nil {
			return err
		}
	}
	greeting, err := l.awaitReply(l.timeouts.Command, nil)
	if err == nil && greeting.code != 220 {
		err = sessionRefusal(greeting)
	}
	if err != nil {
		return err
	}
	if err := l.sendHello(c.opts.HelloName); err != nil {
		return err
	}
	if err := c.startTLS(l, t); err != nil {
		return err
	}
	return l.authenticate(t)
}

// startTLS encrypts the connection if the server offers it (RFC 3207), and fails if it is required
// but not available.
func (c *Courier) startTLS(l *link, t connectTarget) error {
	switch {
	case l.tls, t.plainOnly:
		return nil
	case !l.ext.startTLS && t.requireTLS:
		return &connectionError{localVerdict(delivery.TLSPolicy, "%s does not offer TLS, which is required", l.hostName)}
	case !l.ext.startTLS:
		return nil
	}
	r, err := l.sendCommand("STARTTLS")
	switch {
	case err != nil:
		return err
	case !r.ok() && t.requireTLS:
		return &connectionError{localVerdict(delivery.TLSPolicy, "%s refused TLS, which is required: %s", l.hostName, r)}
	case !r.ok():
		return nil
	case l.r.Buffered() > 0: // sent before the handshake, possibly injected by a man in the middle
		return errReply
	}
	if err := c.upgradeTLS(l, t); err != nil {
		return err
	}
	return l.sendHello(c.opts.HelloName) // RFC 3207 section 4.2: discard what was learned before
}

// handshakeError is a failed TLS handshake with a server that was reached.
type handshakeError struct{ err error }

func (e *handshakeError) Error() string { return "TLS: " + e.err.Error() }
func (e *handshakeError) Unwrap() error { return e.err }

func (c *Courier) upgradeTLS(l *link, t connectTarget) error {
	conn := tls.Client(l.Conn, &tls.Config{
		ServerName: t.host, RootCAs: c.opts.RootCAs,
		InsecureSkipVerify: !t.requireTLS, // encryption without authentication is better than plain text
	})
	if err := l.armDeadline(l.timeouts.Connect); err != nil {
		return err
	}
	if err := conn.HandshakeContext(l.ctx); err != nil {
		if t.requireTLS {
			return &connectionError{localVerdict(delivery.TLSPolicy, "%s does not offer the required TLS: %s", l.hostName, plainReason(err))}
		}
		return &handshakeError{err}
	}
	l.Conn, l.tls, l.isVerified = conn, true, t.requireTLS
	l.r.Reset(conn)
	return nil
}

// authenticate logs in (RFC 4954). A password is sent only over TLS or to this machine itself.
func (l *link) authenticate(t connectTarget) error {
	if t.username == "" {
		return nil
	}
	if !l.tls && !isLoopback(t.host) {
		return &connectionError{localVerdict(delivery.TLSPolicy, "%s does not offer TLS, so the password is not sent", l.hostName)}
	}
	var r serverReply
	var err error
	switch {
	case slices.Contains(l.ext.auth, "PLAIN"):
		r, err = l.sendCommand("AUTH PLAIN ", encode64("\x00"+t.username+"\x00"+t.password))
	case slices.Contains(l.ext.auth, "LOGIN"):
		if r, err = l.sendCommand("AUTH LOGIN"); err == nil && r.code == 334 {
			if r, err = l.sendCommand(encode64(t.username)); err == nil && r.code == 334 {
				r, err = l.sendCommand(encode64(t.password))
			}
		}
	default:
		return &connectionError{localVerdict(delivery.TLSPolicy, "%s offers no supported authentication mechanism (PLAIN, LOGIN)", l.hostName)}
	}
	if err == nil && r.code != 235 {
		err = sessionRefusal(r)
	}
	return err
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

func encode64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
