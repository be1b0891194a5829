// Package http serves the inbox service over HTTP/1.1: credentials, permissions, strict
// requests, exact answers. It knows the rules of internal/inbox and internal/account as
// values; it refuses to know actors, the store and SMTP. Whatever it keeps of a request is
// copied first: fasthttp reuses every buffer when a handler returns.
package http

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"
)

// Options configures a Server; the zero value works.
type Options struct {
	BaseURL        string         // where clients reach the service, for links; default: none, links are relative
	MaxConns       int            // open connections, 503 above it; default 10,000
	MaxBodyBytes   int            // body of a send; default 32 MiB. Other bodies: 1 MiB
	TrustedProxies []netip.Prefix // peers whose X-Forwarded-For counts; default none
	SignupOpen     func() bool    // default: open

	MetricsHandler fasthttp.RequestHandler // answers /metrics; nil: no such path
	MetricsPublic  bool                    // otherwise loopback peers only

	ChallengeHandler fasthttp.RequestHandler // answers ACME's HTTP-01 challenges (RFC 8555 section 8.3); nil: no such path

	Ready  func() error     // nil error: /readyz answers 200; default: always ready
	Logger *slog.Logger     // default slog.Default()
	Now    func() time.Time // default time.Now
}

func (o *Options) fillDefaults() {
	if o.MaxConns <= 0 {
		o.MaxConns = 10_000
	}
	if o.MaxBodyBytes <= 0 {
		o.MaxBodyBytes = 32 << 20
	}
	if o.SignupOpen == nil {
		o.SignupOpen = func() bool { return true }
	}
	if o.Ready == nil {
		o.Ready = func() error { return nil }
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
}

const (
	// idleTimeout is how long a kept-alive connection may wait for its next request.
	idleTimeout = 3 * time.Minute
	// readBufferBytes bounds the request line and header together: 431 above it.
	readBufferBytes = 8 << 10
	// requestTimeout bounds what a request may wait for: the longest long poll and the
	// slowest commit.
	requestTimeout = maxWait + 30*time.Second
)

// Server answers requests. New makes it.
type Server struct {
	opts     Options
	inboxes  Inboxes
	accounts Accounts
	routes   []route
	router   *router.Router
	fast     *fasthttp.Server
	tries    *tries
	ids      requestIDs
	date     dateLine
	conns    connSet
	// shortcuts are for plain polls, see kept.
	shortcuts shortcuts
	clockSet  bool         // opts.Now is not the real time
	waiters   atomic.Int64 // long polls that wait
	pages     *pages
	streams   atomic.Int64 // event streams
	parked    atomic.Int64 // requests outside of fasthttp, see park

	base     context.Context // of every request; over when Shutdown gives up waiting
	giveUp   context.CancelFunc
	stopping chan struct{} // closed when Shutdown begins: long polls end
	stopOnce sync.Once
}

// New returns a server that is not listening yet.
func New(opts Options, inboxes Inboxes, accounts Accounts) *Server {
	clockSet := opts.Now != nil
	opts.fillDefaults()
	s := &Server{
		clockSet: clockSet,
		opts:     opts, inboxes: inboxes, accounts: accounts,
		tries: newTries(), ids: newRequestIDs(), conns: connSet{open: map[*conn]struct{}{}}, stopping: make(chan struct{}),
	}
	s.shortcuts.init()
	s.base, s.giveUp = context.WithCancel(context.Background())
	s.pages = newPages(s.opts.BaseURL)
	s.routes = s.table()
	s.router = s.newRouter()
	s.fast = &fasthttp.Server{
		Handler:        s.handle,
		ErrorHandler:   s.unreadable,
		HeaderReceived: s.bodyLimit,
		Logger:         silent{},
		// The listener refuses what is above MaxConns, with an answer of ours.
		Concurrency:                  2*opts.MaxConns + 1, // twice: a connection may be parked and back before its old place is free
		ReadBufferSize:               readBufferBytes,
		IdleTimeout:                  idleTimeout, // the other deadlines are in conn
		MaxRequestBodySize:           opts.MaxBodyBytes,
		DisablePreParseMultipartForm: true,
		NoDefaultServerHeader:        true,
		NoDefaultContentType:         true,
		SecureErrorLogMessage:        true,
		CloseOnShutdown:              true,
	}
	return s
}

// Serve answers connections of ln until Shutdown, then returns nil.
func (s *Server) Serve(ln net.Listener) error { return s.fast.Serve(s.listen(ln)) }

// Shutdown stops accepting, ends long polls with what they have, and waits for requests in
// flight until ctx is over; then it gives up on them and returns the error of ctx.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stopOnce.Do(func() { close(s.stopping) })
	defer s.giveUp()
	s.conns.hurry(time.Now().Add(streamsEnd))
	for _, c := range s.conns.silent() {
		c.Close()
	}
	if err := s.fast.ShutdownWithContext(ctx); err != nil {
		return err
	}
	return s.awaitParked(ctx)
}

// streamsEnd bounds how long a stop lets a stream's last piece go out.
const streamsEnd = time.Second

// awaitParked waits for the answers of parked requests. After fasthttp has ended no request
// is parked any more, but one may just have been.
func (s *Server) awaitParked(ctx context.Context) error {
	for tick := time.NewTicker(5 * time.Millisecond); s.parked.Load() > 0; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			tick.Stop()
			return ctx.Err()
		}
	}
	for _, c := range s.conns.silent() { // given back to fasthttp meanwhile
		c.Close()
	}
	return nil
}

// LongPolls returns how many requests wait for mail or events now.
func (s *Server) LongPolls() int64 { return s.waiters.Load() }

// Streams returns how many event streams are open.
func (s *Server) Streams() int64 { return s.streams.Load() }

// handle is where every request that could be read begins.
func (s *Server) handle(c *fasthttp.RequestCtx) {
	defer s.survive(c)
	s.stamp(c)
	if why := ambiguous(c.Request.Header.RawHeaders()); why != "" {
		s.refuseFraming(c, why)
		return
	}
	if s.poll(c) {
		return
	}
	s.router.Handler(c)
}

// silent drops what fasthttp logs: protocol errors of clients, which can quote their
// bytes. What an operator must know is logged where it happens.
type silent struct{}

func (silent) Printf(string, ...any) {}
