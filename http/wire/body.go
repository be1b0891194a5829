package wire

import (
	"errors"
	"io"

	"github.com/valyala/fasthttp"

	"inboxd/internal/core/account"
)

// fasthttp takes in a small body itself. A larger one is read here: only when its sender may
// send it, in memory that grows with what has come and counts against a budget.

// SmallBody is what is read of anybody's body, and what fasthttp reads ahead.
const SmallBody = 8 << 10

// inChunks is fasthttp's length of a body that does not say its own.
const inChunks = -1

// Allowance is how large the body of a request may be, and whose budget it counts against.
type Allowance struct {
	Bytes   int // at least SmallBody, unless no body is that large
	Account account.ID
}

var (
	headerExpect = []byte(fasthttp.HeaderExpect)
	continue100  = []byte("100-continue")
)

// headerReceived is asked before any of the body is read. Who may not send it is treated as
// one who asks before sending, see expected: so nothing of it is read, and the answer comes
// at once.
func (w *Wire) headerReceived(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	if !w.fits(h) {
		h.SetCanonical(headerExpect, continue100)
	}
	return fasthttp.RequestConfig{}
}

// fits reports whether the body, as far as it is announced, is one that is read.
func (w *Wire) fits(h *fasthttp.RequestHeader) bool {
	n := h.ContentLength()
	return n <= min(SmallBody, w.opts.MaxBody) || n <= w.opts.Body(h).Bytes
}

// expected answers who waits for 100 (Continue), and who will not be let send.
func (w *Wire) expected(c *fasthttp.RequestCtx) int {
	if w.fits(&c.Request.Header) {
		return fasthttp.StatusContinue
	}
	w.stamp(c)
	if w.refuseProbe(c) {
		return c.Response.StatusCode()
	}
	if why, _ := ambiguous(c.Request.Header.RawHeaders()); why != "" {
		w.refuseFraming(c, why)
	} else {
		w.leaveBody(c)
	}
	return c.Response.StatusCode()
}

// leaveBody answers a request whose body stays unread.
func (w *Wire) leaveBody(c *fasthttp.RequestCtx) {
	l := w.opts.Body(&c.Request.Header).linger()
	w.opts.LeaveBody(c)
	endRefused(c, l)
}

func (a Allowance) linger() *linger {
	if a.Bytes > SmallBody {
		return lingerKnown
	}
	return lingerStranger
}

// endRefused ends the connection with the response: the rest of the request is never read.
func endRefused(c *fasthttp.RequestCtx, l *linger) {
	c.SetConnectionClose()
	if own, ok := c.Conn().(*conn); ok {
		own.refusing.Store(l)
	}
}

// handleLarge reads the body and hands the request on.
func (w *Wire) handleLarge(c *fasthttp.RequestCtx) {
	b := body{conn: c.Conn().(*conn), allowed: w.opts.Body(&c.Request.Header)}
	b.charge = w.bodies.Charge(b.allowed.Account)
	defer b.free(c)
	size := c.Request.Header.ContentLength()
	switch err := b.read(c.Request.BodyStream(), size); {
	case err == nil && size == inChunks && dropTrailers(&c.Request.Header) != nil:
		w.refuseFraming(c, "its header cannot be parsed after the trailer was removed")
	case err == nil:
		c.Request.SetBodyRaw(b.buf)
		w.opts.Handler(c)
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		w.leaveBody(c)
	default:
		status, detail := unreadableResponse(err)
		if status == fasthttp.StatusServiceUnavailable {
			c.Response.Header.Set(fasthttp.HeaderRetryAfter, "1")
		}
		w.opts.Refuse(c, status, detail)
		endRefused(c, b.allowed.linger())
	}
}

// body is one that is being read. The goroutine of its connection has it.
type body struct {
	conn    *conn
	allowed Allowance
	charge  *Charge
	buf     []byte
}

// errCrowded is why a body is not read on: all of them hold what they may hold.
var errCrowded = errors.New("http: the memory budget of request bodies is used up")

// errChunks is why a chunked body is not read on: fasthttp passes over the extensions of a chunk, however long they are.
var errChunks = errors.New("http: the framing of the chunks is much larger than their content")

// chunkOverhead is how many octets a body in chunks may take on the wire for each octet: six in chunks of one.
const chunkOverhead = 8

// read takes in size octets, or all there are of a chunked body.
func (b *body) read(from io.Reader, size int) error {
	most := size
	if size == inChunks {
		most = b.allowed.Bytes + 1 // one more shows that it is too large
		b.conn.most = chunkOverhead * max(most, SmallBody)
	}
	for {
		if len(b.buf) > b.allowed.Bytes {
			return fasthttp.ErrBodyTooLarge
		}
		if len(b.buf) == cap(b.buf) && !b.grow(most) {
			return errCrowded
		}
		n, err := from.Read(b.buf[len(b.buf):cap(b.buf)])
		b.buf = b.buf[:len(b.buf)+n]
		switch {
		case err == io.EOF && len(b.buf) < size:
			return io.ErrUnexpectedEOF
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// grow makes room. What is announced counts once a part of it has come; and the more is held,
// the more must come in time.
func (b *body) grow(most int) bool {
	size := most
	for step := smallCharge; step <= 4<<20; step *= 4 {
		if len(b.buf) < step {
			size = min(size, step)
			break
		}
	}
	if size > SmallBody+1 && !b.charge.Set(int64(size)) {
		return false
	}
	b.conn.owed = size / heldSteps
	b.buf = append(make([]byte, 0, size), b.buf...)
	return true
}

// free lets go of the body. The request may live on: while its response is written.
func (b *body) free(c *fasthttp.RequestCtx) {
	c.Request.ResetBody()
	b.conn.owed, b.conn.most = 0, 0
	b.charge.Set(0)
}
