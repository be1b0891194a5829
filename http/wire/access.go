package wire

import (
	"bytes"
	"net"
	"time"

	"github.com/valyala/fasthttp"
)

// Access describes one response, for the access log. The receiver must not retain any of it.
type Access struct {
	At      time.Time // when the request had been read
	Took    time.Duration
	Peer    string // its IP address
	Method  []byte
	Path    []byte // as received, without the query
	Status  int
	Bytes   int    // of the body; of a stream, all until it ended
	Request []byte // X-Request-Id
}

func (c *conn) peer() string {
	host, _, _ := net.SplitHostPort(c.RemoteAddr().String())
	return host
}

// noteServed counts and logs a response that fasthttp writes. The response of a parked request is
// counted when it is complete.
func (w *Wire) noteServed(c *fasthttp.RequestCtx, began time.Time) {
	if c.Hijacked() {
		return
	}
	took := time.Since(began)
	w.served.count(classOf(c.Path()), c.Response.StatusCode(), c.ConnID(), took)
	if w.opts.Access == nil {
		return
	}
	n := len(c.Response.Body())
	if c.Response.IsBodyStream() {
		n = max(c.Response.Header.ContentLength(), 0)
	}
	w.opts.Access(Access{
		began, took, c.RemoteIP().String(), c.Method(), c.Request.URI().PathOriginal(),
		c.Response.StatusCode(), n, c.Response.Header.PeekBytes(headerRequestID),
	})
}

// notePoll counts and logs a response that bypassed fasthttp.
func (w *Wire) notePoll(c *conn, request []byte, began time.Time, response []byte) {
	unchanged := response[len("HTTP/1.1 ")] == '3'
	timed := w.served.countPlain(unchanged, c.number, c.requests)
	if !timed && w.opts.Access == nil {
		return
	}
	took := time.Since(began)
	if timed {
		w.served.seconds[plainPolls].Observe(c.number, took)
	}
	if w.opts.Access == nil {
		return
	}
	status := fasthttp.StatusOK
	if unchanged {
		status = fasthttp.StatusNotModified
	}
	path, _, _ := bytes.Cut(request[len("GET "):], []byte(" "))
	_, body, _ := bytes.Cut(response, []byte("\r\n\r\n"))
	w.opts.Access(Access{began, took, c.peer(), []byte("GET"), path, status, len(body), w.ids.append(nil, c.number, c.requests)})
}

// access collects the log entry of a parked request. The goroutine of the request owns it.
type access struct {
	began        time.Time
	method, path []byte // nil without an access log
	status       int
	bytes        int
	told         bool
}

func (w *Wire) accessOf(c *fasthttp.RequestCtx) access {
	a := access{began: c.Time()}
	if w.opts.Access != nil {
		a.method, a.path = bytes.Clone(c.Method()), bytes.Clone(c.Request.URI().PathOriginal())
	}
	return a
}

// wrote adds n octets of a response.
func (a *access) wrote(status, n int) {
	a.status = status
	a.bytes += n
}

// noteParked counts and logs a parked request once its response is complete. It does nothing if
// there was no response.
func (p *Parked) noteParked() {
	a := &p.access
	if a.told || a.status == 0 {
		return
	}
	a.told = true
	took := time.Since(a.began)
	p.wire.served.count(waits, a.status, p.conn.number, took)
	if p.wire.opts.Access == nil {
		return
	}
	p.wire.opts.Access(Access{a.began, took, p.conn.peer(), a.method, a.path, a.status, a.bytes, p.id})
}
