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

// A request that waits leaves fasthttp, which would keep 20 KiB of buffers, header maps and
// stack for it. What stays is the connection, one goroutine with a small stack, and the few
// facts that the response needs. When the response is out, fasthttp gets the connection back.

// recheckStep is how soon a parked request notices that its client hung up.
const recheckStep = 5 * time.Second

// Parked is a request that waits. Its goroutine owns it and the connection.
type Parked struct {
	wire        *Wire
	conn        *conn
	id          []byte // X-Request-Id
	ifNoneMatch []byte
	origin      []byte // Origin, where pages of other origins may read responses
	access      access
	head        bool // no body is to be sent
	last        bool // the connection ends with the response
	ended       bool // not counted in wire.parked any more, or not by this
	timer       *time.Timer
}

// Park lets a request wait outside of fasthttp. run gets it, on a goroutine of its own, and
// ends with Respond or End; nothing of c may be used there.
func (w *Wire) Park(c *fasthttp.RequestCtx, run func(*Parked)) {
	h := &c.Request.Header
	own := c.Conn().(*conn) // every connection is made by listener
	p := &Parked{wire: w, conn: own, id: []byte(RequestID(c)), head: c.IsHead(), last: h.ConnectionClose() || !h.IsHTTP11()}
	if tags := h.PeekCanonical(headerIfNoneMatch); len(tags) > 0 {
		p.ifNoneMatch = append(p.ifNoneMatch, tags...)
	}
	if origin := h.PeekBytes(headerOrigin); len(origin) > 0 && len(w.opts.Origins) > 0 {
		p.origin = append(p.origin, origin...)
	}
	p.access = w.accessOf(c)
	w.parked.Add(1) // until the response is out, see resume
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

// End closes the connection without a response, or after one.
func (p *Parked) End() {
	p.noteParked()
	p.conn.Close()
	if !p.ended {
		p.ended = true
		p.wire.parked.Add(-1)
	}
}

// Ended is how a wait ended.
type Ended uint8

const (
	Woken  Ended = iota // one of the channels, or nothing: look again
	Over                // the time is over, or the server stops
	HungUp              // the client did
)

// Wait waits until one of the channels is closed (nil never is), until the time is over, or
// until the server stops; no longer than most.
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

// contexts are for the responses of parked requests.
var contexts = sync.Pool{New: func() any { return new(fasthttp.RequestCtx) }}

// Respond lets write make the response, sends it, and gives the connection back.
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
	c.spoke.Store(false) // Shutdown closes it, if it comes before the next request
	if w.isStopping() {
		p.End()
		return
	}
	c.SetReadDeadline(time.Now().Add(idleTimeout))
	p.ended, c.resumed = true, true // the first Read ends the parking: fasthttp counts the connection then
	if err := w.fast.ServeConn(c); errors.Is(err, fasthttp.ErrConcurrencyLimit) {
		w.parked.Add(-1)
	}
}

// Stream begins a response that ends with the connection: 200 with the fields, each with its
// CRLF, and the beginning of the body. To HEAD that is all.
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

// errHead ends a stream that nobody wants to see the body of.
var errHead = errors.New("http: the method is HEAD")

// Write writes on. It gives up on a client that takes nothing for writeTimeout.
func (p *Parked) Write(b []byte) error {
	n, err := p.conn.Write(b)
	p.access.wrote(fasthttp.StatusOK, n)
	return err
}

// errDetached ends the reading ahead of fasthttp.
var errDetached = errors.New("http: the connection is parked")

// detach takes the connection out of fasthttp's hands: what it read ahead, and the Close
// that it does when the hijacker returned.
func (c *conn) detach(hijacked io.Reader) {
	c.detached = true
	if c.ahead, _ = io.ReadAll(hijacked); len(c.ahead) == 0 {
		c.ahead = nil // not half a KiB for each that waits
	}
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

const (
	// streamWindow is what the kernel may keep of a stream, or of the beginning of a download, for a peer that does not read.
	streamWindow = 64 << 10
	// downloadWindow is the same of a download to a peer that reads: not megabytes, which it would take at once from the
	// store. It is what is under way to a peer 20 ms away that reads 100 Mbit/s; Linux keeps
	// twice as much.
	downloadWindow = 256 << 10
)

// narrow bounds what the kernel keeps of what is written.
func (c *conn) narrow(window int) {
	if tcp, ok := c.transport().(interface{ SetWriteBuffer(int) error }); ok {
		tcp.SetWriteBuffer(window) // an error shows again with the next use
	}
}

// Narrow is for a request that is answered with a download. Until widen is called, the kernel keeps of it no more
// than of a stream: whoever does not read must not have it all at once.
func Narrow(at *fasthttp.RequestCtx) (widen func()) {
	c, _ := at.Conn().(*conn)
	if c == nil {
		return func() {}
	}
	c.narrow(streamWindow)
	return func() { c.narrow(downloadWindow) }
}

// transport is the connection under TLS, or without.
func (c *conn) transport() net.Conn {
	if outer, ok := c.Conn.(interface{ NetConn() net.Conn }); ok {
		return outer.NetConn()
	}
	return c.Conn
}

// hungUp reports whether the client closed the connection. It reads nothing: a next request
// stays where it is. A connection under TLS shows it when the transport is closed.
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
