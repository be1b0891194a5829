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

// lingerPolicy is how much of a refused body is read and discarded, and how long the connection stays
// open. Without it, the reset that unread bytes cause would lose the response.
type lingerPolicy struct {
	maxBytes int
	maxStay  time.Duration
	// places, if not nil, bounds how many connections linger at once. Without a free place the
	// connection is closed immediately.
	places chan struct{}
}

// A stranger that sends more than this without reading the response may see only the reset. Without
// a limit, a thousand strangers that send at full speed would take all processor time.
var (
	lingerKnown    = &lingerPolicy{32 << 20, 5 * time.Second, nil}
	lingerStranger = &lingerPolicy{256 << 10, time.Second, make(chan struct{}, 64)}
)

// takePlace acquires a place. It returns false if all are taken.
func (l *lingerPolicy) takePlace() bool {
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

func (l *lingerPolicy) leavePlace() {
	if l.places != nil {
		<-l.places
	}
}

// deadlineConn puts progress deadlines on a connection. The goroutine that serves the connection
// owns all fields. Only Close may also be called by Shutdown, and it reads only atomics.
type deadlineConn struct {
	net.Conn
	connNumber    uint64                       // of the connection, see requestIDs
	requestCount  uint64                       // stamped so far
	refusalLinger atomic.Pointer[lingerPolicy] // set: the rest of a request will never be read, see Close
	hasReceived   atomic.Bool                  // a byte arrived
	isClosed      atomic.Bool
	// quietSince is when c began to wait for a request, in Unix nanoseconds; 0 during a request.
	quietSince   atomic.Int64
	clientPrefix netip.Prefix // its client; invalid: not limited per client
	isProbe      bool         // it has a place beyond the limits, see ProbePlaces
	// isResponding is set while Read writes the response to a poll, see poll.go. fasthttp takes the
	// connection for idle then, so a shutdown would cut the response off.
	isResponding atomic.Bool
	lastToken    []byte            // of the last complete plain poll
	tokenHash    account.TokenHash // of token
	releaseConn  func(*deadlineConn)
	wire         *ConnServer

	isIdle        bool      // between requests: the deadline is fasthttp's
	readUntil     time.Time // the armed read deadline
	inStep        bool      // a progress step has begun
	bytesReceived int       // bytes in this step
	bytesOwed     int       // bytes that a step must bring, if more than minProgress
	bytesLeft     int       // bytes that may still arrive of a chunked body; 0: none is being read
	pieceBytes    int       // bytes to write at once of a large body in memory; 0: not writing one

	writeUntil time.Time // the armed write deadline

	readAhead  []byte // read before the connection was parked; belongs to the next request
	isDetached bool   // nothing may be read, see detach
	isResumed  bool   // given back to fasthttp, and nothing was read since
	// handedOver counts the Close calls of fasthttp that are still to come and must be ignored.
	handedOver  atomic.Int32
	isStreaming atomic.Bool // sends events
}

// SetReadDeadline shows which state fasthttp is in: it sets a deadline while it waits for a next
// request, and zero once the first byte has arrived.
func (c *deadlineConn) SetReadDeadline(t time.Time) error {
	if t.IsZero() {
		c.beginRequest()
		return nil
	}
	c.isIdle = true
	c.quietSince.Store(t.Add(-idleTimeout).UnixNano())
	if late := t.Sub(c.readUntil); late >= 0 && late < deadlineSlack {
		return nil
	}
	return c.armRead(t)
}

// beginRequest notes the start of a request.
func (c *deadlineConn) beginRequest() {
	c.isIdle, c.inStep = false, false
	c.quietSince.Store(0)
}

func (c *deadlineConn) armRead(t time.Time) error {
	c.readUntil = t
	return c.Conn.SetReadDeadline(t)
}

func (c *deadlineConn) Read(p []byte) (int, error) {
	if c.isResumed {
		c.isResumed = false
		c.wire.parkedCount.Add(-1)
	}
	if c.isDetached {
		return 0, errDetached
	}
	if len(c.readAhead) > 0 && len(p) > 0 {
		n := copy(p, c.readAhead)
		c.readAhead = c.readAhead[n:]
		c.beginRequest()
		return n, nil
	}
	if !c.isIdle && (!c.inStep || c.bytesReceived >= max(c.bytesOwed, minProgress)) {
		if err := c.beginStep(); err != nil {
			return 0, err
		}
	}
	for {
		n, err := c.Conn.Read(p)
		c.bytesReceived += n
		if n > 0 && !c.hasReceived.Load() {
			c.hasReceived.Store(true)
			c.quietSince.Store(0)
		}
		if c.bytesLeft > 0 && c.exceedsLimit(n) {
			return 0, errChunks
		}
		if n == 0 && !c.hasReceived.Load() && (c.isProbe || c.quietSince.Load() == endingConn) {
			return 0, c.turnAway()
		}
		if n == 0 || err != nil || !c.isIdle {
			return n, err
		}
		// While idle, fasthttp's buffer is empty and all responses are written. So p holds the
		// start of a request, and perhaps all of it.
		c.isResponding.Store(true)
		now := time.Now()
		answered, err := c.wire.answerPoll(c, p[:n], now)
		c.isResponding.Store(false)
		switch {
		case err != nil:
			return 0, err
		case !answered:
			c.beginRequest() // also if fasthttp takes this for a first request
			return n, nil
		case c.isClosed.Load():
			return 0, net.ErrClosed
		}
		if err := c.SetReadDeadline(now.Add(idleTimeout)); err != nil {
			return 0, err
		}
	}
}

// beginStep begins a progress step.
func (c *deadlineConn) beginStep() error {
	c.inStep, c.bytesReceived = true, 0
	step := progressStep
	if c.isProbe {
		step = probeStep
	}
	if err := c.armRead(time.Now().Add(step)); err != nil {
		return err
	}
	if c.quietSince.Load() == endingConn { // before the deadline was set
		return c.turnAway()
	}
	return nil
}

// turnAway ends a connection on which no request arrived.
func (c *deadlineConn) turnAway() error {
	if c.isProbe {
		c.wire.writeCrowded(c)
	}
	return io.EOF
}

// exceedsLimit counts n octets of a chunked body and reports whether they exceed the limit.
func (c *deadlineConn) exceedsLimit(n int) bool {
	c.bytesLeft -= n
	return c.bytesLeft <= 0
}

// Write writes a response in pieces, each with its own deadline. So a big download may take long,
// but a peer that stops reading is dropped.
func (c *deadlineConn) Write(p []byte) (int, error) {
	if c.pieceBytes > 0 {
		return c.writeAt(time.Now(), p, max(c.pieceBytes, writePiece), heldTimeout)
	}
	return c.writeAt(time.Now(), p, writePiece, writeTimeout)
}

func (c *deadlineConn) writeAt(now time.Time, p []byte, piece int, timeout time.Duration) (int, error) {
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
func (c *deadlineConn) Close() error {
	if c.keptOpen() || c.isClosed.Swap(true) {
		return nil
	}
	defer c.releaseConn(c)
	for end := time.Now().Add(responseGrace); c.isResponding.Load() && time.Now().Before(end); {
		runtime.Gosched()
	}
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		if l := c.refusalLinger.Load(); l != nil && l.takePlace() {
			defer l.leavePlace()
			if half.CloseWrite() == nil {
				c.drainRefused(l)
			}
		}
	}
	return c.Conn.Close()
}

func (c *deadlineConn) drainRefused(l *lingerPolicy) {
	until := time.Now().Add(l.maxStay)
	c.Conn.SetReadDeadline(until)
	var sink [4096]byte
	for total := 0; total < l.maxBytes; {
		n, err := c.Conn.Read(sink[:])
		if err != nil {
			return
		}
		total += n
	}
	time.Sleep(time.Until(until)) // the peer may stop sending and read the response
}
