// Package lines lies between a receiving session and the network: lines and bytes in, replies out,
// the time that both may take, and the rule that finds the end of a message. It does not know
// commands, replies or messages.
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
	maxLine   = 4 << 10  // octets of a command with its line end; RFC 5321 requires 512, extensions more
	inputSize = 16 << 10 // octets read at once
	maxOutput = 8 << 10  // octets of replies held back while input is pending
)

// yieldThreshold is how many messages being stored make a session yield before it reads. Its peer
// needs a moment for the next command anyway. Yielding often saves a read that finds nothing, and
// the wait and wake-up after it: a third more messages per second with 32 sessions on two cores.
// With a single session it only wakes another thread that finds no work: a quarter fewer messages.
const yieldThreshold = 2

// Errors of Conn.ReadLine.
var (
	ErrLong     = errors.New("smtp: command line too long")
	ErrDraining = errors.New("smtp: shutting down")
	ErrTLS      = errors.New("smtp: a TLS handshake instead of a line")
)

// SharedState is what the connections of one server share. Any goroutine may use it.
type SharedState struct {
	WriteTimeout   time.Duration // for the peer to take a reply
	IsDraining     atomic.Bool   // makes ReadLine return ErrDraining where it is called with idle
	ReceivedOctets atomic.Uint64 // received from all peers
	StoringCount   atomic.Int32  // messages being stored now
}

// Conn is one connection with buffers on both sides. Replies are held back until the peer has
// nothing more for us to read. So a reply of many lines, or the replies to a pipelined group, are
// one write.
//
// Only the session's goroutine uses it, except for Wake.
type Conn struct {
	net.Conn
	sharedState    *SharedState
	in             []byte // in[r:w] is unread
	r, w           int
	pendingReplies []byte // replies held back

	readBy, writeBy time.Time // the deadlines set; zero: no valid one
}

// NewConn returns conn with empty buffers.
func (s *SharedState) NewConn(conn net.Conn) Conn { return Conn{Conn: conn, sharedState: s} }

// ReadLine returns the next line with its LF. It is valid until the next read. The whole line must
// arrive by until. With idle, ErrDraining is returned when the server drains: an idle peer loses
// nothing.
func (c *Conn) ReadLine(until time.Time, idle bool) ([]byte, error) {
	for seen := 0; ; {
		if bytes.HasPrefix(c.UnreadBytes(), clientHelloPrefix) {
			return nil, ErrTLS
		}
		if i := bytes.IndexByte(c.UnreadBytes()[seen:], '\n'); i >= 0 && seen+i < maxLine {
			line := c.UnreadBytes()[:seen+i+1]
			c.Skip(len(line))
			return line, nil
		}
		if seen = len(c.UnreadBytes()); seen >= maxLine {
			return nil, ErrLong
		}
		if err := c.fillBuffer(until, idle); err != nil {
			return nil, err
		}
	}
}

// clientHelloPrefix begins every ClientHello (RFC 8446 section 5.1): type and major version.
var clientHelloPrefix = []byte{0x16, 0x03}

// UnreadBytes returns the input that was read ahead. It is valid until the next read.
func (c *Conn) UnreadBytes() []byte { return c.in[c.r:c.w] }

// Skip removes n octets from UnreadBytes.
func (c *Conn) Skip(n int) { c.r += n }

// AwaitMore waits until there is more input than now.
func (c *Conn) AwaitMore(until time.Time) error { return c.fillBuffer(until, false) }

// fillBuffer sends the replies held back and waits for more input. Bytes that arrive together with an
// error are dropped.
func (c *Conn) fillBuffer(until time.Time, idle bool) error {
	c.makeRoom()
	for {
		// The deadline is set before IsDraining is read. Wake uses the opposite order, so it always
		// interrupts this read or is seen through the flag. A TLS handshake may run in Flush.
		if err := c.limitReads(until); err != nil {
			return err
		}
		if err := c.Flush(); err != nil {
			return err
		}
		if idle && c.sharedState.IsDraining.Load() {
			return ErrDraining
		}
		if c.sharedState.StoringCount.Load() >= yieldThreshold {
			runtime.Gosched()
		}
		n, err := c.Conn.Read(c.in[c.w:])
		if err == nil {
			c.w += n
			c.sharedState.ReceivedOctets.Add(uint64(n))
			return nil
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) || !time.Now().Before(until) {
			return err
		}
		c.readBy = time.Time{} // the deadline was that of Wake or of an earlier read
	}
}

// limitReads makes reads end by until, or earlier: fill continues after a deadline that came too
// early. So a new command or part of a body rarely has to move one of the runtime's timers, which
// costs 64 sessions that do not pipeline 8 % of their CPU time.
func (c *Conn) limitReads(until time.Time) error {
	if !c.readBy.IsZero() && !until.Before(c.readBy) {
		return nil
	}
	return c.SetReadDeadline(until)
}

// SetReadDeadline implements net.Conn. Only the session's goroutine may call it.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.readBy = t
	return c.Conn.SetReadDeadline(t)
}

func (c *Conn) makeRoom() {
	switch {
	case c.in == nil:
		c.in = inputPool.Get().(*[inputSize]byte)[:]
	case c.r == c.w:
		c.r, c.w = 0, 0
	case c.w == len(c.in):
		c.w = copy(c.in, c.UnreadBytes())
		c.r = 0
	}
}

// inputPool are reused, because most peers send one message and disconnect.
var inputPool = sync.Pool{New: func() any { return new([inputSize]byte) }}

// ReleaseInput releases the input buffer, which nothing may read afterwards.
func (c *Conn) ReleaseInput() {
	if c.in != nil {
		PoisonBuffer(c.in)
		inputPool.Put((*[inputSize]byte)(c.in))
	}
	c.in, c.r, c.w = nil, 0, 0
}

// Wake interrupts a read, so that an idle session notices that the server drains. Any goroutine may
// call it.
func (c *Conn) Wake() { c.Conn.SetReadDeadline(time.Unix(1, 0)) }

// Write holds a reply back. It flushes when more than maxOutput is held back.
func (c *Conn) Write(p []byte) (int, error) {
	if c.pendingReplies = append(c.pendingReplies, p...); len(c.pendingReplies) <= maxOutput {
		return len(p), nil
	}
	return len(p), c.Flush()
}

// Flush sends the replies held back.
func (c *Conn) Flush() error {
	if len(c.pendingReplies) == 0 {
		return nil
	}
	if err := c.limitWrite(time.Now()); err != nil {
		return err
	}
	_, err := c.Conn.Write(c.pendingReplies)
	c.pendingReplies = c.pendingReplies[:0]
	return err
}

// limitWrite gives a write at least WriteTimeout and at most an eighth more, so that not every
// reply moves a timer.
func (c *Conn) limitWrite(now time.Time) error {
	if c.writeBy.Sub(now) >= c.sharedState.WriteTimeout {
		return nil
	}
	c.writeBy = now.Add(c.sharedState.WriteTimeout + c.sharedState.WriteTimeout/8)
	return c.SetWriteDeadline(c.writeBy)
}
