package smtp

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"time"

	"inboxd/internal/address"
	"inboxd/internal/fault"
	"inboxd/smtp/lines"
)

// maxRefusals is the number of refused commands after which a connection is closed: no
// sender needs more, an address harvester does.
const maxRefusals = 100

// session is one connection: its state, and the verbs that go-smtp calls through inner.
//
// The goroutine that go-smtp runs for the connection owns all fields. Others may call Wake
// and kill.
type session struct {
	lines.Conn
	srv    *Server
	peer   peer
	secure bool

	helo     func() string // what the peer called itself last; nil before HELO
	esmtp    bool          // greeted with EHLO
	path     string        // of the MAIL or RCPT command that go-smtp is at, as on the wire
	tx       transaction
	refusals int

	resumed  bool // goes on under TLS with what began in clear
	heard    bool // a command line has come
	closing  bool // go-smtp reads EOF
	detached bool // the connection is closed, or another session goes on with it under TLS
}

// transaction is what RSET forgets.
type transaction struct {
	open     bool
	utf8     bool
	chunking bool // BDAT has begun: only BDAT and RSET are in order
	size     int64
	env      Envelope
	body     body
	stored   int // octets, once they are
}

func newSession(srv *Server, conn net.Conn, from peer) *session {
	_, secure := conn.(*tls.Conn)
	return &session{Conn: srv.lines.NewConn(conn), srv: srv, peer: from, secure: secure}
}

// mail opens a transaction; go-smtp would allow a second MAIL inside one.
func (s *session) mail(utf8 bool, size int64) *reply {
	switch {
	case s.srv.lines.Draining.Load():
		s.closing = true
		return replyShutdown
	case s.tx.open:
		return s.refuse(replySequence)
	case !s.srv.pushback.takes(time.Now()), size > pooledBody && !s.srv.budget.fits(size):
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
	s.tx = tx
	return nil
}

// rcpt asks for the recipient at once; one that was named before is taken again.
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

// badAddress is bad unless the address only wants SMTPUTF8 (RFC 6531 section 3.5).
func (s *session) badAddress(utf8 bool, bad *reply) *reply {
	if utf8 || len(s.path) > address.MaxLength || address.IsASCII(s.path) {
		return bad
	}
	return replyNonASCII
}

// data reads the body, unless BDAT brought it, and answers for the whole message.
func (s *session) data() *reply {
	if !s.tx.body.whole {
		s.begin(true)
		if err := s.receive(); err != nil {
			return s.abort(err)
		}
	}
	return s.deliver()
}

// begin starts the body of the transaction. The recipients are final from here on.
func (s *session) begin(dots bool) {
	env := &s.tx.env
	env.ID = s.srv.newID()
	env.Helo = printableHelo(s.helo())
	env.RemoteIP, env.TLS, env.SMTPUTF8 = s.peer.addr, s.secure, s.tx.utf8
	env.ReceivedAt = s.srv.now()
	pooled := bodyBuffers.Get().(*[]byte)
	buf := appendTrace((*pooled)[:0], env, s.srv.opts.Domain, s.esmtp)
	env.TraceLen = len(buf)
	s.tx.body = body{
		lines: lines.Discipline{Dots: dots}, buf: buf, pooled: pooled, trace: len(buf), limit: s.srv.opts.MaxMessageBytes,
		announced: s.tx.size, budget: &s.srv.budget,
	}
}

// receive reads a DATA body to its end.
func (s *session) receive() error {
	progress := lines.NewProgress(s.srv.opts.ProgressTimeout, s.srv.opts.TransferTimeout)
	for {
		n, end := s.tx.body.add(s.Unread())
		s.Skip(n)
		if end {
			s.tx.body.whole = true
			return nil
		}
		if err := s.more(&progress); err != nil {
			return err
		}
	}
}

// more waits for the next part of a body.
func (s *session) more(progress *lines.Progress) error {
	if s.tx.body.hopeless() {
		return s.tx.body.refusal
	}
	before := len(s.Unread())
	err := s.More(progress.Until)
	progress.Moved(len(s.Unread()) - before)
	return err
}

// abort gives up a connection in the middle of a body: what follows on the wire is no
// command.
func (s *session) abort(err error) *reply {
	s.closing = true
	var r *reply
	switch {
	case errors.As(err, &r):
	case errors.Is(err, os.ErrDeadlineExceeded):
		r = replySlow
	default:
		r = replyBroken
	}
	return s.refuse(r)
}

func (s *session) deliver() *reply {
	if r := s.tx.body.refusal; r != nil {
		return s.refuse(r)
	}
	env := s.tx.env
	if isLooping(s.tx.body.buf[env.TraceLen:]) {
		return s.refuse(replyLoop)
	}
	raw := s.tx.body.take()
	env.ReceivedAt = s.srv.now()
	stampTrace(raw[:env.TraceLen], env.ReceivedAt)
	if err := s.srv.store(env, raw); err != nil {
		return s.fail(err, slog.String("id", env.ID)) // who gave up may not be the last to read raw
	}
	s.tx.body.giveBack(raw)
	s.srv.stats.accepted.Add(1)
	s.srv.stats.acceptedOctets.Add(uint64(len(raw)))
	s.tx.stored = len(raw)
	return newReply("protocol", 250, 0, 0, "OK, stored as "+env.ID)
}

// logStored logs the mail whose 250 was just sent.
func (s *session) logStored() {
	if env := &s.tx.env; s.tx.stored > 0 {
		s.srv.log.LogAttrs(s.srv.ctx, slog.LevelInfo, "received", slog.String("id", env.ID),
			slog.String("from", env.MailFrom), slog.Any("inbox", env.RcptTo), slog.Int("octets", s.tx.stored))
	}
}

// store hands a mail over. A panic on the way is for go-smtp to contain.
func (s *Server) store(env Envelope, raw []byte) error {
	began := time.Now()
	s.pushback.begin(began)
	defer func() { s.pushback.end(began, time.Now()) }()
	return s.inboxes.Deliver(s.ctx, env, raw)
}

// fail turns an error of Inboxes into a reply. This is where it is logged, once.
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

// refuse counts and logs a refusal; a temporary one quietly, for a full disk makes many.
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

// reset forgets the transaction.
func (s *session) reset() {
	s.tx.body.free()
	s.tx = transaction{}
}

// Close sends the last replies and frees the connection's place, unless the connection
// goes on under TLS.
func (s *session) Close() error {
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

// peer is where a connection comes from.
type peer struct {
	addr netip.Addr // invalid when it is not an IP address
}

func (p peer) String() string { return p.addr.String() }

// peerOf returns the peer of conn.
func peerOf(conn net.Conn) peer {
	if a, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
		return peer{a.AddrPort().Addr().Unmap().WithZone("")}
	}
	return peer{}
}

// group returns the part of the address that the limit per IP counts: the whole of an IPv4
// address, the first 64 bits of an IPv6 one, for a single machine has all of the rest.
func (p peer) group() netip.Addr {
	if p.addr.Is6() {
		prefix, _ := p.addr.Prefix(64) // 64 is in range
		return prefix.Addr()
	}
	return p.addr
}
