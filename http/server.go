// Package http serves the inbox service over HTTP/1.1: credentials, permissions, strict
// requests, exact answers. It knows the rules of internal/core/inbox and internal/core/account as
// values; it refuses to know actors, the store and SMTP. Whatever it keeps of a request is
// copied first: fasthttp reuses every buffer when a handler returns.
package http

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"inboxd/http/search"
	"inboxd/http/wire"
	"inboxd/internal/base/partition"
)

// Origins and Access are those of the wire.
type (
	Origins = wire.Origins
	Access  = wire.Access
	Served  = wire.Served
)

// ConnsBeyond is how many connections above Options.MaxConns may be open: they get an answer to
// /healthz and /readyz, and 503 to all else.
const ConnsBeyond = wire.ProbePlaces

// Options configures a Server; the zero value works.
type Options struct {
	BaseURL        string         // where clients reach the service, for links; default: none, links are relative
	SMTP           string         // where mail reaches the service on its own machine, HOST:PORT, to be shown; default 127.0.0.1:2525
	Domain         string         // service domain, for the page to show
	MaxConns       int            // open connections, 503 above it except ConnsBeyond; default 10,000
	MaxBodyBytes   int            // body of a send; default 32 MiB. Other bodies: 1 MiB
	TrustedProxies []netip.Prefix // peers whose X-Forwarded-For counts; default none
	LocalOnly      bool           // reached on this machine alone: anonymous calls under another host's name are refused
	SignupOpen     func() bool    // default: open
	Origins        Origins        // web origins whose pages may read answers; default none
	Access         func(Access)   // hears of every answer; default: nobody does

	MetricsHandler fasthttp.RequestHandler // answers /metrics; nil: no such path
	MetricsPublic  bool                    // otherwise loopback peers only

	ChallengeHandler fasthttp.RequestHandler // answers ACME's HTTP-01 challenges (RFC 8555 section 8.3); nil: no such path

	Owner  *partition.Owner // default: every group is this node's
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
	// requestTimeout bounds what a request may wait for: the longest long poll and the
	// slowest commit.
	requestTimeout = maxWait + 30*time.Second
	// maxBodyBytes bounds every body but that of a send.
	maxBodyBytes = 1 << 20
)

// Ports are what the server needs of the service, by subject. Errors are faults; NoInbox when
// nobody lives at an address. Addresses are canonical and without tag.
type Ports struct {
	Credentials Credentials
	Views       Views
	Auth        Auth
	Keys        Keys
	Inboxes     Inboxes
	Messages    Messages
	Events      Events
	Sending     Sending
	Meetings    Meetings
	Feeds       Feeds
	Owners      Owners
	Webhooks    Webhooks
	Domains     Domains
}

// Server answers requests. New makes it; nothing of it changes but the counters, so any
// goroutine may use it.
type Server struct {
	opts          Options
	admission     *admission
	routes        []route
	router        *router.Router
	large         *router.Router // of the routes that take large bodies
	wire          *wire.Wire
	answers       *wire.Budget // of answers above smallAnswer
	turns         *search.Turns
	texts         *search.Texts
	patience      time.Duration
	waiters       atomic.Int64 // long polls that wait
	streams       atomic.Int64 // event streams
	failedSignIns atomic.Int64
	ruleStops     atomic.Int64 // recurrence rules that were not followed to their end
	feeds         *feeds
	fetches       fetches

	base   context.Context // of every request; over when Shutdown gives up waiting
	giveUp context.CancelFunc
}

// New returns a server that is not listening yet.
func New(opts Options, ports Ports) *Server {
	clock := opts.Now // nil: the wire needs no second look at the real time
	opts.fillDefaults()
	s := &Server{opts: opts, answers: wire.NewBudget(answersHeld), turns: search.NewTurns(), texts: search.NewTexts(), patience: answerPatience}
	s.base, s.giveUp = context.WithCancel(context.Background())
	s.admission = &admission{s.base, ports.Credentials, ports.Views, newTries(), opts.TrustedProxies, s.opts.checkHost}
	s.feeds = newFeeds(ports, &s.opts, &s.fetches)
	s.wire = wire.New(wire.Options{
		MaxConns: opts.MaxConns, Shared: s.admission.trusted, MaxBody: opts.MaxBodyBytes, Body: s.allowance, LeaveBody: s.leaveBody,
		Handler: s.handle, Refuse: writeDetail, Allow: s.admission.poll, Owner: opts.Owner,
		Origins: opts.Origins, Secure: strings.HasPrefix(opts.BaseURL, "https://"), Access: opts.Access, Logger: opts.Logger, Now: clock,
	})
	s.routes = s.table(ports)
	s.router, s.large = s.newRouter(), s.largeRouter()
	return s
}

// allowance is asked when the header of a large body has come. Without a valid credential no
// body is large.
func (s *Server) allowance(h *fasthttp.RequestHeader) wire.Allowance {
	ctx, cancel := context.WithTimeout(s.base, requestTimeout)
	defer cancel()
	p, err := s.admission.principal(ctx, h, s.opts.Now())
	if err != nil {
		return wire.Allowance{Bytes: min(wire.SmallBody, s.opts.MaxBodyBytes)}
	}
	return wire.Allowance{Bytes: s.bodyLimit(h), Account: p.Account}
}

// bodyLimit is the limit of the route that a request is for. It finds the route by the path as the
// router does: a query says nothing about it.
func (s *Server) bodyLimit(h *fasthttp.RequestHeader) int {
	var c fasthttp.RequestCtx
	c.Request.SetRequestURIBytes(h.RequestURI())
	route, _ := s.large.Lookup(string(h.Method()), string(c.Request.URI().PathOriginal()), &c)
	if route != nil {
		return s.opts.MaxBodyBytes
	}
	return min(maxBodyBytes, s.opts.MaxBodyBytes)
}

// Serve answers connections of ln until Shutdown, then returns nil.
func (s *Server) Serve(ln net.Listener) error { return s.wire.Serve(ln) }

// Shutdown stops accepting, ends long polls with what they have, and waits for requests in
// flight until ctx is over; then it gives up on them and returns the error of ctx.
func (s *Server) Shutdown(ctx context.Context) error {
	defer s.giveUp()
	return s.wire.Shutdown(ctx)
}

// LongPolls returns how many requests wait for mail or events now.
func (s *Server) LongPolls() int64 { return s.waiters.Load() }

// Streams returns how many event streams are open.
func (s *Server) Streams() int64 { return s.streams.Load() }

// Fetches returns how often calendar links were followed, by what came of it.
func (s *Server) Fetches() map[string]uint64 { return s.fetches.counts() }

// Served returns what became of all requests so far, by class.
func (s *Server) Served() []wire.Served { return s.wire.Served() }

// FailedSignIns returns how many log-ins were refused for a wrong address or password.
func (s *Server) FailedSignIns() int64 { return s.failedSignIns.Load() }

// RuleStops returns how many recurrence rules were not followed to their end, for a list or for busy times.
func (s *Server) RuleStops() int64 { return s.ruleStops.Load() }

// bodyLeft marks a request whose body is too large to be read.
const bodyLeft = "body left"

// leaveBody refuses such a request, in the order of all checks.
func (s *Server) leaveBody(c *fasthttp.RequestCtx) {
	c.SetUserValue(bodyLeft, true)
	s.handle(c)
}

// Held returns how many octets large bodies and large answers hold now.
func (s *Server) Held() (bodies, answers int64) { return s.wire.Bodies(), s.answers.Held() }

// handle is where every request begins that is whole and unambiguous.
func (s *Server) handle(c *fasthttp.RequestCtx) {
	defer s.survive(c)
	s.router.Handler(c)
}
