// Package wire carries requests between sockets and handlers. fasthttp reads and writes HTTP/1.1.
// Everything that bypasses fasthttp, or that fasthttp does not provide, is behind the type ConnServer:
//
//	what                                  why                                         what it buys
//	reading, routing and writing of a     many clients repeat the same request;       with fasthttp a poll cost a fifth more
//	plain poll: poll.go, response.go,     fasthttp copies it through header maps      than a constant response, with 10,000
//	shortcuts.go                          and needs eight look-ups                    inboxes a third more (ADR 0005, 0024)
//	requests that wait: park.go           fasthttp keeps buffers, header maps and     20 KiB less for each long poll and
//	                                      a stack for each                            each stream (ADR 0009)
//	deadlines: conn.go                    one deadline for a whole request aborts     slow trickling peers hold no connection,
//	                                      big downloads; none permits slow trickling  slow readers get their megabytes
//	accepting: accept.go                  Serve ends when descriptors run out once,   the process survives it, and refuses
//	                                      and refuses in plain text                   in the service's own format
//	framing: framing.go                   fasthttp accepts what two servers could     no request is smuggled through a proxy
//	                                      parse differently
//	large bodies: body.go                 fasthttp reads what is announced before     nobody holds memory without a
//	                                      the sender is authenticated                 credential, nor beyond a budget (ADR 0040)
//
// The package does not know routes, permissions or the content of responses.
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

// Options configures a ConnServer.
type Options struct {
	MaxConns        int                                                            // limit of open connections; a client may have a quarter. 503 above
	IsSharedAddress func(netip.Addr) bool                                          // whether an address is shared by many clients, and has no such limit
	BodyAllowance   func(h *fasthttp.RequestHeader) BodyAllowance                  // called when the header of a large body has arrived
	MaxBody         int                                                            // the largest BodyAllowance that Body returns
	LeaveBody       fasthttp.RequestHandler                                        // responds to a request whose body is larger than allowed
	RequestHandler  fasthttp.RequestHandler                                        // receives complete and unambiguous requests, stamped with an id
	RefuseRequest   func(*fasthttp.RequestCtx, int, string)                        // writes an error response: status and detail
	AllowPoll       func(PollRequest, time.Time) (*account.Principal, *inbox.View) // see PollRequest
	AllowedOrigins  AllowedOrigins                                                 // origins whose pages may read responses
	HTTPSOnly       bool                                                           // clients reach the service only by https: send HSTS
	LogAccess       func(AccessEntry)                                              // receives every response; nil: no access log
	PartitionOwner  *partition.OwnershipState                                      // knows which inboxes this server owns
	Logger          *slog.Logger
	Now             func() time.Time // nil: the real time
}

const (
	// idleTimeout is how long a keep-alive connection may wait for its next request.
	idleTimeout = 3 * time.Minute
	// readBufferBytes bounds the request line and header together: 431 above it.
	readBufferBytes = 8 << 10
	// streamsEnd is how long a shutdown lets a stream write its last piece.
	streamsEnd = time.Second
)

// ConnServer serves connections. The fields below opts are safe for concurrent use or never change. Any
// goroutine may use a ConnServer.
type ConnServer struct {
	opts          Options
	fastServer    *fasthttp.Server
	requestIDs    requestIDs
	dateHeader    dateLine
	conns         connSet
	responseTable responseTable
	servedCounts  servedCounts
	bodyBudget    *MemoryBudget // of large bodies
	parkedCount   atomic.Int64  // requests outside fasthttp, see ParkRequest
	tagBytes      atomic.Int64  // octets held by the responses to tags, see KeepTagView

	status200, status304 string // start of responses that bypass fasthttp, up to the date

	stopCh   chan struct{} // closed when Shutdown begins: ends every wait
	stopOnce sync.Once
}

// New returns a ConnServer that is not listening yet.
func New(opts Options) *ConnServer {
	w := &ConnServer{opts: opts, requestIDs: newRequestIDs(), conns: newConnSet(opts.MaxConns, opts.IsSharedAddress), stopCh: make(chan struct{})}
	w.bodyBudget = NewBudget(2 * int64(opts.MaxBody)) // so that one account's largest body does not block the others
	w.responseTable.init()
	w.status200, w.status304 = w.statusLine("200 OK"), w.statusLine("304 Not Modified")
	w.fastServer = &fasthttp.Server{
		Handler:        w.handleRequest,
		ErrorHandler:   w.refuseUnreadable,
		HeaderReceived: w.headerReceived,
		ExpectHandler:  w.answerExpect,
		Logger:         discardLogger{},
		// The listener refuses connections above MaxConns with a response of ours.
		Concurrency:                  2*(opts.MaxConns+ProbePlaces) + 1, // twice: a connection may be parked and back before its old slot is free
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

// discardLogger drops what fasthttp logs: protocol errors of clients, which can quote their bytes.
// What an operator needs to know is logged where it happens.
type discardLogger struct{}

func (discardLogger) Printf(string, ...any) {}

// Serve serves the connections of ln until Shutdown, then returns nil.
func (w *ConnServer) Serve(ln net.Listener) error {
	return w.fastServer.Serve(&connListener{Listener: ln, wire: w})
}

// handleRequest is the entry point of every request that fasthttp could parse.
func (w *ConnServer) handleRequest(c *fasthttp.RequestCtx) {
	w.stampResponse(c)
	defer w.noteServed(c, c.Time())
	if w.refuseProbe(c) {
		return
	}
	why, chunked := isAmbiguous(c.Request.Header.RawHeaders())
	if why != "" {
		w.refuseFraming(c, why)
		return
	}
	if (chunked || c.Request.Header.ContentLength() > SmallBody) && c.Request.IsBodyStream() {
		w.handleLarge(c)
		return
	}
	w.opts.RequestHandler(c)
}

// Shutdown stops accepting, ends waiting requests with the response they have, and waits for
// requests in flight. When ctx ends first, it returns the error of ctx.
func (w *ConnServer) Shutdown(ctx context.Context) error {
	w.stopOnce.Do(func() { close(w.stopCh) })
	w.conns.hurryStreams(time.Now().Add(streamsEnd))
	for _, c := range w.conns.silentConns() {
		c.Close()
	}
	if err := w.fastServer.ShutdownWithContext(ctx); err != nil {
		return err
	}
	return w.awaitParked(ctx)
}

// awaitParked waits for the responses of parked requests. After fasthttp has shut down, no new
// request is parked, but some may have been parked just before.
func (w *ConnServer) awaitParked(ctx context.Context) error {
	for tick := time.NewTicker(5 * time.Millisecond); w.parkedCount.Load() > 0; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			return ctx.Err()
		}
	}
	for _, c := range w.conns.silentConns() { // given back to fasthttp in the meantime
		c.Close()
	}
	return nil
}

// Stopping is closed when Shutdown begins.
func (w *ConnServer) Stopping() <-chan struct{} { return w.stopCh }

func (w *ConnServer) isStopping() bool {
	select {
	case <-w.stopCh:
		return true
	default:
		return false
	}
}

// Conns returns how many connections were accepted.
func (w *ConnServer) Conns() uint64 { return w.requestIDs.conns.Load() }

// BodyBytes returns how many octets of large bodies are in memory.
func (w *ConnServer) BodyBytes() int64 { return w.bodyBudget.HeldBytes() }

// ParkedCount returns how many requests wait outside fasthttp.
func (w *ConnServer) ParkedCount() int64 { return w.parkedCount.Load() }
