package drive

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// SMTPConn is one SMTP session (RFC 5321) that pipelines MAIL, RCPT and DATA in one write,
// behind the message before if the caller has the next one ready (RFC 2920 section 3.1). Not
// safe for concurrent use.
type SMTPConn struct {
	NC  net.Conn
	in  *bufio.Reader
	out []byte

	undo func() bool // of the interrupt by the context of the dial

	stepwise bool // each command waits for the reply to the one before
}

// Reply is a server's reply that was not the expected one.
type Reply struct {
	Code int
	Text string
}

func (r *Reply) Error() string { return fmt.Sprintf("SMTP %d %s", r.Code, r.Text) }

// DialSMTP connects, greets, and refuses a server that does not offer PIPELINING. Every wait on the
// session ends with ctx.
func DialSMTP(ctx context.Context, addr string) (*SMTPConn, error) { return dialSMTP(ctx, addr, true) }

func dialSMTP(ctx context.Context, addr string, pipelining bool) (_ *SMTPConn, err error) {
	nc, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	c := &SMTPConn{NC: nc, in: bufio.NewReader(nc), stepwise: !pipelining, undo: InterruptOn(ctx, nc)}
	defer func() {
		if err != nil {
			c.undo()
			nc.Close()
		}
	}()
	if _, err := c.expect(220); err != nil {
		return nil, err
	}
	if _, err := nc.Write([]byte("EHLO bench.example.test\r\n")); err != nil {
		return nil, err
	}
	extensions, err := c.expect(250)
	if err != nil {
		return nil, err
	}
	if pipelining && !strings.Contains(strings.ToUpper(extensions), "PIPELINING") {
		return nil, fmt.Errorf("%s does not offer PIPELINING", addr)
	}
	return c, nil
}

// Close says goodbye without waiting for the reply.
func (c *SMTPConn) Close() error {
	c.undo()
	_, _ = c.NC.Write([]byte("QUIT\r\n"))
	return c.NC.Close()
}

// Envelope opens a message for one recipient. A *reply as error leaves the session usable.
func (c *SMTPConn) Envelope(from, to string) error {
	if c.stepwise {
		return c.steps(from, to)
	}
	c.out = appendEnvelope(c.out[:0], from, to)
	if _, err := c.NC.Write(c.out); err != nil {
		return err
	}
	return c.Opened()
}

// steps opens a message without pipelining.
func (c *SMTPConn) steps(from, to string) error {
	for _, step := range [...]struct {
		command string
		want    int
	}{{"MAIL FROM:<" + from + ">", 250}, {"RCPT TO:<" + to + ">", 250}, {"DATA", 354}} {
		if _, err := c.NC.Write([]byte(step.command + "\r\n")); err != nil {
			return err
		}
		if _, err := c.expect(step.want); err != nil {
			if IsReply(err) {
				err = errors.Join(err, c.abandon(false))
			}
			return err
		}
	}
	return nil
}

func appendEnvelope(b []byte, from, to string) []byte {
	b = append(append(b, "MAIL FROM:<"...), from...)
	b = append(append(b, ">\r\nRCPT TO:<"...), to...)
	return append(b, ">\r\nDATA\r\n"...)
}

// Opened reads the replies to an envelope.
func (c *SMTPConn) Opened() error {
	var refused, last error
	for _, want := range [...]int{250, 250, 354} { // all three come, whatever the first says
		if _, last = c.expect(want); last != nil && !IsReply(last) {
			return last
		}
		if refused == nil {
			refused = last // the others only follow from it
		}
	}
	if refused == nil {
		return nil
	}
	if err := c.abandon(last == nil); err != nil {
		return fmt.Errorf("after %v: %w", refused, err)
	}
	return refused
}

// abandon brings a session whose envelope was refused back to its beginning. A server may
// have opened DATA all the same; a lone dot then ends it (RFC 2920 section 3.1).
func (c *SMTPConn) abandon(open bool) error {
	if open {
		if _, err := c.Data([]byte(".\r\n")); err != nil && !IsReply(err) {
			return err
		}
	}
	if _, err := c.NC.Write([]byte("RSET\r\n")); err != nil {
		return err
	}
	_, err := c.expect(250)
	return err
}

// Data sends a message that ends with the final dot, with or without the next envelope behind
// it, and returns when it was handed to the kernel and the reply to it. The replies to the
// envelope are Opened's to read.
func (c *SMTPConn) Data(mail []byte) (dot time.Time, err error) {
	dot = time.Now() // before the write: the server may be faster than our return from it
	if _, err = c.NC.Write(mail); err != nil {
		return dot, err
	}
	_, err = c.expect(250)
	return dot, err
}

// expect reads one reply, all its lines (RFC 5321 section 4.2.1). Another code than the
// wanted one is a *reply as error.
func (c *SMTPConn) expect(code int) (text string, err error) {
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return "", err
		}
		if len(line) < 4 {
			return "", fmt.Errorf("not an SMTP reply: %q", line)
		}
		last, got := line[3] != '-', smallNumber(line[:3])
		if last && got == code && text == "" {
			return "", nil // the usual case, without an allocation
		}
		text += string(line[4:])
		switch {
		case !last:
			continue
		case got != code:
			return "", &Reply{got, strings.TrimSpace(text)}
		}
		return text, nil
	}
}

// IsReply reports whether an error leaves the session usable.
func IsReply(err error) bool {
	var r *Reply
	return errors.As(err, &r)
}
