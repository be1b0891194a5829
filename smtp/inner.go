package smtp

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"runtime/debug"

	gosmtp "github.com/emersion/go-smtp"

	"inboxd/internal/base/fault"
)

// innerConn is the go-smtp side of a session. Below go-smtp it is the net.Conn that supplies one
// command at a time; above it, the gosmtp.Session that go-smtp calls. Only this file uses that
// library. ADR 0037 has the figures.
//
// go-smtp sends the greeting, replies to HELO, EHLO, NOOP, RSET, VRFY and QUIT, and parses MAIL and
// RCPT with their parameters. It is bypassed
//   - for lines (package lines): it has one deadline per read, so that a peer that sends byte by
//     byte holds a connection forever; it writes every line of a reply separately; and commands
//     that it would misread are replied to before it sees them (commands.go).
//   - for bodies: its DATA reader takes CR CRLF.CRLF for text and works byte by byte. Its BDAT takes
//     a chunk that was cut off by a disconnect for a complete one, and reads what follows a refused
//     BDAT as commands. So Data reads the connection itself and leaves go-smtp an empty body. BDAT
//     is collected below go-smtp (chunk.go) and then presented as one DATA, whose 354 is dropped.
//   - for paths: its parser strips quotes before we could reject them.
//   - for the order of commands: it replies 502 to those out of sequence.
//   - for accepting, limits, STARTTLS and shutdown: it has no connection limits and no PROXY header,
//     and closes connections without a reply when it stops. It gets the sessions from handoff and
//     does not know about TLS.
//
// The goroutine that go-smtp runs for the connection owns inner and the session.
type innerConn struct {
	*session
	pendingInput []byte // what go-smtp may read now: the rest of a command, or the end of DATA
	flushNow     bool   // the next reply must be sent immediately
}

var (
	_ net.Conn       = (*innerConn)(nil)
	_ gosmtp.Session = (*innerConn)(nil)
)

// startProtocol starts the go-smtp server that all sessions run in. It ends with s.ctx.
func (s *Server) startProtocol() {
	p := gosmtp.NewServer(gosmtp.BackendFunc(func(c *gosmtp.Conn) (gosmtp.Session, error) {
		in := c.Conn().(*innerConn)
		in.helo = c.Hostname
		return in, nil
	}))
	p.Domain = s.opts.Domain
	p.MaxRecipients = s.opts.MaxRecipients
	p.MaxMessageBytes = s.opts.MaxMessageBytes
	p.MaxLineLength = 0 // no limit: lines.Conn limits commands; bodies need no line limit
	p.EnableSMTPUTF8 = true
	p.ErrorLog = slog.NewLogLogger(s.log.Handler(), slog.LevelError) // mainly for panics in a session
	go p.Serve(handoff{s.newSessions, s.ctx.Done()})
	if s.opts.MailDominates != nil {
		go s.keepPace()
	}
}

// handoff is the listener from which go-smtp accepts our sessions.
type handoff struct {
	sessions chan *session
	closed   <-chan struct{}
}

func (h handoff) Accept() (net.Conn, error) {
	select {
	case s := <-h.sessions:
		return &innerConn{session: s}, nil
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

func (h handoff) Close() error   { return nil }
func (h handoff) Addr() net.Addr { return &net.TCPAddr{} }

// Read gives go-smtp the next command line that it should process, or the rest of one.
func (in *innerConn) Read(p []byte) (n int, err error) {
	defer in.recoverPanic(&err)
	for !in.isClosing && len(in.pendingInput) == 0 {
		in.pendingInput = in.readCommand()
	}
	if in.isClosing {
		return 0, io.EOF
	}
	n = copy(p, in.pendingInput)
	in.pendingInput = in.pendingInput[n:]
	return n, nil
}

// recoverPanic ends only this session after a panic in our own code that go-smtp does not recover.
func (in *innerConn) recoverPanic(err *error) {
	if v := recover(); v != nil {
		in.srv.log.Error("panic in a session", "err", fault.DescribePanic(v), "peer", in.peer.String(), "stack", string(debug.Stack()))
		in.hangUp(replyInternal)
		*err = io.EOF
	}
}

// Write receives one line of a reply from go-smtp.
func (in *innerConn) Write(line []byte) (int, error) {
	said := line
	switch {
	case in.isResumed && !in.commandReceived: // a second greeting, which a session continued under TLS must not send
		said = nil
	case in.tx.body.isComplete && bytes.HasPrefix(line, []byte("354")): // BDAT already delivered the body
		said = nil
	case in.offersTLS() && bytes.Equal(line, chunking):
		said = append(bytes.Clone(line), "250-STARTTLS\r\n"...)
	}
	_, err := in.Conn.Write(said)
	if in.flushNow && err == nil {
		in.flushNow = false
		err = in.Flush()
		in.logStored() // after the flush, so that the peer does not wait for the log
	}
	in.isClosing = in.isClosing || err != nil
	return len(line), err
}

// chunking is the line of the EHLO reply after which STARTTLS is inserted.
var chunking = []byte("250-CHUNKING\r\n")

// Mail implements gosmtp.Session.
func (in *innerConn) Mail(_ string, opts *gosmtp.MailOptions) error {
	return smtpError(in.beginTransaction(opts.UTF8, opts.Size))
}

// Rcpt implements gosmtp.Session.
func (in *innerConn) Rcpt(string, *gosmtp.RcptOptions) error { return smtpError(in.rcpt()) }

// Data returns the reply for the whole message. go-smtp's own reader sees only the end of DATA.
func (in *innerConn) Data(io.Reader) error {
	in.pendingInput = endOfData
	in.flushNow = true // a delayed 250 makes the peer send the message again
	return smtpError(in.receiveData())
}

// smtpError makes go-smtp send r. From Data, go-smtp also sends a 250; elsewhere nil means its own 250.
func smtpError(r *smtpReply) error {
	if r == nil {
		return nil
	}
	return &gosmtp.SMTPError{Code: r.code, EnhancedCode: r.enhancedCode, Message: r.text}
}

// endOfData is all that go-smtp sees of a body.
var endOfData = []byte(".\r\n")

// Reset implements gosmtp.Session.
func (in *innerConn) Reset() { in.resetTransaction() }

// Logout does nothing: Close does the work.
func (in *innerConn) Logout() error { return nil }
