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
	// A connection in the middle of a request must deliver minProgress bytes in each
	// progressStep, or the rest of the request: a peer that sends a byte now and then
	// holds its connection no longer than one that is silent. Of a body the heldSteps-th part
	// of what it holds must come in each.
	progressStep = 10 * time.Second
	minProgress  = 512
	heldSteps    = 64
	// writeTimeout bounds how long one piece of a response may take to be accepted.
	writeTimeout = 20 * time.Second
	writePiece   = 64 << 10
	// heldPieces is how many pieces a large body in memory has at most, and heldTimeout how
	// long each may take.
	heldPieces  = 16
	heldTimeout = 10 * time.Second
	// deadlineSlack is how stale an armed deadline may be before it is set again: polls
	// that come in quick succession touch no timer.
	deadlineSlack = 5 * time.Second
	// responseGrace bounds how long Close lets a poll's response go out.
	responseGrace = 100 * time.Millisecond
)

// linger is how much of a refused body is read away, and how long the connection stays, so
// that the response is not lost to the reset that unread bytes cause.
type linger struct {
	bytes int
	stay  time.Duration
	// places, where it is bounded, are for those who linger so: who finds none is closed at once.
	places chan struct{}
}

// A stranger who sends more, and looks for no answer while it sends, may see that reset only. A thousand
// of them who send as fast as they can would take the processor from everybody.
var (
	lingerKnown    = &linger{32 << 20, 5 * time.Second, nil}
	lingerStranger = &linger{256 << 10, time.Second, make(chan struct{}, 64)}
)

// enter takes a place; false: there is none.
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

// conn puts progress deadlines on a connection. All but Close belongs to the goroutine that
// serves the connection; Close may also come from Shutdown, and looks at atomics only.
type conn struct {
	net.Conn
	number   uint64                 // of the connection, see requestIDs
	requests uint64                 // stamped so far
	refusing atomic.Pointer[linger] // set: the rest of a request will never be read, see Close
	spoke    atomic.Bool            // a byte came
	closed   atomic.Bool
	// quietSince is when c began to wait for a request, in Unix nanoseconds; 0 while it has one.
	quietSince atomic.Int64
	client     netip.Prefix // whose it is; invalid: it may be anybody's
	probe      bool         // it has a place beyond the bounds, see ProbePlaces
	// responding is set while Read answers a poll, see poll.go: fasthttp takes the
	// connection for idle then, and a shutdown would cut the response off.
	responding atomic.Bool
	token      []byte       // of the last plain poll that came whole
	hash       account.Hash // of token
	release    func(*conn)
	wire       *Wire

	idle      bool      // between requests: the deadline is fasthttp's
	readUntil time.Time // the armed read deadline
	inStep    bool      // a progress step has begun
	received  int       // bytes in this step
	owed      int       // bytes that a step must bring, if more than minProgress
	most      int       // bytes that may yet come of a chunked body; 0: none is read
	piece     int       // bytes of a piece to write of a large body in memory; 0: it is none

	writeUntil time.Time // the armed write deadline

	ahead    []byte // read before the connection was parked, belongs to the next request
	detached bool   // nothing may be read, see detach
	resumed  bool   // back from the park, nothing was read since
	// handedOver counts the times that fasthttp has yet to close what is no longer its own.
	handedOver atomic.Int32
	streaming  atomic.Bool // sends events
}

// SetReadDeadline is how fasthttp tells the two states apart: a deadline while it waits for
// a next request, zero once the first byte is there.
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

// begin notes that a request has begun to come.
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
		// While idle, fasthttp's buffer is empty and all responses are out: p holds the
		// beginning of a request, and perhaps all of it.
		c.responding.Store(true)
		now := time.Now()
		answered, err := c.wire.answerPoll(c, p[:n], now)
		c.responding.Store(false)
		switch {
		case err != nil:
			return 0, err
		case !answered:
			c.begin() // also where fasthttp takes this for a first request
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

// turnAway is how a connection ends on which nothing was asked.
func (c *conn) turnAway() error {
	if c.probe {
		c.wire.writeCrowded(c)
	}
	return io.EOF
}

// over counts n octets of a chunked body, and reports that they are too many.
func (c *conn) over(n int) bool {
	c.most -= n
	return c.most <= 0
}

// Write hands a response over in pieces, each with its own deadline, so that a big download
// may take long and a peer that stops reading may not.
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

// Close closes once. After a refused body it first says that no more will be written and
// reads a little of what is still coming.
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
	time.Sleep(time.Until(until)) // the peer may stop sending, and read
}
