package smtp

import (
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"runtime/debug"
	"slices"
	"time"

	gosmtp "github.com/emersion/go-smtp"

	"inboxd/internal/address"
	"inboxd/internal/fault"
)

// maxRefusals is the number of refused commands after which a connection is closed: no
// sender needs more, an address harvester does.
const maxRefusals = 100

// session is one connection, with go-smtp in its middle. Beneath go-smtp it is the net.Conn
// that hands over one command line at a time (commands.go, chunk.go); above, it is the gosmtp.Session
// that go-smtp calls (this file). Bodies never pass through go-smtp: its DATA reader takes
// CR CRLF.CRLF for text and works byte by byte, and its BDAT takes a chunk cut short by the
// peer's disappearance for a whole one. So Data reads the wire itself and leaves go-smtp an
// empty body, and BDAT is collected beneath and then presented as one DATA command.
//
// The goroutine of go-smtp's connection owns all fields. Others may call wake and kill.
type session struct {
	wire
	srv    *Server
	peer   peer
	secure bool

	smtp     *gosmtp.Conn // nil before HELO
	esmtp    bool         // greeted with EHLO
	path     string       // of the MAIL or RCPT command that go-smtp is at, as on the wire
	tx       transaction
	stored   stored // until its 250 is written
	refusals int

	heard    bool   // a command line has come
	feed     []byte // what go-smtp may read now: the rest of a command, or the end of DATA
	mute     string // go-smtp's next reply is ours to keep, if it begins so
	urgent   bool   // the next reply may not wait
	closing  bool   // go-smtp reads EOF
	detached bool   // the connection is closed, or another session goes on with it under TLS
}

// transaction is what RSET forgets.
type transaction struct {
	open     bool
	utf8     bool
	chunking bool // BDAT has begun: only BDAT and RSET are in order
	size     int64
	env      Envelope
	body     body
}

var (
	_ net.Conn       = (*session)(nil)
	_ gosmtp.Session = (*session)(nil)
)

func newSession(srv *Server, conn net.Conn, from peer) *session {
	_, secure := conn.(*tls.Conn)
	s := &session{
		wire: wire{
			Conn: conn, writeTimeout: srv.opts.ProgressTimeout,
			draining: &srv.draining, read: &srv.stats.octets, deliveries: &srv.gate.running,
		},
		srv: srv, peer: from, secure: secure,
	}
	s.after = s.sent
	return s
}

// Mail opens a transaction; go-smtp would allow a second MAIL inside one.
func (s *session) Mail(_ string, opts *gosmtp.MailOptions) error {
	switch {
	case s.draining.Load():
		s.closing = true
		return replyShutdown
	case s.tx.open:
		return s.refuse(replySequence)
	case !s.srv.gate.open(time.Now()), opts.Size > pooledBody && !s.srv.memory.fits(opts.Size):
		return s.refuse(replyOverload)
	}
	tx := transaction{open: true, utf8: opts.UTF8, size: opts.Size}
	if s.path != "" { // empty for a bounce, RFC 5321 section 4.5.5
		from, ok := address.Sender(s.path)
		if !ok || !opts.UTF8 && !address.IsASCII(s.path) {
			return s.refuse(s.badAddress(opts.UTF8, replyBadSender))
		}
		tx.env.MailFrom = from
	}
	s.tx = tx
	return nil
}

// Rcpt asks for the recipient at once; one that was named before is taken again.
func (s *session) Rcpt(string, *gosmtp.RcptOptions) error {
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

// Data answers for the whole message. It ignores go-smtp's reader, see session.
func (s *session) Data(io.Reader) error {
	if !s.tx.body.whole {
		s.begin(true)
		if err := s.receive(); err != nil {
			return s.abort(err)
		}
	}
	s.feed = endOfData
	s.urgent = true // a 250 that waits for more input is a duplicate in the making
	return s.deliver()
}

// endOfData is all that go-smtp sees of a body.
var endOfData = []byte(".\r\n")

// begin starts the body of the transaction. The recipients are final from here on.
func (s *session) begin(dots bool) {
	env := &s.tx.env
	env.ID = s.srv.newID()
	env.Helo = printableHelo(s.smtp.Hostname())
	env.RemoteIP, env.TLS, env.SMTPUTF8 = s.peer.addr, s.secure, s.tx.utf8
	env.ReceivedAt = s.srv.now()
	pooled := bodyBuffers.Get().(*[]byte)
	buf := appendTrace((*pooled)[:0], env, s.srv.opts.Domain, s.esmtp)
	env.TraceLen = len(buf)
	s.tx.body = body{
		lines: discipline{dots: dots}, buf: buf, pooled: pooled, trace: len(buf), limit: s.srv.opts.MaxMessageBytes,
		announced: s.tx.size, memory: &s.srv.memory,
	}
}

// receive reads a DATA body to its end.
func (s *session) receive() error {
	pace := newPace(s.srv.opts.ProgressTimeout, s.srv.opts.TransferTimeout)
	for {
		n, end := s.tx.body.add(s.unread())
		s.r += n
		if end {
			s.tx.body.whole = true
			return nil
		}
		if err := s.more(&pace); err != nil {
			return err
		}
	}
}

// more waits for the next part of a body.
func (s *session) more(pace *pace) error {
	if s.tx.body.hopeless() {
		return s.tx.body.refusal
	}
	s.until = pace.until
	before := s.w - s.r
	if err := s.fill(); err != nil {
		return err
	}
	pace.moved(s.w - s.r - before)
	return nil
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
	s.stored = stored{id: env.ID, from: env.MailFrom, rcpts: env.RcptTo, octets: len(raw)}
	// go-smtp writes what Data returns with its own code, 250 included.
	return newReply(250, 2, 0, 0, "OK, stored as "+env.ID)
}

// stored is a mail whose 250 is on its way.
type stored struct {
	id, from string // id is empty when there is none
	rcpts    []string
	octets   int
}

// sent logs the mail whose 250 was just written. It is the one line that every mail costs, so
// nobody looks for the place in the source that it comes from, as slog.Logger does.
func (s *session) sent() {
	m := s.stored
	if m.id == "" {
		return
	}
	s.stored = stored{}
	if h := s.srv.log.Handler(); h.Enabled(s.srv.ctx, slog.LevelInfo) {
		line := slog.NewRecord(time.Now(), slog.LevelInfo, "received", 0)
		line.AddAttrs(slog.String("id", m.id), slog.String("from", m.from), slog.Any("inbox", m.rcpts), slog.Int("octets", m.octets))
		_ = h.Handle(s.srv.ctx, line) // nobody is left to tell
	}
}

// store hands a mail over. A panic on the way is for go-smtp to contain.
func (s *Server) store(env Envelope, raw []byte) error {
	began := time.Now()
	s.gate.begin(began)
	defer func() { s.gate.end(began, time.Now()) }()
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
	if r.Temporary() {
		level = slog.LevelDebug
	}
	s.srv.log.LogAttrs(s.srv.ctx, level, "rejected", append(about,
		slog.String("peer", s.peer.String()), slog.Int("code", r.Code), slog.String("reason", reasonOf(r)))...)
	return r
}

// Reset forgets the transaction.
func (s *session) Reset() {
	s.tx.body.free()
	s.tx = transaction{}
}

// Logout has nothing to do: Close does it.
func (s *session) Logout() error { return nil }

// Close sends the last replies and frees the connection's place, unless the connection
// goes on under TLS.
func (s *session) Close() error {
	if s.detached {
		return nil
	}
	s.detached, s.closing = true, true
	s.feed = nil
	s.Reset()
	s.flush() // may fail: the peer has gone
	s.forget()
	s.srv.release(s)
	return s.Conn.Close()
}

// kill ends the connection under a running session, without the farewell of TLS, which can
// block. Any goroutine may call it.
func (s *session) kill() {
	if t, ok := s.Conn.(*tls.Conn); ok {
		t.NetConn().Close()
		return
	}
	s.Conn.Close()
}

// contain ends the session, and no other, after a panic of ours outside go-smtp's own
// recover.
func (s *session) contain(err *error) {
	if v := recover(); v != nil {
		s.srv.log.Error("panic in a session", "err", v, "peer", s.peer.String(), "stack", string(debug.Stack()))
		s.closing = true
		s.send(replyInternal)
		*err = io.EOF
	}
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
