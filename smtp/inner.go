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

// inner is the go-smtp side of a session. Below go-smtp it is the net.Conn that supplies one
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
type inner struct {
	*session
	pending []byte // what go-smtp may read now: the rest of a command, or the end of DATA
	urgent  bool   // the next reply must be sent immediately
}

var (
	_ net.Conn       = (*inner)(nil)
	_ gosmtp.Session = (*inner)(nil)
)

// startProtocol starts the go-smtp server that all sessions run in. It ends with s.ctx.
func (s *Server) startProtocol() {
	p := gosmtp.NewServer(gosmtp.BackendFunc(func(c *gosmtp.Conn) (gosmtp.Session, error) {
		in := c.Conn().(*inner)
		in.helo = c.Hostname
		return in, nil
	}))
	p.Domain = s.opts.Domain
	p.MaxRecipients = s.opts.MaxRecipients
	p.MaxMessageBytes = s.opts.MaxMessageBytes
	p.MaxLineLength = 0 // no limit: lines.Conn limits commands; bodies need no line limit
	p.EnableSMTPUTF8 = true
	p.ErrorLog = slog.NewLogLogger(s.log.Handler(), slog.LevelError) // mainly for panics in a session
	go p.Serve(handoff{s.sessions, s.ctx.Done()})
	if s.opts.Crowds != nil {
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
		return &inner{session: s}, nil
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

func (h handoff) Close() error   { return nil }
func (h handoff) Addr() net.Addr { return &net.TCPAddr{} }

// Read gives go-smtp the next command line that it should process, or the rest of one.
func (in *inner) Read(p []byte) (n int, err error) {
	defer in.contain(&err)
	for !in.closing && len(in.pending) == 0 {
		in.pending = in.command()
	}
	if in.closing {
		return 0, io.EOF
	}
	n = copy(p, in.pending)
	in.pending = in.pending[n:]
	return n, nil
}

// contain ends only this session after a panic in our own code that go-smtp does not recover.
func (in *inner) contain(err *error) {
	if v := recover(); v != nil {
		in.srv.log.Error("panic in a session", "err", fault.Panicked(v), "peer", in.peer.String(), "stack", string(debug.Stack()))
		in.hangUp(replyInternal)
		*err = io.EOF
	}
}

// Write receives one line of a reply from go-smtp.
func (in *inner) Write(line []byte) (int, error) {
	said := line
	switch {
	case in.resumed && !in.heard: // a second greeting, which a session continued under TLS must not send
		said = nil
	case in.tx.body.whole && bytes.HasPrefix(line, []byte("354")): // BDAT already delivered the body
		said = nil
	case in.offersTLS() && bytes.Equal(line, chunking):
		said = append(bytes.Clone(line), "250-STARTTLS\r\n"...)
	}
	_, err := in.Conn.Write(said)
	if in.urgent && err == nil {
		in.urgent = false
		err = in.Flush()
		in.logStored() // after the flush, so that the peer does not wait for the log
	}
	in.closing = in.closing || err != nil
	return len(line), err
}

// chunking is the line of the EHLO reply after which STARTTLS is inserted.
var chunking = []byte("250-CHUNKING\r\n")

// Mail implements gosmtp.Session.
func (in *inner) Mail(_ string, opts *gosmtp.MailOptions) error {
	return said(in.mail(opts.UTF8, opts.Size))
}

// Rcpt implements gosmtp.Session.
func (in *inner) Rcpt(string, *gosmtp.RcptOptions) error { return said(in.rcpt()) }

// Data returns the reply for the whole message. go-smtp's own reader sees only the end of DATA.
func (in *inner) Data(io.Reader) error {
	in.pending = endOfData
	in.urgent = true // a delayed 250 makes the peer send the message again
	return said(in.data())
}

// said makes go-smtp send r. From Data, go-smtp also sends a 250; elsewhere nil means its own 250.
func said(r *reply) error {
	if r == nil {
		return nil
	}
	return &gosmtp.SMTPError{Code: r.code, EnhancedCode: r.enhanced, Message: r.text}
}

// endOfData is all that go-smtp sees of a body.
var endOfData = []byte(".\r\n")

// Reset implements gosmtp.Session.
func (in *inner) Reset() { in.reset() }

// Logout does nothing: Close does the work.
func (in *inner) Logout() error { return nil }
