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

// ParkedRequest is a request that waits. Its goroutine owns it and the connection.
type ParkedRequest struct {
	wire        *ConnServer
	conn        *deadlineConn
	id          []byte // X-Request-Id
	ifNoneMatch []byte
	origin      []byte // Origin, if pages of other origins may read responses
	accessEntry accessEntry
	isHead      bool // HEAD: the response has no body
	closesAfter bool // the connection ends with the response
	hasEnded    bool // no longer counted in wire.parked, or counted by somebody else
	timer       *time.Timer
}

// ParkRequest lets a request wait outside fasthttp. It calls run on a new goroutine, which ends with
// SendResponse or CloseConn. run must not use c.
func (w *ConnServer) ParkRequest(c *fasthttp.RequestCtx, run func(*ParkedRequest)) {
	h := &c.Request.Header
	own := c.Conn().(*deadlineConn) // listener makes every connection
	p := &ParkedRequest{wire: w, conn: own, id: []byte(RequestID(c)), isHead: c.IsHead(), closesAfter: h.ConnectionClose() || !h.IsHTTP11()}
	if tags := h.PeekCanonical(headerIfNoneMatch); len(tags) > 0 {
		p.ifNoneMatch = append(p.ifNoneMatch, tags...)
	}
	if origin := h.PeekBytes(headerOrigin); len(origin) > 0 && len(w.opts.AllowedOrigins) > 0 {
		p.origin = append(p.origin, origin...)
	}
	p.accessEntry = w.accessOf(c)
	w.parkedCount.Add(1) // until the response is complete, see resume
	c.HijackSetNoResponse(true)
	c.Hijack(func(hijacked net.Conn) {
		own.detachConn(hijacked)
		go p.runParked(run)
	})
}

func (p *ParkedRequest) runParked(run func(*ParkedRequest)) {
	defer func() {
		if e := recover(); e != nil {
			p.wire.opts.Logger.Error("http: a waiting request panicked", "request", string(p.id), "err", fault.DescribePanic(e), "stack", string(debug.Stack()))
			p.CloseConn()
		}
	}()
	run(p)
}

// CloseConn closes the connection, with or without a response before.
func (p *ParkedRequest) CloseConn() {
	p.noteParked()
	p.conn.Close()
	if !p.hasEnded {
		p.hasEnded = true
		p.wire.parkedCount.Add(-1)
	}
}

// WaitResult says how a wait ended.
type WaitResult uint8

const (
	WokenUp  WaitResult = iota // a channel was closed, or a timer fired: check again
	TimeOver                   // the deadline passed, or the server is stopping
	HungUp                     // the client closed the connection
)

// AwaitSignal waits until one of the channels is closed (a nil channel never is), until the
// deadline, or until the server stops, but no longer than most.
func (p *ParkedRequest) AwaitSignal(until time.Time, most time.Duration, a, b, c <-chan struct{}) WaitResult {
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
	case <-p.wire.stopCh:
		return TimeOver
	case <-p.timer.C:
		switch {
		case p.conn.hungUp():
			return HungUp
		case !time.Now().Before(until):
			return TimeOver
		}
	}
	return WokenUp
}

// contextPool are reused for the responses of parked requests.
var contextPool = sync.Pool{New: func() any { return new(fasthttp.RequestCtx) }}

// SendResponse calls write to make the response, sends it, and gives the connection back to fasthttp.
func (p *ParkedRequest) SendResponse(write func(*fasthttp.RequestCtx)) {
	if p.timer != nil {
		p.timer.Stop()
	}
	err := p.sendResponse(write)
	p.noteParked()
	if err != nil || p.closesAfter || p.wire.isStopping() {
		p.CloseConn()
		return
	}
	p.resumeConn()
}

func (p *ParkedRequest) sendResponse(write func(*fasthttp.RequestCtx)) error {
	c := contextPool.Get().(*fasthttp.RequestCtx)
	c.Init2(p.conn, discardLogger{}, false)
	defer func() {
		c.Request.Reset()
		c.Response.Reset()
		contextPool.Put(c)
	}()
	if p.ifNoneMatch != nil {
		c.Request.Header.SetCanonical(headerIfNoneMatch, p.ifNoneMatch)
	}
	h := &c.Response.Header
	p.wire.stampWith(h, p.id)
	p.wire.opts.AllowedOrigins.setHeaders(h, p.origin)
	h.SetNoDefaultContentType(true)
	write(c)
	c.Response.SkipBody = p.isHead
	if p.closesAfter = p.closesAfter || p.wire.isStopping() || h.ConnectionClose(); p.closesAfter {
		h.SetConnectionClose()
	}
	p.accessEntry.addWritten(c.Response.StatusCode(), len(c.Response.Body()))
	out := writerPool.Get().(*bufio.Writer)
	defer writerPool.Put(out)
	out.Reset(p.conn)
	return errors.Join(c.Response.Write(out), out.Flush())
}

var writerPool = sync.Pool{New: func() any { return bufio.NewWriter(nil) }}

// resumeConn gives the connection back to fasthttp, as one between two requests.
func (p *ParkedRequest) resumeConn() {
	w, c := p.wire, p.conn
	c.hasReceived.Store(false) // so that Shutdown closes it if that comes before the next request
	if w.isStopping() {
		p.CloseConn()
		return
	}
	c.SetReadDeadline(time.Now().Add(idleTimeout))
	p.hasEnded, c.isResumed = true, true // the first Read decrements wire.parked: fasthttp counts the connection then
	if err := w.fastServer.ServeConn(c); errors.Is(err, fasthttp.ErrConcurrencyLimit) {
		w.parkedCount.Add(-1)
	}
}

// BeginStream begins a response that ends with the connection: status 200, the fields, each with its
// CRLF, and the start of the body. The response to HEAD ends before the body.
func (p *ParkedRequest) BeginStream(fields string, now time.Time, body []byte) error {
	p.conn.isStreaming.Store(true)
	p.conn.narrowWindow(streamWindow)
	b := append(make([]byte, 0, 512), p.wire.status200...)
	b = append(b, p.wire.dateHeader.at(now)...)
	fields += p.wire.opts.AllowedOrigins.headerFields(p.origin)
	b = append(append(append(b, "\r\n"...), fields...), "Connection: close\r\nX-Request-Id: "...)
	b = append(append(b, p.id...), "\r\n\r\n"...)
	p.accessEntry.addWritten(fasthttp.StatusOK, -len(b))
	if p.isHead {
		return errors.Join(p.WriteBody(b), errHead)
	}
	return p.WriteBody(append(b, body...))
}

// errHead ends the stream that responds to a HEAD request.
var errHead = errors.New("http: the method is HEAD")

// WriteBody continues the stream. It fails if the client accepts nothing for writeTimeout.
func (p *ParkedRequest) WriteBody(b []byte) error {
	n, err := p.conn.Write(b)
	p.accessEntry.addWritten(fasthttp.StatusOK, n)
	return err
}

// errDetached stops fasthttp from reading ahead.
var errDetached = errors.New("http: the connection is parked")

// detachConn takes the connection away from fasthttp: it saves what fasthttp read ahead, and makes the
// connection ignore the Close that fasthttp calls when the hijacker returns.
func (c *deadlineConn) detachConn(hijacked io.Reader) {
	c.isDetached = true
	if c.readAhead, _ = io.ReadAll(hijacked); len(c.readAhead) == 0 {
		c.readAhead = nil // frees half a KiB for each request that waits
	}
	c.isDetached = false
	c.handedOver.Add(1)
}

// keptOpen consumes one Close of fasthttp that must be ignored. Which one of several it consumes
// does not matter: each detach leads to exactly one such Close.
func (c *deadlineConn) keptOpen() bool {
	for n := c.handedOver.Load(); n > 0; n = c.handedOver.Load() {
		if c.handedOver.CompareAndSwap(n, n-1) {
			return true
		}
	}
	return false
}

// SetDeadline implements net.Conn. fasthttp calls it before it lets go of a connection.
func (c *deadlineConn) SetDeadline(t time.Time) error {
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

// narrowWindow bounds what the kernel buffers of what is written.
func (c *deadlineConn) narrowWindow(window int) {
	if tcp, ok := c.transport().(interface{ SetWriteBuffer(int) error }); ok {
		tcp.SetWriteBuffer(window) // an error shows again with the next use
	}
}

// NarrowWindow prepares a request whose response is a download. Until widen is called, the kernel
// buffers no more of it than of a stream, so that a peer that does not read cannot have it all
// buffered.
func NarrowWindow(at *fasthttp.RequestCtx) (widen func()) {
	c, _ := at.Conn().(*deadlineConn)
	if c == nil {
		return func() {}
	}
	c.narrowWindow(streamWindow)
	return func() { c.narrowWindow(downloadWindow) }
}

// transport returns the connection below TLS, or the connection itself without TLS.
func (c *deadlineConn) transport() net.Conn {
	if outer, ok := c.Conn.(interface{ NetConn() net.Conn }); ok {
		return outer.NetConn()
	}
	return c.Conn
}

// hungUp reports whether the client closed the connection. It consumes nothing: a next request
// stays unread. A TLS connection is seen as closed when its transport is.
func (c *deadlineConn) hungUp() bool {
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
