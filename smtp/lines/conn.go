// Package lines is what lies between a receiving session and the network: lines and bytes in,
// replies out, the time they may take, and the rule that finds the end of a mail in them. It
// refuses to know commands, replies and mails.
package lines

import (
	"bytes"
	"errors"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxLine   = 4 << 10  // octets of a command with its line end; RFC 5321 asks for 512, extensions for more
	inputSize = 16 << 10 // octets read at once
	maxOutput = 8 << 10  // octets of replies held back while input is waiting
)

// crowd is how many mails being stored make a session let others run before it looks for
// input. Its peer needs a moment for the next command anyway, so that this often saves the
// read that finds nothing, the parking and the wake-up: a third more mails a second with 32
// sessions on two cores. Alone it only wakes another thread, that then looks for work in
// vain: a quarter fewer mails with one session.
const crowd = 2

// Errors of reading a line, in addition to those of the connection.
var (
	ErrLong     = errors.New("smtp: command line too long")
	ErrDraining = errors.New("smtp: shutting down")
	ErrTLS      = errors.New("smtp: a TLS handshake instead of a line")
)

// Server is what the connections of one server share; any goroutine may use it.
type Server struct {
	WriteTimeout time.Duration // for the peer to take a reply
	Draining     atomic.Bool   // who waits for a line that begins nothing new leaves
	Octets       atomic.Uint64 // that came
	Storing      atomic.Int32  // mails, now
}

// Conn is one connection with buffers on both sides. Replies wait until the peer has nothing
// more for us to read, so that a reply of many lines, or the replies to a pipelined group,
// are one write.
//
// Only the session's goroutine uses it; any other may call Wake.
type Conn struct {
	net.Conn
	server *Server
	in     []byte // in[r:w] is unread
	r, w   int
	out    []byte // replies held back

	readBy, writeBy time.Time // the deadlines set; zero: none that counts
}

// NewConn returns conn with empty buffers.
func (s *Server) NewConn(conn net.Conn) Conn { return Conn{Conn: conn, server: s} }

// Line returns the next line with its LF; it is valid until more is read. It must come whole
// until then; an idle peer, who would lose nothing, is left when the server drains.
func (c *Conn) Line(until time.Time, idle bool) ([]byte, error) {
	for seen := 0; ; {
		if bytes.HasPrefix(c.Unread(), handshake) {
			return nil, ErrTLS
		}
		if i := bytes.IndexByte(c.Unread()[seen:], '\n'); i >= 0 && seen+i < maxLine {
			line := c.Unread()[:seen+i+1]
			c.Skip(len(line))
			return line, nil
		}
		if seen = len(c.Unread()); seen >= maxLine {
			return nil, ErrLong
		}
		if err := c.fill(until, idle); err != nil {
			return nil, err
		}
	}
}

// handshake begins every ClientHello (RFC 8446 section 5.1): type and major version.
var handshake = []byte{0x16, 0x03}

// Unread returns what was read ahead; it is valid until more is read.
func (c *Conn) Unread() []byte { return c.in[c.r:c.w] }

// Skip takes n octets off Unread.
func (c *Conn) Skip(n int) { c.r += n }

// More waits until there is more to be read than now.
func (c *Conn) More(until time.Time) error { return c.fill(until, false) }

// fill sends what is due and waits for more input. Bytes that come together with an error
// are dropped.
func (c *Conn) fill(until time.Time, idle bool) error {
	c.makeRoom()
	for {
		// The deadline stands before the look at Draining, so that the other order in
		// Wake finds either this read or the flag. A TLS handshake may run in Flush.
		if err := c.limitReads(until); err != nil {
			return err
		}
		if err := c.Flush(); err != nil {
			return err
		}
		if idle && c.server.Draining.Load() {
			return ErrDraining
		}
		if c.server.Storing.Load() >= crowd {
			runtime.Gosched()
		}
		n, err := c.Conn.Read(c.in[c.w:])
		if err == nil {
			c.w += n
			c.server.Octets.Add(uint64(n))
			return nil
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) || !time.Now().Before(until) {
			return err
		}
		c.readBy = time.Time{} // it was Wake, or an earlier read's
	}
}

// limitReads makes reads end by until, or before: fill goes on after a deadline that came too
// early. So a new command or part of a body rarely costs moving one of the runtime's timers,
// which costs 64 sessions that don't pipeline 8 % of their CPU.
func (c *Conn) limitReads(until time.Time) error {
	if !c.readBy.IsZero() && !until.Before(c.readBy) {
		return nil
	}
	return c.SetReadDeadline(until)
}

// SetReadDeadline is net.Conn's; the session's goroutine alone calls it.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.readBy = t
	return c.Conn.SetReadDeadline(t)
}

func (c *Conn) makeRoom() {
	switch {
	case c.in == nil:
		c.in = inputs.Get().(*[inputSize]byte)[:]
	case c.r == c.w:
		c.r, c.w = 0, 0
	case c.w == len(c.in):
		c.w = copy(c.in, c.Unread())
		c.r = 0
	}
}

// inputs are for reuse: most peers send one mail and leave.
var inputs = sync.Pool{New: func() any { return new([inputSize]byte) }}

// Forget gives the input up, which nothing may read afterwards.
func (c *Conn) Forget() {
	if c.in != nil {
		Spoil(c.in)
		inputs.Put((*[inputSize]byte)(c.in))
	}
	c.in, c.r, c.w = nil, 0, 0
}

// Wake interrupts a read, so that an idle session sees that the server drains. Any goroutine
// may call it.
func (c *Conn) Wake() { c.Conn.SetReadDeadline(time.Unix(1, 0)) }

// Write holds a reply back, unless too much is.
func (c *Conn) Write(p []byte) (int, error) {
	if c.out = append(c.out, p...); len(c.out) <= maxOutput {
		return len(p), nil
	}
	return len(p), c.Flush()
}

// Flush sends the replies held back.
func (c *Conn) Flush() error {
	if len(c.out) == 0 {
		return nil
	}
	if err := c.limitWrite(time.Now()); err != nil {
		return err
	}
	_, err := c.Conn.Write(c.out)
	c.out = c.out[:0]
	return err
}

// limitWrite gives a write at least WriteTimeout and at most an eighth more, so that not every
// reply moves a timer.
func (c *Conn) limitWrite(now time.Time) error {
	if c.writeBy.Sub(now) >= c.server.WriteTimeout {
		return nil
	}
	c.writeBy = now.Add(c.server.WriteTimeout + c.server.WriteTimeout/8)
	return c.SetWriteDeadline(c.writeBy)
}
