package wire

import (
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"sync/atomic"

	"github.com/valyala/fasthttp"
)

// requestIDs makes ids that are unique without a shared counter per request: the process,
// the connection, and the request's number on the connection. Any goroutine may use them.
type requestIDs struct {
	process string
	conns   *atomic.Uint64
}

func newRequestIDs() requestIDs {
	var b [4]byte
	rand.Read(b[:])
	return requestIDs{process: hex.EncodeToString(b[:]), conns: new(atomic.Uint64)}
}

// append writes the id of the request that c's connection is at.
func (ids requestIDs) append(dst []byte, conn, request uint64) []byte {
	dst = append(dst, ids.process...)
	dst = append(dst, '-')
	dst = strconv.AppendUint(dst, conn, 32)
	dst = append(dst, '-')
	return strconv.AppendUint(dst, request, 32)
}

var (
	headerRequestID   = []byte("X-Request-Id")
	headerTypeOptions = []byte("X-Content-Type-Options")
	nosniff           = []byte("nosniff")

	// Browsers keep to https for a year after each response (RFC 6797 section 6.1). Other names under the
	// host may have nothing to do with the service, so they are not included.
	headerSecure = []byte("Strict-Transport-Security")
	secureAlways = []byte("max-age=31536000")
)

// stamp puts on the response what every response has: an id, and the word that a browser takes
// it for nothing but what it says. Requests of one connection are served in turn, so
// counting needs no lock.
func (w *Wire) stamp(c *fasthttp.RequestCtx) {
	var number, request uint64
	if own, ok := c.Conn().(*conn); ok {
		own.requests++
		number, request = own.number, own.requests
	}
	var buf [48]byte
	w.stampWith(&c.Response.Header, w.ids.append(buf[:0], number, request))
	w.opts.Origins.share(&c.Response.Header, c.Request.Header.PeekBytes(headerOrigin))
}

func (w *Wire) stampWith(h *fasthttp.ResponseHeader, id []byte) {
	h.SetCanonical(headerRequestID, id)
	h.SetCanonical(headerTypeOptions, nosniff)
	if w.opts.Secure {
		h.SetCanonical(headerSecure, secureAlways)
	}
}

// RequestID returns the X-Request-Id of c.
func RequestID(c *fasthttp.RequestCtx) string {
	return string(c.Response.Header.PeekBytes(headerRequestID))
}
