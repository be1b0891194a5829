package wire

import (
	"io"
	"net"
	"net/netip"
	"runtime"
	"sync/atomic"
	"time"

	"inboxd/internal/core/account"
)

const (
	// During a request a connection must deliver minProgress bytes in each progressStep, or the
	// rest of the request. So a peer that sends a byte now and then holds its connection no longer
	// than a silent one. Of a body, each step must bring one heldSteps-th of the memory it holds.
	progressStep = 10 * time.Second
	minProgress  = 512
	heldSteps    = 64
	// writeTimeout is how long the peer may take to accept one piece of a response.
	writeTimeout = 20 * time.Second
	writePiece   = 64 << 10
	// heldPieces is the largest number of pieces of a large body in memory. heldTimeout is how long
	// each may take.
	heldPieces  = 16
	heldTimeout = 10 * time.Second
	// deadlineSlack is how stale an armed deadline may be before it is set again. So polls in quick
	// succession do not touch a timer.
	deadlineSlack = 5 * time.Second
	// responseGrace is how long Close waits while the response to a poll is written.
	responseGrace = 100 * time.Millisecond
)

// linger is how much of a refused body is read and discarded, and how long the connection stays
// open. Without it, the reset that unread bytes cause would lose the response.
type linger struct {
	bytes int
	stay  time.Duration
	// places, if not nil, bounds how many connections linger at once. Without a free place the
	// connection is closed immediately.
	places chan struct{}
}

// A stranger that sends more than this without reading the response may see only the reset. Without
// a limit, a thousand strangers that send at full speed would take all processor time.
var (
	lingerKnown    = &linger{32 << 20, 5 * time.Second, nil}
	lingerStranger = &linger{256 << 10, time.Second, make(chan struct{}, 64)}
)

// enter acquires a place. It returns false if all are taken.
func (l *linger) enter() bool {
	if l.places == nil {
		return true
	}
	select {
	case l.places <- struct{}{}:
		return true
	default:
		return false
	}
}

func (l *linger) leave() {
	if l.places != nil {
		<-l.places
	}
}

// conn puts progress deadlines on a connection. The goroutine that serves the connection owns all
// fields. Only Close may also be called by Shutdown, and it reads only atomics.
type conn struct {
	net.Conn
	number   uint64                 // of the connection, see requestIDs
	requests uint64                 // stamped so far
	refusing atomic.Pointer[linger] // set: the rest of a request will never be read, see Close
	spoke    atomic.Bool            // a byte arrived
	closed   atomic.Bool
	// quietSince is when c began to wait for a request, in Unix nanoseconds; 0 during a request.
	quietSince atomic.Int64
	client     netip.Prefix // its client; invalid: not limited per client
	probe      bool         // it has a place beyond the limits, see ProbePlaces
	// responding is set while Read writes the response to a poll, see poll.go. fasthttp takes the
	// connection for idle then, so a shutdown would cut the response off.
	responding atomic.Bool
	token      []byte       // of the last complete plain poll
	hash       account.Hash // of token
	release    func(*conn)
	wire       *Wire

	idle      bool      // between requests: the deadline is fasthttp's
	readUntil time.Time // the armed read deadline
	inStep    bool      // a progress step has begun
	received  int       // bytes in this step
	owed      int       // bytes that a step must bring, if more than minProgress
	most      int       // bytes that may still arrive of a chunked body; 0: none is being read
	piece     int       // bytes to write at once of a large body in memory; 0: not writing one

	writeUntil time.Time // the armed write deadline

	ahead    []byte // read before the connection was parked; belongs to the next request
	detached bool   // nothing may be read, see detach
	resumed  bool   // given back to fasthttp, and nothing was read since
	// handedOver counts the Close calls of fasthttp that are still to come and must be ignored.
	handedOver atomic.Int32
	streaming  atomic.Bool // sends events
}

// SetReadDeadline shows which state fasthttp is in: it sets a deadline while it waits for a next
// request, and zero once the first byte has arrived.
func (c *conn) SetReadDeadline(t time.Time) error {
	if t.IsZero() {
		c.begin()
		return nil
	}
	c.idle = true
	c.quietSince.Store(t.Add(-idleTimeout).UnixNano())
	if late := t.Sub(c.readUntil); late >= 0 && late < deadlineSlack {
		return nil
	}
	return c.armRead(t)
}

// begin notes the start of a request.
func (c *conn) begin() {
	c.idle, c.inStep = false, false
	c.quietSince.Store(0)
}

func (c *conn) armRead(t time.Time) error {
	c.readUntil = t
	return c.Conn.SetReadDeadline(t)
}

func (c *conn) Read(p []byte) (int, error) {
	if c.resumed {
		c.resumed = false
		c.wire.parked.Add(-1)
	}
	if c.detached {
		return 0, errDetached
	}
	if len(c.ahead) > 0 && len(p) > 0 {
		n := copy(p, c.ahead)
		c.ahead = c.ahead[n:]
		c.begin()
		return n, nil
	}
	if !c.idle && (!c.inStep || c.received >= max(c.owed, minProgress)) {
		if err := c.beginStep(); err != nil {
			return 0, err
		}
	}
	for {
		n, err := c.Conn.Read(p)
		c.received += n
		if n > 0 && !c.spoke.Load() {
			c.spoke.Store(true)
			c.quietSince.Store(0)
		}
		if c.most > 0 && c.over(n) {
			return 0, errChunks
		}
		if n == 0 && !c.spoke.Load() && (c.probe || c.quietSince.Load() == ending) {
			return 0, c.turnAway()
		}
		if n == 0 || err != nil || !c.idle {
			return n, err
		}
		// While idle, fasthttp's buffer is empty and all responses are written. So p holds the
		// start of a request, and perhaps all of it.
		c.responding.Store(true)
		now := time.Now()
		answered, err := c.wire.answerPoll(c, p[:n], now)
		c.responding.Store(false)
		switch {
		case err != nil:
			return 0, err
		case !answered:
			c.begin() // also if fasthttp takes this for a first request
			return n, nil
		case c.closed.Load():
			return 0, net.ErrClosed
		}
		if err := c.SetReadDeadline(now.Add(idleTimeout)); err != nil {
			return 0, err
		}
	}
}

// beginStep begins a progress step.
func (c *conn) beginStep() error {
	c.inStep, c.received = true, 0
	step := progressStep
	if c.probe {
		step = probeStep
	}
	if err := c.armRead(time.Now().Add(step)); err != nil {
		return err
	}
	if c.quietSince.Load() == ending { // before the deadline was set
		return c.turnAway()
	}
	return nil
}

// turnAway ends a connection on which no request arrived.
func (c *conn) turnAway() error {
	if c.probe {
		c.wire.writeCrowded(c)
	}
	return io.EOF
}

// over counts n octets of a chunked body and reports whether they exceed the limit.
func (c *conn) over(n int) bool {
	c.most -= n
	return c.most <= 0
}

// Write writes a response in pieces, each with its own deadline. So a big download may take long,
// but a peer that stops reading is dropped.
func (c *conn) Write(p []byte) (int, error) {
	if c.piece > 0 {
		return c.writeAt(time.Now(), p, max(c.piece, writePiece), heldTimeout)
	}
	return c.writeAt(time.Now(), p, writePiece, writeTimeout)
}

func (c *conn) writeAt(now time.Time, p []byte, piece int, timeout time.Duration) (int, error) {
	done := 0
	for {
		if left := c.writeUntil.Sub(now); left > timeout || left < timeout-deadlineSlack {
			c.writeUntil = now.Add(timeout)
			if err := c.Conn.SetWriteDeadline(c.writeUntil); err != nil {
				return done, err
			}
		}
		n, err := c.Conn.Write(p[done:min(done+piece, len(p))])
		done += n
		if err != nil || done == len(p) {
			return done, err
		}
		now = time.Now()
	}
}

// Close closes the connection once. After a refused body it first closes the writing half and reads
// a little of what still arrives, so that the peer can read the response.
func (c *conn) Close() error {
	if c.keptOpen() || c.closed.Swap(true) {
		return nil
	}
	defer c.release(c)
	for end := time.Now().Add(responseGrace); c.responding.Load() && time.Now().Before(end); {
		runtime.Gosched()
	}
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		if l := c.refusing.Load(); l != nil && l.enter() {
			defer l.leave()
			if half.CloseWrite() == nil {
				c.drain(l)
			}
		}
	}
	return c.Conn.Close()
}

func (c *conn) drain(l *linger) {
	until := time.Now().Add(l.stay)
	c.Conn.SetReadDeadline(until)
	var sink [4096]byte
	for total := 0; total < l.bytes; {
		n, err := c.Conn.Read(sink[:])
		if err != nil {
			return
		}
		total += n
	}
	time.Sleep(time.Until(until)) // the peer may stop sending and read the response
}
