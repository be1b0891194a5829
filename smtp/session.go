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
	srv   *Server
	peer  peer
	isTLS bool

	helo         func() string // returns the name of the peer's latest HELO or EHLO; nil before the first
	esmtp        bool          // greeted with EHLO
	commandPath  string        // mailbox of the MAIL or RCPT command that go-smtp is processing, see pathOf
	tx           transaction
	refusalCount int
	commandTimer commandTimer

	isResumed       bool // continues under TLS a connection that began in plain text
	commandReceived bool // a command line has arrived
	isClosing       bool // go-smtp reads EOF next
	isDetached      bool // the connection is closed, or another session continues it under TLS
}

// transaction is the state that RSET clears.
type transaction struct {
	isOpen       bool
	utf8         bool
	chunking     bool // BDAT has begun: only BDAT and RSET are valid
	declaredSize int64
	env          Envelope
	body         messageBody
	storedOctets int        // size of the stored message; 0 until it is stored
	storedCopies []storedIn // the inboxes that stored it
}

func newSession(srv *Server, conn net.Conn, from peer) *session {
	_, secure := conn.(*tls.Conn)
	return &session{Conn: srv.lineServer.NewConn(conn), srv: srv, peer: from, isTLS: secure}
}

// beginTransaction begins a transaction.
func (s *session) beginTransaction(utf8 bool, size int64) *smtpReply {
	switch {
	case s.srv.lineServer.IsDraining.Load():
		s.isClosing = true
		return replyShutdown
	case !s.srv.pushback.acceptsMessages(time.Now()), size > pooledBody && !s.budgetShare().canReserve(size):
		return s.recordRefusal(replyOverload)
	}
	tx := transaction{isOpen: true, utf8: utf8, declaredSize: size}
	if s.commandPath != "" { // empty for a bounce, RFC 5321 section 4.5.5
		from, ok := address.CanonicalSender(s.commandPath)
		if !ok || !utf8 && !address.IsASCII(s.commandPath) {
			return s.recordRefusal(s.badAddress(utf8, replyBadSender))
		}
		tx.env.MailFrom = from
	}
	s.srv.admissionControl.acquireSlot(s.srv.stopChan)
	s.tx = tx
	return nil
}

// budgetShare returns the part of the body memory that the session may use.
func (s *session) budgetShare() budgetShare {
	return budgetShare{&s.srv.memoryBudget, s.peer.limitGroup()}
}

// rcpt checks the recipient with InboxReceiver. A repeated recipient is accepted and counted once.
func (s *session) rcpt() *smtpReply {
	rcpt, ok := address.CanonicalInbox(s.commandPath)
	if !ok || !s.tx.utf8 && !address.IsASCII(s.commandPath) {
		return s.recordRefusal(s.badAddress(s.tx.utf8, replyBadRcpt))
	}
	if slices.Contains(s.tx.env.RcptTo, rcpt) {
		return nil
	}
	if err := s.srv.inboxes.CheckRecipient(s.srv.ctx, rcpt); err != nil {
		return s.replyToError(err, slog.String("inbox", rcpt))
	}
	s.tx.env.RcptTo = append(s.tx.env.RcptTo, rcpt)
	return nil
}

// badAddress returns bad, unless only SMTPUTF8 is missing for the address (RFC 6531 section 3.5).
func (s *session) badAddress(utf8 bool, bad *smtpReply) *smtpReply {
	if utf8 || len(s.commandPath) > address.MaxLength || address.IsASCII(s.commandPath) {
		return bad
	}
	return replyNonASCII
}

// replyToError converts an error of InboxReceiver to a reply. The error is logged here and nowhere
// else.
func (s *session) replyToError(err error, about slog.Attr) *smtpReply {
	r := replyTo(err)
	switch fault.KindOf(err) {
	case fault.Internal:
		s.srv.logSometimes(slog.LevelError, "mail failed", about, slog.Any("err", err))
	case fault.TemporarilyUnavailable, fault.StorageFull:
		s.srv.logSometimes(slog.LevelWarn, "mail deferred", about, slog.Any("err", err))
	}
	return s.recordRefusal(r, about)
}

// recordRefusal counts and logs a refusal. Temporary ones are logged at debug level, because a full
// disk causes many.
func (s *session) recordRefusal(r *smtpReply, about ...slog.Attr) *smtpReply {
	s.refusalCount++
	s.srv.stats.countRejection(r)
	level := slog.LevelInfo
	if r.isTemporary() {
		level = slog.LevelDebug
	}
	s.srv.log.LogAttrs(s.srv.ctx, level, "rejected", append(about,
		slog.String("peer", s.peer.String()), slog.Int("code", r.code), slog.String("reason", r.refusalReason))...)
	return r
}

// resetTransaction ends the transaction, if there is one, and frees its body.
func (s *session) resetTransaction() {
	if s.tx.isOpen {
		s.srv.admissionControl.releaseSlot()
	}
	s.tx.body.releaseBuffer()
	s.tx = transaction{}
}

// Close sends the last replies and frees the connection's place, unless the connection
// goes on under TLS.
func (s *session) Close() error {
	s.recordDuration()
	if s.isDetached {
		return nil
	}
	s.isDetached, s.isClosing = true, true
	s.resetTransaction()
	s.Flush() // may fail: the peer has gone
	s.ReleaseInput()
	s.srv.releaseSession(s)
	return s.Conn.Close()
}

// killConnection ends the connection under a running session, without the farewell of TLS, which can
// block. Any goroutine may call it.
func (s *session) killConnection() {
	if t, ok := s.Conn.Conn.(*tls.Conn); ok {
		t.NetConn().Close()
		return
	}
	s.Conn.Close()
}
