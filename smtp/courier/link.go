package courier

import (
	"bufio"
	"context"
	"net"
	"strconv"
	"strings"
	"time"
)

const (
	linkOutput = 32 << 10 // octets that are written at once
	quitTime   = time.Second
)

// extensions are the extensions offered in the EHLO reply that we use.
type extensions struct {
	pipelining, startTLS, smtpUTF8, eightBit, dsn bool

	limit int64 // octets of a message; 0 if not given
	auth  []string
}

// link is one connection to another server. An exchange owns it while it uses it, else the pool
// does.
type link struct {
	net.Conn
	host     string
	r        *bufio.Reader
	out      []byte
	ext      extensions
	tls      bool
	verified bool // the certificate is valid for host
	used     bool // for an earlier message, so that RSET comes first
	spent    bool // not usable for another message
	mails    int
	timeouts Timeouts

	ctx    context.Context // of the current exchange
	unwind func() bool     // stops watching ctx
	expiry *time.Timer     // runs while the link is idle
}

func newLink(conn net.Conn, host string, timeouts Timeouts) *link {
	return &link{Conn: conn, host: host, timeouts: timeouts, r: bufio.NewReaderSize(conn, maxReplyLine)}
}

// begin binds the link to an exchange: when its ctx ends, every wait ends.
func (l *link) begin(ctx context.Context) {
	l.ctx = ctx
	conn := l.Conn // TLS may replace l.Conn meanwhile
	l.unwind = context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
}

// end unbinds the link. If ctx ended just now, its late deadline could hit the next message.
func (l *link) end() {
	if !l.unwind() {
		l.spent = true
	}
}

// allow sets the deadline of the next step. It does so before it reads ctx, so that the step sees
// either the end of ctx or the deadline that begin sets then.
func (l *link) allow(wait time.Duration) error {
	if err := l.SetDeadline(time.Now().Add(wait)); err != nil {
		return err
	}
	return l.ctx.Err()
}

// say queues one command.
func (l *link) say(words ...string) {
	for _, w := range words {
		l.out = append(l.out, w...)
	}
	l.out = append(l.out, "\r\n"...)
}

func (l *link) flush() error {
	if err := l.allow(l.timeouts.Command); err != nil {
		return err
	}
	_, err := l.Write(l.out)
	l.out = l.out[:0]
	return err
}

// hear reads one reply, which must arrive completely within wait.
func (l *link) hear(wait time.Duration, each func(string)) (reply, error) {
	if err := l.allow(wait); err != nil {
		return reply{}, err
	}
	r, err := readReply(l.r, each)
	if err == nil && r.code == 421 { // the server is closing, whatever the command was
		return r, refusal(r)
	}
	return r, err
}

// command sends one command and reads its reply.
func (l *link) command(words ...string) (reply, error) {
	l.say(words...)
	if err := l.flush(); err != nil {
		return reply{}, err
	}
	return l.hear(l.timeouts.Command, nil)
}

// greet sends EHLO, or HELO to a server that does not support it.
func (l *link) greet(hello string) error {
	l.ext = extensions{}
	l.say("EHLO ", hello)
	if err := l.flush(); err != nil {
		return err
	}
	first := true
	r, err := l.hear(l.timeouts.Command, func(line string) {
		if !first { // the first line is the server's name
			l.ext.read(line)
		}
		first = false
	})
	if err == nil && r.code >= 500 {
		l.ext = extensions{}
		r, err = l.command("HELO ", hello)
	}
	if err == nil && !r.ok() {
		err = refusal(r)
	}
	return err
}

func (e *extensions) read(line string) {
	words := strings.Fields(strings.ToUpper(line))
	if len(words) == 0 {
		return
	}
	switch words[0] {
	case "PIPELINING":
		e.pipelining = true
	case "STARTTLS":
		e.startTLS = true
	case "SMTPUTF8":
		e.smtpUTF8 = true
	case "8BITMIME":
		e.eightBit = true
	case "DSN":
		e.dsn = true
	case "AUTH":
		e.auth = words[1:]
	case "SIZE":
		if len(words) > 1 {
			e.limit, _ = strconv.ParseInt(words[1], 10, 64)
		}
	}
}

// quit closes the link after a QUIT. It does not wait for the reply.
func (l *link) quit() {
	if !l.spent && l.SetDeadline(time.Now().Add(quitTime)) == nil {
		l.Write([]byte("QUIT\r\n"))
	}
	l.Close()
}
