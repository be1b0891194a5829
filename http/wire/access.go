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

// noteServed tells of a response that fasthttp writes. A request that is parked is told of when it
// ends.
func (w *Wire) noteServed(c *fasthttp.RequestCtx, began time.Time) {
	if w.opts.Access == nil || c.Hijacked() {
		return
	}
	n := len(c.Response.Body())
	if c.Response.IsBodyStream() {
		n = max(c.Response.Header.ContentLength(), 0)
	}
	w.opts.Access(Access{
		began, time.Since(began), c.RemoteIP().String(), c.Method(), c.Request.URI().PathOriginal(),
		c.Response.StatusCode(), n, c.Response.Header.PeekBytes(headerRequestID),
	})
}

// notePoll tells of a poll that was answered past fasthttp.
func (w *Wire) notePoll(c *conn, request []byte, began time.Time, response []byte) {
	if w.opts.Access == nil {
		return
	}
	path, _, _ := bytes.Cut(request[len("GET "):], []byte(" "))
	_, body, _ := bytes.Cut(response, []byte("\r\n\r\n"))
	status := fasthttp.StatusOK
	if bytes.HasPrefix(response, []byte(status304)) {
		status = fasthttp.StatusNotModified
	}
	w.opts.Access(Access{began, time.Since(began), c.peer(), []byte("GET"), path, status, len(body), w.ids.append(nil, c.number, c.requests)})
}

// access is what a parked request is told of by, when it ends. Its goroutine has it.
type access struct {
	began        time.Time
	method, path []byte
	status       int
	bytes        int
}

// accessOf is nil without a log.
func (w *Wire) accessOf(c *fasthttp.RequestCtx) *access {
	if w.opts.Access == nil {
		return nil
	}
	clone := func(b []byte) []byte { return append([]byte(nil), b...) }
	return &access{began: c.Time(), method: clone(c.Method()), path: clone(c.Request.URI().PathOriginal())}
}

// wrote counts what a response holds.
func (a *access) wrote(status, n int) {
	if a != nil {
		a.status = status
		a.bytes += n
	}
}

// noteParked tells of a request whose response is out, once; of none that got no response.
func (p *Parked) noteParked() {
	a := p.access
	if p.access = nil; a == nil || a.status == 0 {
		return
	}
	p.wire.opts.Access(Access{a.began, time.Since(a.began), p.conn.peer(), a.method, a.path, a.status, a.bytes, p.id})
}
