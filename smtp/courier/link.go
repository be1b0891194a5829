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

	sizeLimit int64 // octets of a message; 0 if not given
	auth      []string
}

// link is one connection to another server. An exchange owns it while it uses it, else the pool
// does.
type link struct {
	net.Conn
	hostName     string
	r            *bufio.Reader
	outBuffer    []byte
	ext          extensions
	tls          bool
	isVerified   bool // the certificate is valid for host
	wasUsed      bool // for an earlier message, so that RSET comes first
	isSpent      bool // not usable for another message
	messageCount int
	timeouts     Timeouts

	ctx          context.Context // of the current exchange
	stopWatching func() bool     // stops watching ctx
	expiryTimer  *time.Timer     // runs while the link is idle
}

func newLink(conn net.Conn, host string, timeouts Timeouts) *link {
	return &link{Conn: conn, hostName: host, timeouts: timeouts, r: bufio.NewReaderSize(conn, maxReplyLine)}
}

// bindExchange binds the link to an exchange: when its ctx ends, every wait ends.
func (l *link) bindExchange(ctx context.Context) {
	l.ctx = ctx
	conn := l.Conn // TLS may replace l.Conn meanwhile
	l.stopWatching = context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
}

// unbindExchange unbinds the link. If ctx ended just now, its late deadline could hit the next message.
func (l *link) unbindExchange() {
	if !l.stopWatching() {
		l.isSpent = true
	}
}

// armDeadline sets the deadline of the next step. It does so before it reads ctx, so that the step sees
// either the end of ctx or the deadline that begin sets then.
func (l *link) armDeadline(wait time.Duration) error {
	if err := l.SetDeadline(time.Now().Add(wait)); err != nil {
		return err
	}
	return l.ctx.Err()
}

// queueCommand queues one command.
func (l *link) queueCommand(words ...string) {
	for _, w := range words {
		l.outBuffer = append(l.outBuffer, w...)
	}
	l.outBuffer = append(l.outBuffer, "\r\n"...)
}

func (l *link) flushOutput() error {
	if err := l.armDeadline(l.timeouts.Command); err != nil {
		return err
	}
	_, err := l.Write(l.outBuffer)
	l.outBuffer = l.outBuffer[:0]
	return err
}

// awaitReply reads one reply, which must arrive completely within wait.
func (l *link) awaitReply(wait time.Duration, each func(string)) (serverReply, error) {
	if err := l.armDeadline(wait); err != nil {
		return serverReply{}, err
	}
	r, err := readReply(l.r, each)
	if err == nil && r.code == 421 { // the server is closing, whatever the command was
		return r, sessionRefusal(r)
	}
	return r, err
}

// sendCommand sends one command and reads its reply.
func (l *link) sendCommand(words ...string) (serverReply, error) {
	l.queueCommand(words...)
	if err := l.flushOutput(); err != nil {
		return serverReply{}, err
	}
	return l.awaitReply(l.timeouts.Command, nil)
}

// sendHello sends EHLO, or HELO to a server that does not support it.
func (l *link) sendHello(hello string) error {
	l.ext = extensions{}
	l.queueCommand("EHLO ", hello)
	if err := l.flushOutput(); err != nil {
		return err
	}
	first := true
	r, err := l.awaitReply(l.timeouts.Command, func(line string) {
		if !first { // the first line is the server's name
			l.ext.parseExtension(line)
		}
		first = false
	})
	if err == nil && r.code >= 500 {
		l.ext = extensions{}
		r, err = l.sendCommand("HELO ", hello)
	}
	if err == nil && !r.ok() {
		err = sessionRefusal(r)
	}
	return err
}

func (e *extensions) parseExtension(line string) {
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
			e.sizeLimit, _ = strconv.ParseInt(words[1], 10, 64)
		}
	}
}

// sendQuit closes the link after a QUIT. It does not wait for the reply.
func (l *link) sendQuit() {
	if !l.isSpent && l.SetDeadline(time.Now().Add(quitTime)) == nil {
		l.Write([]byte("QUIT\r\n"))
	}
	l.Close()
}
