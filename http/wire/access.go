package wire

import (
	"bytes"
	"net"
	"time"

	"github.com/valyala/fasthttp"
)

// AccessEntry describes one response, for the access log. The receiver must not retain any of it.
type AccessEntry struct {
	At          time.Time // when the request had been read
	TimeTaken   time.Duration
	PeerAddress string // its IP address
	Method      []byte
	Path        []byte // as received, without the query
	StatusCode  int
	BodyBytes   int    // of the body; of a stream, all until it ended
	RequestID   []byte // X-Request-Id
}

func (c *deadlineConn) peerAddress() string {
	host, _, _ := net.SplitHostPort(c.RemoteAddr().String())
	return host
}

// noteServed counts and logs a response that fasthttp writes. The response of a parked request is
// counted when it is complete.
func (w *ConnServer) noteServed(c *fasthttp.RequestCtx, began time.Time) {
	if c.Hijacked() {
		return
	}
	took := time.Since(began)
	w.servedCounts.countResponse(classOf(c.Path()), c.Response.StatusCode(), c.ConnID(), took)
	if w.opts.LogAccess == nil {
		return
	}
	n := len(c.Response.Body())
	if c.Response.IsBodyStream() {
		n = max(c.Response.Header.ContentLength(), 0)
	}
	w.opts.LogAccess(AccessEntry{
		began, took, c.RemoteIP().String(), c.Method(), c.Request.URI().PathOriginal(),
		c.Response.StatusCode(), n, c.Response.Header.PeekBytes(headerRequestID),
	})
}

// notePoll counts and logs a response that bypassed fasthttp.
func (w *ConnServer) notePoll(c *deadlineConn, request []byte, began time.Time, response []byte) {
	unchanged := response[len("HTTP/1.1 ")] == '3'
	timed := w.servedCounts.countPlain(unchanged, c.connNumber, c.requestCount)
	if !timed && w.opts.LogAccess == nil {
		return
	}
	took := time.Since(began)
	if timed {
		w.servedCounts.seconds[plainPolls].Observe(c.connNumber, took)
	}
	if w.opts.LogAccess == nil {
		return
	}
	status := fasthttp.StatusOK
	if unchanged {
		status = fasthttp.StatusNotModified
	}
	path, _, _ := bytes.Cut(request[len("GET "):], []byte(" "))
	_, body, _ := bytes.Cut(response, []byte("\r\n\r\n"))
	w.opts.LogAccess(AccessEntry{began, took, c.peerAddress(), []byte("GET"), path, status, len(body), w.requestIDs.appendID(nil, c.connNumber, c.requestCount)})
}

// accessEntry collects the log entry of a parked request. The goroutine of the request owns it.
type accessEntry struct {
	beganAt      time.Time
	method, path []byte // nil without an access log
	statusCode   int
	bodyBytes    int
	isLogged     bool
}

func (w *ConnServer) accessOf(c *fasthttp.RequestCtx) accessEntry {
	a := accessEntry{beganAt: c.Time()}
	if w.opts.LogAccess != nil {
		a.method, a.path = bytes.Clone(c.Method()), bytes.Clone(c.Request.URI().PathOriginal())
	}
	return a
}

// addWritten adds n octets of a response.
func (a *accessEntry) addWritten(status, n int) {
	a.statusCode = status
	a.bodyBytes += n
}

// noteParked counts and logs a parked request once its response is complete. It does nothing if
// there was no response.
func (p *ParkedRequest) noteParked() {
	a := &p.accessEntry
	if a.isLogged || a.statusCode == 0 {
		return
	}
	a.isLogged = true
	took := time.Since(a.beganAt)
	p.wire.servedCounts.countResponse(classWaits, a.statusCode, p.conn.connNumber, took)
	if p.wire.opts.LogAccess == nil {
		return
	}
	p.wire.opts.LogAccess(AccessEntry{a.beganAt, took, p.conn.peerAddress(), a.method, a.path, a.statusCode, a.bodyBytes, p.id})
}
