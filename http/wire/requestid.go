package wire

import (
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"sync/atomic"

	"github.com/valyala/fasthttp"
)

// requestIDs makes unique ids without a counter that all requests share: an id consists of the
// process, the connection, and the number of the request on the connection. Any goroutine may use
// it.
type requestIDs struct {
	processPrefix string
	conns         *atomic.Uint64
}

func newRequestIDs() requestIDs {
	var b [4]byte
	rand.Read(b[:])
	return requestIDs{processPrefix: hex.EncodeToString(b[:]), conns: new(atomic.Uint64)}
}

// appendID appends the id of the request to dst.
func (ids requestIDs) appendID(dst []byte, conn, request uint64) []byte {
	dst = append(dst, ids.processPrefix...)
	dst = append(dst, '-')
	dst = strconv.AppendUint(dst, conn, 32)
	dst = append(dst, '-')
	return strconv.AppendUint(dst, request, 32)
}

var (
	headerRequestID   = []byte("X-Request-Id")
	headerTypeOptions = []byte("X-Content-Type-Options")
	nosniff           = []byte("nosniff")

	// HSTS: browsers use only https for a year after each response (RFC 6797 section 6.1).
	// Subdomains may not belong to the service, so they are not included.
	headerSecure = []byte("Strict-Transport-Security")
	secureAlways = []byte("max-age=31536000")
)

// stampResponse sets the headers of every response: an id, and nosniff, which keeps a browser from
// guessing the content type. The requests of one connection are served in sequence, so the counter
// needs no lock.
func (w *ConnServer) stampResponse(c *fasthttp.RequestCtx) {
	var number, request uint64
	if own, ok := c.Conn().(*deadlineConn); ok {
		own.requestCount++
		number, request = own.connNumber, own.requestCount
	}
	var buf [48]byte
	w.stampWith(&c.Response.Header, w.requestIDs.appendID(buf[:0], number, request))
	w.opts.AllowedOrigins.setHeaders(&c.Response.Header, c.Request.Header.PeekBytes(headerOrigin))
}

func (w *ConnServer) stampWith(h *fasthttp.ResponseHeader, id []byte) {
	h.SetCanonical(headerRequestID, id)
	h.SetCanonical(headerTypeOptions, nosniff)
	if w.opts.HTTPSOnly {
		h.SetCanonical(headerSecure, secureAlways)
	}
}

// RequestID returns the X-Request-Id of c.
func RequestID(c *fasthttp.RequestCtx) string {
	return string(c.Response.Header.PeekBytes(headerRequestID))
}
