package http

import (
	"context"
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

// route is one call of the API with all its requirements.
type route struct {
	method  string
	path    string        // {addr}, {id} and {aid} are path parameters
	who     credentials   // the kinds of credential that it accepts
	scope   account.Scope // the scope that an API key needs
	limited bool          // rate limited per client
	body    shape         // nil: the body is ignored
	handler func(*request) error
}

func (rt *route) name() string { return rt.method + " " + rt.path }

// onInbox reports whether the route concerns one inbox, which the credential must own.
func (rt *route) onInbox() bool { return strings.Contains(rt.path, "{addr}") }

const (
	get    = fasthttp.MethodGet
	post   = fasthttp.MethodPost
	patch  = fasthttp.MethodPatch
	put    = fasthttp.MethodPut
	remove = fasthttp.MethodDelete
)

// These are the scopes and the path prefixes of routes.
const (
	read   = account.ScopeRead
	write  = account.ScopeWrite
	manage = account.ScopeManage
	none   = account.Scope(0)

	agentInboxes = "/api/v1/inboxes" // the agent surface
	agentInbox   = agentInboxes + "/{addr}"
	perInbox     = "/api/inboxes/{addr}" // the per-inbox surface
)

// table lists all routes (specification, Surfaces).
func (s *Server) table(p Ports) []route {
	mails, boxes := &messages{port: p.Messages, texts: s.texts}, &inboxes{p.Inboxes, s.opts.BaseURL}
	return withCompat(slices.Concat(
		(&auth{p.Auth, s.admission.tries, s.opts.SignupOpen, s.noteFailedSignIn}).routes(),
		(&keys{p.Keys}).routes(),
		boxes.routes(),
		mails.routes(),
		(&fleets{boxes, mails, p.Auth}).routes(),
		(&latest{mails, s}).routes(),
		(&events{p.Events, s}).routes(),
		(&sending{p.Sending}).routes(),
		(&diary{p.Meetings, &s.ruleStops}).routes(),
		s.feeds.routes(),
		(&webhooks{p.Webhooks}).routes(),
		(&domains{p.Domains}).routes(),
		newPages(&s.opts).routes(),
		(&operator{&s.opts, s.wire.Stopping()}).routes(),
	))
}

func (s *Server) newRouter() *router.Router {
	r := router.New()
	r.RedirectTrailingSlash, r.RedirectFixedPath = false, false
	r.NotFound, r.MethodNotAllowed = s.notFound, s.methodNotAllowed
	r.GlobalOPTIONS = s.opts.Origins.Preflight
	for i := range s.routes {
		rt := &s.routes[i]
		serve := func(c *fasthttp.RequestCtx) { s.serve(rt, c) }
		r.Handle(rt.method, rt.path, serve)
		if rt.method == get { // fasthttp and the wire omit the body for HEAD
			r.HEAD(rt.path, serve)
		}
	}
	return r
}

// largeRouter contains the routes whose bodies may exceed maxBodyBytes: only the send routes.
func (s *Server) largeRouter() *router.Router {
	r := router.New()
	for i := range s.routes {
		if rt := &s.routes[i]; rt.method == post && strings.HasSuffix(rt.path, "{addr}/send") {
			r.Handle(rt.method, rt.path, s.leaveBody)
		}
	}
	return r
}

// request is one call on its way through admission to its handler. It is valid only until the
// handler returns, and nothing may retain it.
type request struct {
	server    *Server
	http      *fasthttp.RequestCtx
	route     *route
	ctx       context.Context // bounded by requestTimeout
	now       time.Time
	principal *account.Principal
	address   string      // canonical, without tag, if the route concerns one inbox
	tagged    string      // with the tag in the path; empty: the path has no tag
	view      *inbox.View // of that inbox
	body      values
	charge    *wire.Charge // memory of the response while it is rendered; nil: the response is small
	done      func()       // ends its turn; nil: it has no turn
}

// serve checks a request in the documented order (specification, Order of checks: credential,
// scope, ownership, shape of the body) and calls its handler.
func (s *Server) serve(rt *route, c *fasthttp.RequestCtx) {
	ctx, cancel := context.WithTimeout(s.base, requestTimeout)
	defer cancel()
	r := &request{server: s, http: c, route: rt, ctx: ctx, now: s.opts.Now()}
	s.answer(r, func(r *request) error {
		if err := s.admission.admit(r); err != nil {
			return err
		}
		return rt.handler(r)
	})
}

// answer writes the response by fn, or its error.
func (s *Server) answer(r *request, fn func(*request) error) {
	defer r.release()
	err := fn(r)
	if err == nil {
		err = r.settle()
	}
	if err != nil {
		s.fail(r, err)
	}
}

const headerOnce = "Idempotency-Key"

// once returns the request's idempotency key (specification, Repeats), or the zero Request without
// that header. Handlers that support the header call it together with the checks of the body's
// shape.
func (r *request) once() (idempotency.Request, error) {
	h := &r.http.Request.Header
	switch given := h.PeekAll(headerOnce); len(given) {
	case 0:
		return idempotency.Request{}, nil
	case 1:
		operation := r.route.operation()
		if which := parameter(r.http, "id"); which != "" {
			operation += " " + which
		}
		return idempotency.NewRequest(string(given[0]), operation, r.http.PostBody())
	}
	return idempotency.Request{}, fault.Field(headerOnce, "is given twice")
}

// operation returns the route's name without its surface, because a repeat may use another surface.
// The name does not contain the inbox: the record is stored with it.
func (rt *route) operation() string {
	path := strings.TrimPrefix(rt.path, compatPrefix)
	return rt.method + " " + strings.TrimPrefix(strings.TrimPrefix(path, "/api"), "/v1")
}
