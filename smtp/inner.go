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

// inner is go-smtp in the middle of a session: beneath it the net.Conn that gives it one command
// at a time, above it the gosmtp.Session that it calls. This file is the door to that library,
// and nothing outside of it names it. ADR 0037 has the figures.
//
// go-smtp greets, answers HELO, EHLO, NOOP, RSET, VRFY and QUIT,
// and reads MAIL and RCPT with their parameters. It is bypassed
//   - beneath, for lines (package lines): it has one deadline for each read, so that bytes that
//     trickle hold a connection for ever; it writes every line of a reply on its own; and what
//     it would misread is answered before it (commands.go).
//   - for bodies: its reader of DATA takes CR CRLF.CRLF for text and works byte by byte, its BDAT
//     takes a chunk cut short by the peer's disappearance for a whole one, and what follows a
//     refused BDAT for commands. So Data reads the wire and leaves it an empty body; BDAT is
//     collected beneath (chunk.go) and then shown as one DATA, whose 354 is held back.
//   - for paths: its parser strips quotes before anyone can object.
//   - for the order of commands: it answers those out of sequence with 502.
//   - for accepting, limits, STARTTLS and shutdown: it has no caps, no PROXY header, and leaves
//     nobody a word when it stops. It serves what is handed to it and knows of no TLS.
//
// The goroutine that go-smtp runs for the connection owns it, as it does the session.
type inner struct {
	*session
	pending []byte // what go-smtp may read now: the rest of a command, or the end of DATA
	urgent  bool   // the next reply may not wait
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
	p.MaxLineLength = 0 // no limit: lines.Conn has one for commands, bodies need none
	p.EnableSMTPUTF8 = true
	p.ErrorLog = slog.NewLogLogger(s.log.Handler(), slog.LevelError) // panics in a session, above all
	go p.Serve(handoff{s.sessions, s.ctx.Done()})
	if s.opts.Crowds != nil {
		go s.keepPace()
	}
}

// handoff is the listener from which go-smtp accepts the sessions we give it.
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

// Read gives go-smtp the next command line that is its to answer, or what is left of one.
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

// contain ends the session, and no other, after a panic of ours outside go-smtp's own
// recover.
func (in *inner) contain(err *error) {
	if v := recover(); v != nil {
		in.srv.log.Error("panic in a session", "err", fault.Panicked(v), "peer", in.peer.String(), "stack", string(debug.Stack()))
		in.hangUp(replyInternal)
		*err = io.EOF
	}
}

// Write takes a line of a reply from go-smtp.
func (in *inner) Write(line []byte) (int, error) {
	said := line
	switch {
	case in.resumed && !in.heard: // a second greeting
		said = nil
	case in.tx.body.whole && bytes.HasPrefix(line, []byte("354")): // BDAT brought the body
		said = nil
	case in.offersTLS() && bytes.Equal(line, chunking):
		said = append(bytes.Clone(line), "250-STARTTLS\r\n"...)
	}
	_, err := in.Conn.Write(said)
	if in.urgent && err == nil {
		in.urgent = false
		err = in.Flush()
		in.logStored() // now that the peer need not wait for it
	}
	in.closing = in.closing || err != nil
	return len(line), err
}

// chunking is the line of EHLO behind which go-smtp would offer STARTTLS.
var chunking = []byte("250-CHUNKING\r\n")

// Mail implements gosmtp.Session.
func (in *inner) Mail(_ string, opts *gosmtp.MailOptions) error {
	return said(in.mail(opts.UTF8, opts.Size))
}

// Rcpt implements gosmtp.Session.
func (in *inner) Rcpt(string, *gosmtp.RcptOptions) error { return said(in.rcpt()) }

// Data answers for the whole message. go-smtp's reader finds the end of DATA and no more.
func (in *inner) Data(io.Reader) error {
	in.pending = endOfData
	in.urgent = true // a 250 that waits for more input is a duplicate in the making
	return said(in.data())
}

// said has go-smtp say r. Of what Data returns it says a 250 too; else nil is its own 250.
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

// Logout has nothing to do: Close does it.
func (in *inner) Logout() error { return nil }
