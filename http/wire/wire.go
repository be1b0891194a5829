// Package wire carries requests between sockets and handlers. fasthttp reads and writes HTTP/1.1;
// whatever goes past it, or asks more of it than it gives, stands behind the one door Wire:
//
//	what                                  why                                         what it buys
//	reading, routing and writing of a     a fleet sends one request over and over;    by fasthttp a poll cost a fifth more
//	plain poll: poll.go, response.go,     fasthttp copies it through header maps      than a constant response, with 10,000
//	shortcuts.go                          and looks in eight places                   inboxes a third more (ADR 0005, 0024)
//	a request's place while it waits:     fasthttp keeps buffers, header maps and     20 KiB less for each long poll and
//	park.go                               a stack for it                              each stream (ADR 0009)
//	deadlines: conn.go                    one deadline for a whole request cuts big   peers that dribble hold no connection,
//	                                      downloads off, none lets peers dribble      slow ones get their megabytes
//	accepting: accept.go                  Serve ends at the first lack of             the process outlives it, and refuses
//	                                      descriptors, and refuses in plain text      in the service's own form
//	framing: framing.go                   it reads what two servers could read        nothing is smuggled through a proxy
//	                                      differently
//	large bodies: body.go                 it takes in what is announced before        nobody holds memory without a
//	                                      anybody looked at who sends it              credential, nor beyond a budget (ADR 0040)
//
// It refuses to know routes, permissions and what a response says.
package wire

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
)

// Options configures a Wire.
type Options struct {
	MaxConns  int                                                     // open connections; a client has a quarter of them. 503 above
	Shared    func(netip.Addr) bool                                   // whether many clients come from an address, so that it has no such bound
	Body      func(h *fasthttp.RequestHeader) Allowance               // asked when the header of a large body has come
	MaxBody   int                                                     // the most that Body allows
	LeaveBody fasthttp.RequestHandler                                 // answers a request whose body is larger than allowed
	Handler   fasthttp.RequestHandler                                 // gets whole and unambiguous requests, stamped with an id
	Refuse    func(*fasthttp.RequestCtx, int, string)                 // words a refusal: status and detail
	Allow     func(Poll, time.Time) (*account.Principal, *inbox.View) // see Poll
	Origins   Origins                                                 // whose pages may read responses
	Secure    bool                                                    // clients reach the service by https alone: HSTS
	Access    func(Access)                                            // hears of every response; nil: nobody does
	Owner     *partition.Owner                                        // whose inboxes the wire answers for
	Logger    *slog.Logger
	Now       func() time.Time // nil: the real time
}

const (
	// idleTimeout is how long a kept-alive connection may wait for its next request.
	idleTimeout = 3 * time.Minute
	// readBufferBytes bounds the request line and header together: 431 above it.
	readBufferBytes = 8 << 10
	// streamsEnd bounds how long a stop lets a stream's last piece go out.
	streamsEnd = time.Second
)

// Wire serves connections. What is below opts guards itself or never changes; any goroutine
// may use it.
type Wire struct {
	opts      Options
	fast      *fasthttp.Server
	ids       requestIDs
	date      dateLine
	conns     connSet
	shortcuts shortcuts
	served    served
	bodies    *Budget      // of large bodies
	parked    atomic.Int64 // requests outside of fasthttp, see Park
	lanes     atomic.Int64 // octets that lanes hold, see KeepLane

	status200, status304 string // what responses begin with that go past fasthttp, up to the date

	stopping chan struct{} // closed when Shutdown begins: whoever waits ends
	stopOnce sync.Once
}

// New returns a Wire that is not listening yet.
func New(opts Options) *Wire {
	w := &Wire{opts: opts, ids: newRequestIDs(), conns: newConnSet(opts.MaxConns, opts.Shared), stopping: make(chan struct{})}
	w.bodies = NewBudget(2 * int64(opts.MaxBody)) // one account's largest keeps no other's away
	w.shortcuts.init()
	w.status200, w.status304 = w.statusLine("200 OK"), w.statusLine("304 Not Modified")
	w.fast = &fasthttp.Server{
		Handler:        w.handle,
		ErrorHandler:   w.unreadable,
		HeaderReceived: w.headerReceived,
		ExpectHandler:  w.expected,
		Logger:         silent{},
		// The listener refuses what is above MaxConns, with a response of ours.
		Concurrency:                  2*(opts.MaxConns+ProbePlaces) + 1, // twice: a connection may be parked and back before its old place is free
		ReadBufferSize:               readBufferBytes,
		IdleTimeout:                  idleTimeout, // the other deadlines are in conn
		MaxRequestBodySize:           opts.MaxBody,
		StreamRequestBody:            true, // see body.go
		DisablePreParseMultipartForm: true,
		NoDefaultServerHeader:        true,
		NoDefaultContentType:         true,
		SecureErrorLogMessage:        true,
		CloseOnShutdown:              true,
	}
	return w
}

// silent drops what fasthttp logs: protocol errors of clients, which can quote their
// bytes. What an operator must know is logged where it happens.
type silent struct{}

func (silent) Printf(string, ...any) {}

// Serve answers connections of ln until Shutdown, then returns nil.
func (w *Wire) Serve(ln net.Listener) error { return w.fast.Serve(&listener{Listener: ln, wire: w}) }

// handle is where every request begins that could be read.
func (w *Wire) handle(c *fasthttp.RequestCtx) {
	w.stamp(c)
	defer w.noteServed(c, c.Time())
	if w.refuseProbe(c) {
		return
	}
	why, chunked := ambiguous(c.Request.Header.RawHeaders())
	if why != "" {
		w.refuseFraming(c, why)
		return
	}
	if (chunked || c.Request.Header.ContentLength() > SmallBody) && c.Request.IsBodyStream() {
		w.handleLarge(c)
		return
	}
	w.opts.Handler(c)
}

// Shutdown stops accepting, ends those who wait with what they have, and waits for requests
// in flight until ctx is over; then it returns the error of ctx.
func (w *Wire) Shutdown(ctx context.Context) error {
	w.stopOnce.Do(func() { close(w.stopping) })
	w.conns.hurry(time.Now().Add(streamsEnd))
	for _, c := range w.conns.silent() {
		c.Close()
	}
	if err := w.fast.ShutdownWithContext(ctx); err != nil {
		return err
	}
	return w.awaitParked(ctx)
}

// awaitParked waits for the responses of parked requests. After fasthttp has ended no request
// is parked any more, but one may just have been.
func (w *Wire) awaitParked(ctx context.Context) error {
	for tick := time.NewTicker(5 * time.Millisecond); w.parked.Load() > 0; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			return ctx.Err()
		}
	}
	for _, c := range w.conns.silent() { // given back to fasthttp meanwhile
		c.Close()
	}
	return nil
}

// Stopping is closed when Shutdown begins.
func (w *Wire) Stopping() <-chan struct{} { return w.stopping }

func (w *Wire) isStopping() bool {
	select {
	case <-w.stopping:
		return true
	default:
		return false
	}
}

// Conns returns how many connections were taken.
func (w *Wire) Conns() uint64 { return w.ids.conns.Load() }

// Bodies is how many octets large bodies hold now.
func (w *Wire) Bodies() int64 { return w.bodies.Held() }

// Parked returns how many requests wait outside of fasthttp.
func (w *Wire) Parked() int64 { return w.parked.Load() }
