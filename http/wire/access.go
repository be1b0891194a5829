package wire

import (
	"bytes"
	"net"
	"time"

	"github.com/valyala/fasthttp"
)

// Access is one response, for a log of all. Nothing of it may be kept.
type Access struct {
	At      time.Time // when the request had come
	Took    time.Duration
	Peer    string // its IP address
	Method  []byte
	Path    []byte // as it came, without the query
	Status  int
	Bytes   int    // of the body; of a stream until it ended
	Request []byte // X-Request-Id
}

func (c *conn) peer() string {
	host, _, _ := net.SplitHostPort(c.RemoteAddr().String())
	return host
}

// noteServed counts a response that fasthttp writes, and tells of it. That of a parked request is
// counted when it is out.
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

// notePoll counts a response that was written past fasthttp, and tells of it.
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

// access is what a parked request is told of by, when it ends. Its goroutine has it.
type access struct {
	began        time.Time
	method, path []byte // without a log: nil
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

// wrote counts what a response holds.
func (a *access) wrote(status, n int) {
	a.status = status
	a.bytes += n
}

// noteParked tells of a request whose response is out, once; of none that got no response.
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
