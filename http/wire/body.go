package wire

import (
	"errors"
	"io"

	"github.com/valyala/fasthttp"

	"inboxd/internal/core/account"
)

// fasthttp reads a small body itself. A larger body is read here, only if its sender is allowed to
// send it. Its memory grows with what has arrived and counts against a budget.

// SmallBody is how much is read of any client's body, and what fasthttp reads ahead.
const SmallBody = 8 << 10

// inChunks is what fasthttp returns as the content length of a chunked body.
const inChunks = -1

// BodyAllowance is how large the body of a request may be, and which account's budget it uses.
type BodyAllowance struct {
	MaxBytes  int // at least SmallBody, unless every body must be smaller
	AccountID account.ID
}

var (
	headerExpect = []byte(fasthttp.HeaderExpect)
	continue100  = []byte("100-continue")
)

// headerReceived is called before any of the body is read. A client that may not send the body is
// treated as if it had sent Expect: 100-continue, see expected. So none of the body is read, and
// the response is sent immediately.
func (w *ConnServer) headerReceived(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	if !w.bodyFits(h) {
		h.SetCanonical(headerExpect, continue100)
	}
	return fasthttp.RequestConfig{}
}

// bodyFits reports whether the announced body is small enough to be read.
func (w *ConnServer) bodyFits(h *fasthttp.RequestHeader) bool {
	n := h.ContentLength()
	return n <= min(SmallBody, w.opts.MaxBody) || n <= w.opts.BodyAllowance(h).MaxBytes
}

// answerExpect handles requests that wait for 100 (Continue), and those whose body is refused.
func (w *ConnServer) answerExpect(c *fasthttp.RequestCtx) int {
	if w.bodyFits(&c.Request.Header) {
		return fasthttp.StatusContinue
	}
	w.stampResponse(c)
	if w.refuseProbe(c) {
		return c.Response.StatusCode()
	}
	if why, _ := isAmbiguous(c.Request.Header.RawHeaders()); why != "" {
		w.refuseFraming(c, why)
	} else {
		w.leaveBody(c)
	}
	return c.Response.StatusCode()
}

// leaveBody responds to a request without reading its body.
func (w *ConnServer) leaveBody(c *fasthttp.RequestCtx) {
	l := w.opts.BodyAllowance(&c.Request.Header).newLinger()
	w.opts.LeaveBody(c)
	endRefused(c, l)
}

func (a BodyAllowance) newLinger() *lingerPolicy {
	if a.MaxBytes > SmallBody {
		return lingerKnown
	}
	return lingerStranger
}

// endRefused closes the connection after the response: the rest of the request is never read.
func endRefused(c *fasthttp.RequestCtx, l *lingerPolicy) {
	c.SetConnectionClose()
	if own, ok := c.Conn().(*deadlineConn); ok {
		own.refusalLinger.Store(l)
	}
}

// handleLarge reads the body and calls the handler.
func (w *ConnServer) handleLarge(c *fasthttp.RequestCtx) {
	b := bodyReader{conn: c.Conn().(*deadlineConn), bodyAllowance: w.opts.BodyAllowance(&c.Request.Header)}
	b.budgetCharge = w.bodyBudget.NewCharge(b.bodyAllowance.AccountID)
	defer b.freeBody(c)
	size := c.Request.Header.ContentLength()
	switch err := b.readBody(c.Request.BodyStream(), size); {
	case err == nil && size == inChunks && dropTrailers(&c.Request.Header) != nil:
		w.refuseFraming(c, "its header cannot be parsed after the trailer was removed")
	case err == nil:
		c.Request.SetBodyRaw(b.buf)
		w.opts.RequestHandler(c)
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		w.leaveBody(c)
	default:
		status, detail := unreadableResponse(err)
		if status == fasthttp.StatusServiceUnavailable {
			c.Response.Header.Set(fasthttp.HeaderRetryAfter, "1")
		}
		w.opts.RefuseRequest(c, status, detail)
		endRefused(c, b.bodyAllowance.newLinger())
	}
}

// bodyReader is a request body that is being read. The goroutine of its connection owns it.
type bodyReader struct {
	conn          *deadlineConn
	bodyAllowance BodyAllowance
	budgetCharge  *BudgetCharge
	buf           []byte
}

// errCrowded: the memory budget of all request bodies is used up.
var errCrowded = errors.New("http: the memory budget of request bodies is used up")

// errChunks: fasthttp skips the extensions of a chunk however long they are, so the octets on the
// wire are limited separately.
var errChunks = errors.New("http: the framing of the chunks is much larger than their content")

// chunkOverhead is how many octets on the wire a chunked body may take for each octet of content.
// Chunks of one octet take six.
const chunkOverhead = 8

// readBody reads size octets, or all of a chunked body.
func (b *bodyReader) readBody(from io.Reader, size int) error {
	most := size
	if size == inChunks {
		most = b.bodyAllowance.MaxBytes + 1 // one more octet shows that it is too large
		b.conn.bytesLeft = chunkOverhead * max(most, SmallBody)
	}
	for {
		if len(b.buf) > b.bodyAllowance.MaxBytes {
			return fasthttp.ErrBodyTooLarge
		}
		if len(b.buf) == cap(b.buf) && !b.growBuffer(most) {
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

// growBuffer enlarges the buffer. The announced size counts against the budget only once a part of
// it has arrived. The more memory is held, the more octets must arrive in each progress step.
func (b *bodyReader) growBuffer(most int) bool {
	size := most
	for step := smallCharge; step <= 4<<20; step *= 4 {
		if len(b.buf) < step {
			size = min(size, step)
			break
		}
	}
	if size > SmallBody+1 && !b.budgetCharge.SetBytes(int64(size)) {
		return false
	}
	b.conn.bytesOwed = size / heldSteps
	b.buf = append(make([]byte, 0, size), b.buf...)
	return true
}

// freeBody releases the body. The request may outlive it, while its response is written.
func (b *bodyReader) freeBody(c *fasthttp.RequestCtx) {
	c.Request.ResetBody()
	b.conn.bytesOwed, b.conn.bytesLeft = 0, 0
	b.budgetCharge.SetBytes(0)
}
