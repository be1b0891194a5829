// Package http serves the API of the inbox service over HTTP/1.1: credentials, permissions, strict
// request checks and responses. It knows the rules of internal/core/inbox and internal/core/account
// as values. It does not know actors, the store or SMTP. Everything that outlives a handler is
// copied first, because fasthttp reuses every buffer when the handler returns.
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

// Origins, Access and Served are types of package wire.
type (
	AllowedOrigins = wire.AllowedOrigins
	AccessEntry    = wire.AccessEntry
	ServedClass    = wire.ServedClass
)

// ConnsBeyond is how many connections above Options.MaxConns may be open. They get a response to
// /healthz and /readyz, and 503 for everything else.
const ConnsBeyond = wire.ProbePlaces

// Options configures a Server; the zero value is valid.
type Options struct {
	BaseURL        string            // URL of the service for clients, used in links; default: relative links
	SMTP           string            // HOST:PORT where this machine receives messages, for display; default 127.0.0.1:2525
	ServiceDomain  string            // service domain, for display
	MaxConns       int               // limit of open connections, 503 above it except ConnsBeyond; default 10,000
	MaxBodyBytes   int               // body of a send; default 32 MiB. Other bodies: 1 MiB
	TrustedProxies []netip.Prefix    // proxies whose X-Forwarded-For is trusted; default none
	Simulate       bool              // accept simulated messages
	LocalOnly      bool              // serve only this machine: refuse anonymous calls with another host name
	SignupOpen     func() bool       // default: open
	AllowedOrigins AllowedOrigins    // web origins whose pages may read responses; default none
	LogAccess      func(AccessEntry) // receives every response; default: no access log

	MetricsHandler fasthttp.RequestHandler // serves /metrics; nil: the path does not exist
	MetricsPublic  bool                    // else only for loopback peers

	ChallengeHandler fasthttp.RequestHandler // responds to ACME HTTP-01 challenges (RFC 8555 section 8.3); nil: the path does not exist

	PartitionOwner *partition.OwnershipState // default: this node owns every group
	CheckReady     func() error              // nil error: /readyz responds 200; default: always ready
	Logger         *slog.Logger              // default slog.Default()
	Now            func() time.Time          // default time.Now
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
	if o.CheckReady == nil {
		o.CheckReady = func() error { return nil }
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
}

const (
	// requestTimeout is the longest duration of a request: the longest long poll plus the slowest
	// commit.
	requestTimeout = maxWait + 30*time.Second
	// maxBodyBytes limits every body except that of a send.
	maxBodyBytes = 1 << 20
)

// Ports are the interfaces that the server needs, by subject. Their errors are faults; NoInbox if
// no inbox has the address. Addresses are canonical and without tag.
type Ports struct {
	Credentials TokenAuthenticator
	Views       ViewReader
	Auth        Auth
	Keys        KeyManager
	Inboxes     InboxManager
	Messages    MessageReader
	Events      EventReader
	Sending     MessageSender
	Meetings    MeetingArranger
	Feeds       FeedLinks
	Owners      OwnerManager
	Webhooks    Webhooks
	Domains     DomainManager
	Simulation  MessageSimulator
}

// Server handles requests. Only its counters change after New, and they are atomic, so any
// goroutine may use it.
type Server struct {
	opts            Options
	admission       *admissionCheck
	routes          []routeSpec
	router          *router.Router
	largeBodyRouter *router.Router // only routes that accept large bodies
	wire            *wire.ConnServer
	answerBudget    *wire.MemoryBudget // of responses above smallAnswer
	searchTurns     *search.TurnLimiter
	textCache       *search.TextCache
	turnPatience    time.Duration
	waitingPolls    atomic.Int64 // long polls in progress
	openStreams     atomic.Int64 // open event streams
	failedSignIns   atomic.Int64
	ruleStops       atomic.Int64 // recurrence rules whose expansion reached a limit
	feedHandlers    *feedHandlers
	fetchCounts     fetchCounts

	baseContext context.Context // parent of every request; cancelled when Shutdown stops waiting
	giveUp      context.CancelFunc
}

// New returns a Server that is not listening yet.
func New(opts Options, ports Ports) *Server {
	clock := opts.Now // nil: the wire uses the time that it has already read
	opts.fillDefaults()
	s := &Server{opts: opts, answerBudget: wire.NewBudget(answersHeld), searchTurns: search.NewTurns(), textCache: search.NewTexts(), turnPatience: answerPatience}
	s.baseContext, s.giveUp = context.WithCancel(context.Background())
	s.admission = &admissionCheck{s.baseContext, ports.Credentials, ports.Views, newTries(), opts.TrustedProxies, s.opts.checkHost}
	s.feedHandlers = newFeeds(ports, &s.opts, &s.fetchCounts)
	s.wire = wire.New(wire.Options{
		MaxConns: opts.MaxConns, IsSharedAddress: s.admission.isTrustedProxy, MaxBody: opts.MaxBodyBytes, BodyAllowance: s.bodyAllowance, LeaveBody: s.leaveBody,
		RequestHandler: s.handleRequest, RefuseRequest: writeRefusal, AllowPoll: s.admission.admitPoll, PartitionOwner: opts.PartitionOwner,
		AllowedOrigins: opts.AllowedOrigins, HTTPSOnly: strings.HasPrefix(opts.BaseURL, "https://"), LogAccess: opts.LogAccess, Logger: opts.Logger, Now: clock,
	})
	s.routes = s.routeTable(ports)
	s.router, s.largeBodyRouter = s.newRouter(), s.largeRouter()
	return s
}

// bodyAllowance returns the limit of a large body once the header has arrived. Without a valid
// credential, no body may be large.
func (s *Server) bodyAllowance(h *fasthttp.RequestHeader) wire.BodyAllowance {
	ctx, cancel := context.WithTimeout(s.baseContext, requestTimeout)
	defer cancel()
	p, err := s.admission.findPrincipal(ctx, h, s.opts.Now())
	if err != nil {
		return wire.BodyAllowance{MaxBytes: min(wire.SmallBody, s.opts.MaxBodyBytes)}
	}
	return wire.BodyAllowance{MaxBytes: s.bodyLimit(h), AccountID: p.Account}
}

// bodyLimit returns the limit of the request's route. It looks up the route by the path without the
// query, like the router.
func (s *Server) bodyLimit(h *fasthttp.RequestHeader) int {
	var c fasthttp.RequestCtx
	c.Request.SetRequestURIBytes(h.RequestURI())
	route, _ := s.largeBodyRouter.Lookup(string(h.Method()), string(c.Request.URI().PathOriginal()), &c)
	if route != nil {
		return s.opts.MaxBodyBytes
	}
	return min(maxBodyBytes, s.opts.MaxBodyBytes)
}

// Serve serves the connections of ln until Shutdown, then returns nil.
func (s *Server) Serve(ln net.Listener) error { return s.wire.Serve(ln) }

// Shutdown stops accepting, ends long polls with the response they have, and waits for requests in
// flight. When ctx ends first, it abandons them and returns the error of ctx.
func (s *Server) Shutdown(ctx context.Context) error {
	defer s.giveUp()
	return s.wire.Shutdown(ctx)
}

// LongPolls returns how many requests are waiting for messages or events.
func (s *Server) LongPolls() int64 { return s.waitingPolls.Load() }

// OpenStreams returns how many event streams are open.
func (s *Server) OpenStreams() int64 { return s.openStreams.Load() }

// FeedFetches returns the number of fetches of calendar links, by outcome.
func (s *Server) FeedFetches() map[string]uint64 { return s.fetchCounts.readCounts() }

// ServedClass returns the counts of all requests so far, by class.
func (s *Server) ServedClasses() []wire.ServedClass { return s.wire.ServedClasses() }

// FailedSignIns returns how many logins were refused because of a wrong address or password.
func (s *Server) FailedSignIns() int64 { return s.failedSignIns.Load() }

// RuleStops returns how many recurrence rules reached a limit of expansion, for a list or for busy
// times.
func (s *Server) RuleStops() int64 { return s.ruleStops.Load() }

// bodyLeft marks a request whose body is too large and was not read.
const bodyLeft = "body left"

// leaveBody refuses such a request, after the checks that come first.
func (s *Server) leaveBody(c *fasthttp.RequestCtx) {
	c.SetUserValue(bodyLeft, true)
	s.handleRequest(c)
}

// HeldBytes returns how many octets of large bodies and large responses are in memory.
func (s *Server) HeldBytes() (bodies, answers int64) {
	return s.wire.BodyBytes(), s.answerBudget.HeldBytes()
}

// handleRequest is the entry point of every complete and unambiguous request.
func (s *Server) handleRequest(c *fasthttp.RequestCtx) {
	defer s.recoverPanic(c)
	s.router.Handler(c)
}
