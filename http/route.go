package http

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"inboxd/http/wire"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/idempotency"
	"inboxd/internal/core/inbox"
)

// routeSpec is one call of the API with all its requirements.
type routeSpec struct {
	method              string
	pathPattern         string           // {addr}, {id} and {aid} are path parameters
	acceptedCredentials credentialSet    // the kinds of credential that it accepts
	requiredScope       account.ScopeSet // the scope that an API key needs
	isRateLimited       bool             // rate limited per client
	bodyShape           bodyShape        // nil: the body is ignored
	handler             func(*apiRequest) error
}

func (rt *routeSpec) routeName() string { return rt.method + " " + rt.pathPattern }

// onInbox reports whether the route concerns one inbox, which the credential must own.
func (rt *routeSpec) onInbox() bool { return strings.Contains(rt.pathPattern, "{addr}") }

const (
	methodGet    = fasthttp.MethodGet
	methodPost   = fasthttp.MethodPost
	methodPatch  = fasthttp.MethodPatch
	methodPut    = fasthttp.MethodPut
	methodDelete = fasthttp.MethodDelete
)

// These are the scopes and the path prefixes of routes.
const (
	scopeRead     = account.ScopeRead
	scopeWrite    = account.ScopeWrite
	scopeManage   = account.ScopeManage
	scopeWebhooks = account.ScopeWebhooks
	scopeDomains  = account.ScopeDomains
	noScope       = account.ScopeSet(0)

	agentInboxes = "/api/v1/inboxes" // the agent surface
	agentInbox   = agentInboxes + "/{addr}"
	perInbox     = "/api/inboxes/{addr}" // the per-inbox surface
)

// routeTable lists all routes (specification, Surfaces).
func (s *Server) routeTable(p Ports) []routeSpec {
	messages, inboxes := &messageHandlers{messageReader: p.Messages, messageSimulator: p.Simulation, textCache: s.textCache}, &inboxHandlers{p.Inboxes, s.opts.BaseURL}
	return withCompat(withOtherSurfaces(slices.Concat(
		(&auth{p.Auth, s.admission.tryCounter, s.opts.SignupOpen, s.noteFailedSignIn}).listRoutes(),
		(&keyHandlers{p.Keys}).listRoutes(),
		inboxes.listRoutes(),
		messages.listRoutes(),
		(&fleetHandlers{inboxes, messages, p.Auth}).listRoutes(),
		(&latestHandlers{messages, s}).listRoutes(),
		(&eventHandlers{p.Events, s}).listRoutes(),
		(&sendingHandlers{p.Sending}).listRoutes(),
		(&calendarHandlers{p.Meetings, &s.ruleStops}).listRoutes(),
		s.feedHandlers.listRoutes(),
		(&webhooks{p.Webhooks}).listRoutes(),
		(&domainHandlers{p.Domains}).listRoutes(),
		newPages(&s.opts).listRoutes(),
		(&operatorHandlers{&s.opts, s.wire.Stopping()}).listRoutes(),
	)))
}

// Calls of the agent surface that are also under /api: those about the account for sessions only,
// those about one inbox for sessions and for its own key. There, messages are called emails.
var (
	sessionCalls = regexp.MustCompile(`^\w+ /api/v1/(domains|suppressions|webhooks)`)
	insideCalls  = regexp.MustCompile(`^(GET /api/v1/inboxes/{addr}/messages$|\w+ /api/v1/inboxes/{addr}/(latest|messages/|events|send|calendar/(events|freebusy|feed)))`)
	underAPI     = strings.NewReplacer("/v1", "", "/messages", "/emails")
)

// withOtherSurfaces adds the routes of sessionCalls and insideCalls under /api.
func withOtherSurfaces(all []routeSpec) []routeSpec {
	for _, rt := range all[:len(all):len(all)] {
		switch {
		case sessionCalls.MatchString(rt.routeName()):
			rt.acceptedCredentials, rt.requiredScope = sessionTokens, noScope
		case insideCalls.MatchString(rt.routeName()):
			rt.acceptedCredentials = inboxCredentials
		default:
			continue
		}
		rt.pathPattern = underAPI.Replace(rt.pathPattern)
		all = append(all, rt)
	}
	return all
}

func (s *Server) newRouter() *router.Router {
	r := router.New()
	r.RedirectTrailingSlash, r.RedirectFixedPath = false, false
	r.NotFound, r.MethodNotAllowed = s.notFound, s.methodNotAllowed
	r.GlobalOPTIONS = s.opts.AllowedOrigins.Preflight
	for i := range s.routes {
		rt := &s.routes[i]
		serve := func(c *fasthttp.RequestCtx) { s.serveRoute(rt, c) }
		r.Handle(rt.method, rt.pathPattern, serve)
		if rt.method == methodGet { // fasthttp and the wire omit the body for HEAD
			r.HEAD(rt.pathPattern, serve)
		}
	}
	return r
}

// largeRouter contains the routes whose bodies may exceed maxBodyBytes: those that send or simulate
// a message.
func (s *Server) largeRouter() *router.Router {
	r := router.New()
	for i := range s.routes {
		if rt := &s.routes[i]; rt.method == methodPost && (strings.HasSuffix(rt.pathPattern, "{addr}/send") || rt.pathPattern == simulatedMessages) {
			r.Handle(rt.method, rt.pathPattern, s.leaveBody)
		}
	}
	return r
}

// apiRequest is one call on its way through admission to its handler. It is valid only until the
// handler returns, and nothing may retain it.
type apiRequest struct {
	server        *Server
	httpCtx       *fasthttp.RequestCtx
	route         *routeSpec
	ctx           context.Context // bounded by requestTimeout
	requestTime   time.Time
	principal     *account.Principal
	inboxAddress  string      // canonical, without tag, if the route concerns one inbox
	taggedAddress string      // with the tag in the path; empty: the path has no tag
	inboxView     *inbox.View // of that inbox
	bodyValues    bodyValues
	charge        *wire.BudgetCharge // memory of the response while it is rendered; nil: the response is small
	endTurn       func()             // ends its turn; nil: it has no turn
}

// serveRoute checks a request in the documented order (specification, Order of checks: credential,
// scope, ownership, shape of the body) and calls its handler.
func (s *Server) serveRoute(rt *routeSpec, c *fasthttp.RequestCtx) {
	ctx, cancel := context.WithTimeout(s.baseContext, requestTimeout)
	defer cancel()
	r := &apiRequest{server: s, httpCtx: c, route: rt, ctx: ctx, requestTime: s.opts.Now()}
	s.answerRequest(r, func(r *apiRequest) error {
		if err := s.admission.admitRequest(r); err != nil {
			return err
		}
		return rt.handler(r)
	})
}

// answerRequest writes the response by fn, or its error.
func (s *Server) answerRequest(r *apiRequest, fn func(*apiRequest) error) {
	defer r.releaseTurn()
	err := fn(r)
	if err == nil {
		err = r.settleCharge()
	}
	if err != nil {
		s.failRequest(r, err)
	}
}

const headerOnce = "Idempotency-Key"

// idempotencyRequest returns the request's idempotency key (specification, Repeats), or the zero
// Request without that header. Handlers that support the header call it together with the checks of
// the body's shape.
func (r *apiRequest) idempotencyRequest() (idempotency.Request, error) {
	h := &r.httpCtx.Request.Header
	switch given := h.PeekAll(headerOnce); len(given) {
	case 0:
		return idempotency.Request{}, nil
	case 1:
		operation := r.route.operationName()
		if which := pathParameter(r.httpCtx, "id"); which != "" {
			operation += " " + which
		}
		return idempotency.NewRequest(string(given[0]), operation, r.httpCtx.PostBody())
	}
	return idempotency.Request{}, fault.InvalidField(headerOnce, "is given twice")
}

// operationName returns the route's name without its surface, because a repeat may use another surface.
// The name does not contain the inbox: the record is stored with it.
func (rt *routeSpec) operationName() string {
	path := strings.TrimPrefix(rt.pathPattern, compatPrefix)
	return rt.method + " " + strings.TrimPrefix(strings.TrimPrefix(path, "/api"), "/v1")
}
