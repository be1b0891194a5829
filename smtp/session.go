package smtp

import (
	"crypto/tls"
	"log/slog"
	"net"
	"slices"
	"time"

	"inboxd/internal/base/address"
	"inboxd/internal/base/fault"
	"inboxd/smtp/lines"
)

// maxRefusals is the number of refused commands after which a connection is closed. No legitimate
// sender needs more; an address harvester does.
const maxRefusals = 100

// session is one connection: its state, and the commands that go-smtp calls through inner.
//
// The goroutine that go-smtp runs for the connection owns all fields. Other goroutines may only
// call Wake and kill.
type session struct {
	lines.Conn
	srv    *Server
	peer   peer
	secure bool

	helo     func() string // returns the name of the peer's latest HELO or EHLO; nil before the first
	esmtp    bool          // greeted with EHLO
	path     string        // mailbox of the MAIL or RCPT command that go-smtp is processing, see pathOf
	tx       transaction
	refusals int
	timed    timed

	resumed  bool // continues under TLS a connection that began in plain text
	heard    bool // a command line has arrived
	closing  bool // go-smtp reads EOF next
	detached bool // the connection is closed, or another session continues it under TLS
}

// transaction is the state that RSET clears.
type transaction struct {
	open     bool
	utf8     bool
	chunking bool // BDAT has begun: only BDAT and RSET are valid
	size     int64
	env      Envelope
	body     body
	octets   int        // size of the stored message; 0 until it is stored
	stored   []storedIn // the inboxes that stored it
}

func newSession(srv *Server, conn net.Conn, from peer) *session {
	_, secure := conn.(*tls.Conn)
	return &session{Conn: srv.lines.NewConn(conn), srv: srv, peer: from, secure: secure}
}

// mail begins a transaction.
func (s *session) mail(utf8 bool, size int64) *reply {
	switch {
	case s.srv.lines.Draining.Load():
		s.closing = true
		return replyShutdown
	case !s.srv.pushback.takes(time.Now()), size > pooledBody && !s.share().fits(size):
		return s.refuse(replyOverload)
	}
	tx := transaction{open: true, utf8: utf8, size: size}
	if s.path != "" { // empty for a bounce, RFC 5321 section 4.5.5
		from, ok := address.Sender(s.path)
		if !ok || !utf8 && !address.IsASCII(s.path) {
			return s.refuse(s.badAddress(utf8, replyBadSender))
		}
		tx.env.MailFrom = from
	}
	s.srv.pace.enter(s.srv.stop)
	s.tx = tx
	return nil
}

// share returns the part of the body memory that the session may use.
func (s *session) share() share { return share{&s.srv.budget, s.peer.group()} }

// rcpt checks the recipient with Inboxes. A repeated recipient is accepted and counted once.
func (s *session) rcpt() *reply {
	rcpt, ok := address.Inbox(s.path)
	if !ok || !s.tx.utf8 && !address.IsASCII(s.path) {
		return s.refuse(s.badAddress(s.tx.utf8, replyBadRcpt))
	}
	if slices.Contains(s.tx.env.RcptTo, rcpt) {
		return nil
	}
	if err := s.srv.inboxes.Accepts(s.srv.ctx, rcpt); err != nil {
		return s.fail(err, slog.String("inbox", rcpt))
	}
	s.tx.env.RcptTo = append(s.tx.env.RcptTo, rcpt)
	return nil
}

// badAddress returns bad, unless only SMTPUTF8 is missing for the address (RFC 6531 section 3.5).
func (s *session) badAddress(utf8 bool, bad *reply) *reply {
	if utf8 || len(s.path) > address.MaxLength || address.IsASCII(s.path) {
		return bad
	}
	return replyNonASCII
}

// fail converts an error of Inboxes to a reply. The error is logged here and nowhere else.
func (s *session) fail(err error, about slog.Attr) *reply {
	r := replyTo(err)
	switch fault.KindOf(err) {
	case fault.Internal:
		s.srv.logSometimes(slog.LevelError, "mail failed", about, slog.Any("err", err))
	case fault.Unavailable, fault.StorageFull:
		s.srv.logSometimes(slog.LevelWarn, "mail deferred", about, slog.Any("err", err))
	}
	return s.refuse(r, about)
}

// refuse counts and logs a refusal. Temporary ones are logged at debug level, because a full disk
// causes many.
func (s *session) refuse(r *reply, about ...slog.Attr) *reply {
	s.refusals++
	s.srv.stats.reject(r)
	level := slog.LevelInfo
	if r.temporary() {
		level = slog.LevelDebug
	}
	s.srv.log.LogAttrs(s.srv.ctx, level, "rejected", append(about,
		slog.String("peer", s.peer.String()), slog.Int("code", r.code), slog.String("reason", r.reason))...)
	return r
}

// reset ends the transaction, if there is one, and frees its body.
func (s *session) reset() {
	if s.tx.open {
		s.srv.pace.leave()
	}
	s.tx.body.free()
	s.tx = transaction{}
}

// Close sends the last replies and frees the connection's place, unless the connection
// goes on under TLS.
func (s *session) Close() error {
	s.answered()
	if s.detached {
		return nil
	}
	s.detached, s.closing = true, true
	s.reset()
	s.Flush() // may fail: the peer has gone
	s.Forget()
	s.srv.release(s)
	return s.Conn.Close()
}

// kill ends the connection under a running session, without the farewell of TLS, which can
// block. Any goroutine may call it.
func (s *session) kill() {
	if t, ok := s.Conn.Conn.(*tls.Conn); ok {
		t.NetConn().Close()
		return
	}
	s.Conn.Close()
}
