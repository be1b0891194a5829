package wire

import (
	"bufio"
	"errors"
	"io"
	"net"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"

	"inboxd/internal/base/fault"
)

// A request that waits is taken out of fasthttp, which would hold 20 KiB of buffers, header maps
// and stack for it. What remains is the connection, one goroutine with a small stack, and the few
// facts that the response needs. After the response, fasthttp gets the connection back.

// recheckStep is how often a parked request checks whether its client closed the connection.
const recheckStep = 5 * time.Second

// Parked is a request that waits. Its goroutine owns it and the connection.
type Parked struct {
	wire        *Wire
	conn        *conn
	id          []byte // X-Request-Id
	ifNoneMatch []byte
	origin      []byte // Origin, if pages of other origins may read responses
	access      access
	head        bool // HEAD: the response has no body
	last        bool // the connection ends with the response
	ended       bool // no longer counted in wire.parked, or counted by somebody else
	timer       *time.Timer
}

// Park lets a request wait outside fasthttp. It calls run on a new goroutine, which ends with
// Respond or End. run must not use c.
func (w *Wire) Park(c *fasthttp.RequestCtx, run func(*Parked)) {
	h := &c.Request.Header
	own := c.Conn().(*conn) // listener makes every connection
	p := &Parked{wire: w, conn: own, id: []byte(RequestID(c)), head: c.IsHead(), last: h.ConnectionClose() || !h.IsHTTP11()}
	if tags := h.PeekCanonical(headerIfNoneMatch); len(tags) > 0 {
		p.ifNoneMatch = append(p.ifNoneMatch, tags...)
	}
	if origin := h.PeekBytes(headerOrigin); len(origin) > 0 && len(w.opts.Origins) > 0 {
		p.origin = append(p.origin, origin...)
	}
	p.access = w.accessOf(c)
	w.parked.Add(1) // until the response is complete, see resume
	c.HijackSetNoResponse(true)
	c.Hijack(func(hijacked net.Conn) {
		own.detach(hijacked)
		go p.run(run)
	})
}

func (p *Parked) run(run func(*Parked)) {
	defer func() {
		if e := recover(); e != nil {
			p.wire.opts.Logger.Error("http: a waiting request panicked", "request", string(p.id), "err", fault.Panicked(e), "stack", string(debug.Stack()))
			p.End()
		}
	}()
	run(p)
}

// End closes the connection, with or without a response before.
func (p *Parked) End() {
	p.noteParked()
	p.conn.Close()
	if !p.ended {
		p.ended = true
		p.wire.parked.Add(-1)
	}
}

// Ended says how a wait ended.
type Ended uint8

const (
	Woken  Ended = iota // a channel was closed, or a timer fired: check again
	Over                // the deadline passed, or the server is stopping
	HungUp              // the client closed the connection
)

// Wait waits until one of the channels is closed (a nil channel never is), until the deadline, or
// until the server stops, but no longer than most.
func (p *Parked) Wait(until time.Time, most time.Duration, a, b, c <-chan struct{}) Ended {
	most = min(most, recheckStep, time.Until(until))
	if p.timer == nil {
		p.timer = time.NewTimer(most)
	} else {
		p.timer.Reset(most)
	}
	select {
	case <-a:
	case <-b:
	case <-c:
	case <-p.wire.stopping:
		return Over
	case <-p.timer.C:
		switch {
		case p.conn.hungUp():
			return HungUp
		case !time.Now().Before(until):
			return Over
		}
	}
	return Woken
}

// contexts are reused for the responses of parked requests.
var contexts = sync.Pool{New: func() any { return new(fasthttp.RequestCtx) }}

// Respond calls write to make the response, sends it, and gives the connection back to fasthttp.
func (p *Parked) Respond(write func(*fasthttp.RequestCtx)) {
	if p.timer != nil {
		p.timer.Stop()
	}
	err := p.send(write)
	p.noteParked()
	if err != nil || p.last || p.wire.isStopping() {
		p.End()
		return
	}
	p.resume()
}

func (p *Parked) send(write func(*fasthttp.RequestCtx)) error {
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
	p.wire.stampWith(h, p.id)
	p.wire.opts.Origins.share(h, p.origin)
	h.SetNoDefaultContentType(true)
	write(c)
	c.Response.SkipBody = p.head
	if p.last = p.last || p.wire.isStopping() || h.ConnectionClose(); p.last {
		h.SetConnectionClose()
	}
	p.access.wrote(c.Response.StatusCode(), len(c.Response.Body()))
	out := writers.Get().(*bufio.Writer)
	defer writers.Put(out)
	out.Reset(p.conn)
	return errors.Join(c.Response.Write(out), out.Flush())
}

var writers = sync.Pool{New: func() any { return bufio.NewWriter(nil) }}

// resume gives the connection back to fasthttp, as one between two requests.
func (p *Parked) resume() {
	w, c := p.wire, p.conn
	c.spoke.Store(false) // so that Shutdown closes it if that comes before the next request
	if w.isStopping() {
		p.End()
		return
	}
	c.SetReadDeadline(time.Now().Add(idleTimeout))
	p.ended, c.resumed = true, true // the first Read decrements wire.parked: fasthttp counts the connection then
	if err := w.fast.ServeConn(c); errors.Is(err, fasthttp.ErrConcurrencyLimit) {
		w.parked.Add(-1)
	}
}

// Stream begins a response that ends with the connection: status 200, the fields, each with its
// CRLF, and the start of the body. The response to HEAD ends before the body.
func (p *Parked) Stream(fields string, now time.Time, body []byte) error {
	p.conn.streaming.Store(true)
	p.conn.narrow(streamWindow)
	b := append(make([]byte, 0, 512), p.wire.status200...)
	b = append(b, p.wire.date.at(now)...)
	fields += p.wire.opts.Origins.fields(p.origin)
	b = append(append(append(b, "\r\n"...), fields...), "Connection: close\r\nX-Request-Id: "...)
	b = append(append(b, p.id...), "\r\n\r\n"...)
	p.access.wrote(fasthttp.StatusOK, -len(b))
	if p.head {
		return errors.Join(p.Write(b), errHead)
	}
	return p.Write(append(b, body...))
}

// errHead ends the stream that responds to a HEAD request.
var errHead = errors.New("http: the method is HEAD")

// Write continues the stream. It fails if the client accepts nothing for writeTimeout.
func (p *Parked) Write(b []byte) error {
	n, err := p.conn.Write(b)
	p.access.wrote(fasthttp.StatusOK, n)
	return err
}

// errDetached stops fasthttp from reading ahead.
var errDetached = errors.New("http: the connection is parked")

// detach takes the connection away from fasthttp: it saves what fasthttp read ahead, and makes the
// connection ignore the Close that fasthttp calls when the hijacker returns.
func (c *conn) detach(hijacked io.Reader) {
	c.detached = true
	if c.ahead, _ = io.ReadAll(hijacked); len(c.ahead) == 0 {
		c.ahead = nil // frees half a KiB for each request that waits
	}
	c.detached = false
	c.handedOver.Add(1)
}

// keptOpen consumes one Close of fasthttp that must be ignored. Which one of several it consumes
// does not matter: each detach leads to exactly one such Close.
func (c *conn) keptOpen() bool {
	for n := c.handedOver.Load(); n > 0; n = c.handedOver.Load() {
		if c.handedOver.CompareAndSwap(n, n-1) {
			return true
		}
	}
	return false
}

// SetDeadline implements net.Conn. fasthttp calls it before it lets go of a connection.
func (c *conn) SetDeadline(t time.Time) error {
	c.readUntil, c.writeUntil = t, t
	c.Conn.SetDeadline(t) // an error shows again with the next use
	return nil
}

const (
	// streamWindow bounds what the kernel buffers of a stream, or of the start of a download, for a
	// peer that does not read.
	streamWindow = 64 << 10
	// downloadWindow bounds the same for a download to a peer that reads. With megabytes in the
	// kernel, the store would have to be read at once. The value is what is in flight to a peer 20
	// ms away that reads 100 Mbit/s; Linux uses twice as much.
	downloadWindow = 256 << 10
)

// narrow bounds what the kernel buffers of what is written.
func (c *conn) narrow(window int) {
	if tcp, ok := c.transport().(interface{ SetWriteBuffer(int) error }); ok {
		tcp.SetWriteBuffer(window) // an error shows again with the next use
	}
}

// Narrow prepares a request whose response is a download. Until widen is called, the kernel buffers
// no more of it than of a stream, so that a peer that does not read cannot have it all buffered.
func Narrow(at *fasthttp.RequestCtx) (widen func()) {
	c, _ := at.Conn().(*conn)
	if c == nil {
		return func() {}
	}
	c.narrow(streamWindow)
	return func() { c.narrow(downloadWindow) }
}

// transport returns the connection below TLS, or the connection itself without TLS.
func (c *conn) transport() net.Conn {
	if outer, ok := c.Conn.(interface{ NetConn() net.Conn }); ok {
		return outer.NetConn()
	}
	return c.Conn
}

// hungUp reports whether the client closed the connection. It consumes nothing: a next request
// stays unread. A TLS connection is seen as closed when its transport is.
func (c *conn) hungUp() bool {
	sys, ok := c.transport().(syscall.Conn)
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
