package http

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
)

// A request that waits leaves fasthttp, which would keep 20 KiB of buffers, header maps and
// stack for it. What stays is the connection, one goroutine with a small stack, and the few
// facts that the answer needs. When the answer is out, fasthttp gets the connection back.

// recheckStep is how soon a parked request notices that its client hung up.
const recheckStep = 5 * time.Second

// parked is a request that waits. Its goroutine owns it and the connection. In request,
// http and ctx are nil until there is something to answer.
type parked struct {
	request
	server      *Server
	conn        *conn
	id          []byte // X-Request-Id
	ifNoneMatch []byte
	last        bool // the connection ends with the answer
	ended       bool // not counted in server.parked any more, or not by this
	timer       *time.Timer
}

// park lets a request wait outside of fasthttp. run gets it, on a goroutine of its own, and
// ends with p.answer or p.end.
func (s *Server) park(r *request, run func(*parked)) error {
	h := &r.http.Request.Header
	own := r.http.Conn().(*conn) // every connection is made by listener
	p := &parked{
		request: *r, server: s, conn: own, id: []byte(requestID(r.http)),
		last: h.ConnectionClose() || !h.IsHTTP11(),
	}
	p.http, p.ctx = nil, nil
	if tags := h.PeekCanonical(headerIfNoneMatch); len(tags) > 0 {
		p.ifNoneMatch = append(p.ifNoneMatch, tags...)
	}
	s.parked.Add(1) // until the answer is out, see resume
	r.http.HijackSetNoResponse(true)
	r.http.Hijack(func(hijacked net.Conn) {
		own.detach(hijacked)
		go p.run(run)
	})
	return nil
}

func (p *parked) run(run func(*parked)) {
	defer func() {
		if e := recover(); e != nil {
			p.server.opts.Logger.Error("http: a waiting request panicked", "request", string(p.id), "err", e, "stack", string(debug.Stack()))
			p.end()
		}
	}()
	run(p)
}

// end closes the connection without an answer, or after one.
func (p *parked) end() {
	p.conn.Close()
	if !p.ended {
		p.ended = true
		p.server.parked.Add(-1)
	}
}

// patience is how a pause ended.
type patience uint8

const (
	woken patience = iota // one of the channels, or nothing: look again
	over                  // the time is over, or the server stops
	gone                  // the client hung up
)

// pause waits until a or b is closed (nil never is), until the time is over, or until the
// server stops. An error says that the credential ended meanwhile.
func (p *parked) pause(until time.Time, a, b <-chan struct{}) (patience, error) {
	tick := p.arm(until)
	ended := woken
	select {
	case <-a:
	case <-b:
	case <-p.principal.Ended():
	case <-p.server.stopping:
		ended = over
	case <-tick:
		switch {
		case p.conn.hungUp():
			ended = gone
		case !time.Now().Before(until):
			ended = over
		}
	}
	p.now = p.server.opts.Now()
	if !p.principal.Valid(p.now) {
		return ended, errNoCredential
	}
	p.principal.Used.Store(p.now.Unix()) // waiting is a use: the principal stays where a revocation finds it
	return ended, nil
}

// arm sets the timer to what comes first: the end of waiting, the credential's expiry, or
// the next look at the connection.
func (p *parked) arm(until time.Time) <-chan time.Time {
	d := min(recheckStep, time.Until(until))
	if e := p.principal.ExpiresAt; !e.IsZero() {
		d = min(d, e.Sub(p.now))
	}
	if p.timer == nil {
		p.timer = time.NewTimer(d)
	} else {
		p.timer.Reset(d)
	}
	return p.timer.C
}

// with gives fn a request that has a context again.
func (p *parked) with(fn func(*request) error) error {
	ctx, cancel := context.WithTimeout(p.server.base, requestTimeout)
	defer cancel()
	p.ctx = ctx
	defer func() { p.ctx = nil }()
	return fn(&p.request)
}

// contexts are for the answers of parked requests.
var contexts = sync.Pool{New: func() any { return new(fasthttp.RequestCtx) }}

// answer lets finish write the answer, sends it, and gives the connection back.
func (p *parked) answer(finish func(*request) error) {
	if p.timer != nil {
		p.timer.Stop()
	}
	if err := p.send(finish); err != nil || p.last || p.server.isStopping() {
		p.end()
		return
	}
	p.resume()
}

func (p *parked) send(finish func(*request) error) error {
	c := contexts.Get().(*fasthttp.RequestCtx)
	c.Init2(p.conn, silent{}, false)
	defer func() {
		c.Request.Reset()
		c.Response.Reset()
		contexts.Put(c)
	}()
	if p.ifNoneMatch != nil {
		c.Request.Header.SetCanonical(headerIfNoneMatch, p.ifNoneMatch)
	}
	h := &c.Response.Header
	h.SetCanonical(headerRequestID, p.id)
	h.SetNoDefaultContentType(true)
	p.finish(c, finish)
	if p.last = p.last || p.server.isStopping() || h.ConnectionClose(); p.last {
		h.SetConnectionClose()
	}
	out := writers.Get().(*bufio.Writer)
	defer writers.Put(out)
	out.Reset(p.conn)
	return errors.Join(c.Response.Write(out), out.Flush())
}

var writers = sync.Pool{New: func() any { return bufio.NewWriter(nil) }}

// finish is for a parked request what serve is for others.
func (p *parked) finish(c *fasthttp.RequestCtx, finish func(*request) error) {
	defer p.server.survive(c)
	p.http = c
	defer func() { p.http = nil }()
	if err := p.with(finish); err != nil {
		p.server.fail(&p.request, err)
	}
}

// resume gives the connection back to fasthttp, as one between two requests.
func (p *parked) resume() {
	s, c := p.server, p.conn
	c.spoke.Store(false) // Shutdown closes it, if it comes before the next request
	if s.isStopping() {
		p.end()
		return
	}
	c.SetReadDeadline(time.Now().Add(idleTimeout))
	p.ended, c.resumed = true, true // the first Read ends the parking: fasthttp counts the connection then
	if err := s.fast.ServeConn(c); errors.Is(err, fasthttp.ErrConcurrencyLimit) {
		s.parked.Add(-1)
	}
}

// errDetached ends the reading ahead of fasthttp.
var errDetached = errors.New("http: the connection is parked")

// detach takes the connection out of fasthttp's hands: what it read ahead, and the Close
// that it does when the hijacker returned.
func (c *conn) detach(hijacked io.Reader) {
	c.detached = true
	c.ahead, _ = io.ReadAll(hijacked)
	c.detached = false
	c.handedOver.Add(1)
}

// keptOpen takes note of one Close of fasthttp that is not meant. Which one of several it
// takes does not matter: of those that come after a detach, all but one count.
func (c *conn) keptOpen() bool {
	for n := c.handedOver.Load(); n > 0; n = c.handedOver.Load() {
		if c.handedOver.CompareAndSwap(n, n-1) {
			return true
		}
	}
	return false
}

// SetDeadline is what fasthttp does before it lets go of a connection.
func (c *conn) SetDeadline(t time.Time) error {
	c.readUntil, c.writeUntil = t, t
	c.Conn.SetDeadline(t) // an error shows again with the next use
	return nil
}

// hungUp reports whether the client closed the connection. It reads nothing: a next request
// stays where it is. A connection under TLS shows it when the transport is closed.
func (c *conn) hungUp() bool {
	raw := c.Conn
	if inner, ok := raw.(interface{ NetConn() net.Conn }); ok {
		raw = inner.NetConn()
	}
	sys, ok := raw.(syscall.Conn)
	if !ok {
		return false
	}
	control, err := sys.SyscallConn()
	if err != nil {
		return true
	}
	var n int
	var peeked error
	err = control.Control(func(fd uintptr) {
		var b [1]byte
		n, _, peeked = syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
	})
	switch {
	case err != nil:
		return true
	case peeked == nil:
		return n == 0
	}
	return !errors.Is(peeked, syscall.EAGAIN) && !errors.Is(peeked, syscall.EINTR)
}
