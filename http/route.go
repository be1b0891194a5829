package http

import (
	"context"
	"strings"
	"time"

	"github.com/fasthttp/router"
	"github.com/valyala/fasthttp"

	"inboxd/internal/account"
	"inboxd/internal/inbox"
)

// route is one call of the interface: what it asks for is all here.
type route struct {
	method  string
	path    string        // {addr}, {id} and {aid} are parameters
	who     credentials   // the kinds of credential it takes
	scope   account.Scope // what an API key must be allowed
	limited bool          // anonymous tries are counted per client
	body    shape         // nil: a body is not looked at
	handler func(*Server, *request) error
}

func (rt *route) name() string { return rt.method + " " + rt.path }

// onInbox reports whether the route is about one inbox, which the credential must own.
func (rt *route) onInbox() bool { return strings.Contains(rt.path, "{addr}") }

const (
	get    = fasthttp.MethodGet
	post   = fasthttp.MethodPost
	patch  = fasthttp.MethodPatch
	remove = fasthttp.MethodDelete
)

// table lists every route (specification, Surfaces).
func (s *Server) table() []route {
	const (
		read   = account.ScopeRead
		write  = account.ScopeWrite
		manage = account.ScopeManage
		none   = account.Scope(0)

		agent    = "/api/v1/inboxes"
		one      = agent + "/{addr}"
		messages = one + "/messages"
		message  = messages + "/{id}"

		inside = "/api/inboxes/{addr}"
		emails = inside + "/emails"
		email  = emails + "/{id}"
	)
	routes := []route{
		{post, "/api/auth/signup", nobody, none, true, signInShape, (*Server).signUp},
		{post, "/api/auth/login", nobody, none, true, signInShape, (*Server).logIn},
		{post, "/api/auth/password-reset", nobody, none, true, resetShape, (*Server).requestReset},
		{post, "/api/auth/password-reset/confirm", nobody, none, true, confirmShape, (*Server).confirmReset},
		{get, "/reset", nobody, none, false, nil, (*Server).showResetPage},
		{post, "/api/auth/logout", sessions, none, false, emptyShape, (*Server).logOut},
		{get, "/api/account", sessions, none, false, nil, (*Server).account},
		{post, "/api/keys", sessions, none, false, keyShape, (*Server).issueKey},
		{get, "/api/keys", sessions, none, false, nil, (*Server).listKeys},
		{remove, "/api/keys/{id}", sessions, none, false, nil, (*Server).revokeKey},
		{post, "/api/inboxes", sessions, none, false, sessionOrderShape, (*Server).createInbox},
		{get, "/api/inboxes", sessions, none, false, nil, (*Server).listInboxes},

		{post, agent, creators, manage, false, orderShape, (*Server).createInbox},
		{get, agent, anyone, read, false, nil, (*Server).listInboxes},
		{get, one, anyone, read, false, nil, (*Server).showInbox},
		{patch, one, anyone, manage, false, updateShape, (*Server).updateInbox},
		{remove, one, anyone, manage, false, nil, (*Server).deleteInbox},
		{post, one + "/burn", anyone, manage, false, emptyShape, (*Server).burn},
		{get, one + "/latest", anyone, read, false, nil, (*Server).latest},
		{get, messages, anyone, read, false, nil, (*Server).listMessages},
		{get, message, anyone, read, false, nil, (*Server).showMessage},
		{remove, message, anyone, write, false, nil, (*Server).deleteMessage},
		{get, message + "/raw", anyone, read, false, nil, (*Server).rawMessage},
		{post, message + "/read", anyone, read, false, readShape, (*Server).markRead},
		{get, message + "/attachments/{aid}", anyone, read, false, nil, (*Server).attachment},

		{post, inside + "/key", sessions, none, false, inboxKeyShape, (*Server).issueInboxKey},
		{remove, inside + "/key", sessions, none, false, nil, (*Server).revokeInboxKey},
		{get, inside + "/latest", insiders, read, false, nil, (*Server).latest},
		{get, emails, insiders, read, false, nil, (*Server).listMessages},
		{get, email, insiders, read, false, nil, (*Server).showMessage},
		{remove, email, insiders, write, false, nil, (*Server).deleteMessage},
		{get, email + "/raw", insiders, read, false, nil, (*Server).rawMessage},
		{post, email + "/read", insiders, read, false, readShape, (*Server).markRead},
		{get, email + "/attachments/{aid}", insiders, read, false, nil, (*Server).attachment},

		{get, "/api/v1/events", anyone, read, false, nil, (*Server).events},
		{get, one + "/events", anyone, read, false, nil, (*Server).events},
		{get, inside + "/events", insiders, read, false, nil, (*Server).events},
		{post, one + "/send", anyone, account.ScopeSend, false, sendShape, (*Server).send},
		{post, inside + "/send", insiders, account.ScopeSend, false, sendShape, (*Server).send},
		{get, "/api/suppressions", sessions, none, false, nil, (*Server).listSuppressions},
		{remove, "/api/suppressions/{email}", sessions, none, false, nil, (*Server).dropSuppression},

		{get, "/healthz", nobody, none, false, nil, (*Server).healthy},
		{get, "/readyz", nobody, none, false, nil, (*Server).ready},

		{get, "/openapi.json", nobody, none, false, nil, (*Server).showOpenAPI},
		{get, "/docs", nobody, none, false, nil, (*Server).showDocs},
	}
	routes = append(routes, domainRoutes()...)
	routes = append(routes, webhookRoutes()...)
	if s.opts.MetricsHandler != nil {
		routes = append(routes, route{get, "/metrics", nobody, none, false, nil, (*Server).metrics})
	}
	if s.opts.ChallengeHandler != nil {
		routes = append(routes, route{get, "/.well-known/acme-challenge/{token}", nobody, none, false, nil, (*Server).challenge})
	}
	return routes
}

func (s *Server) newRouter() *router.Router {
	r := router.New()
	r.RedirectTrailingSlash, r.RedirectFixedPath = false, false
	r.NotFound, r.MethodNotAllowed = s.notFound, s.methodNotAllowed
	r.GlobalOPTIONS = func(c *fasthttp.RequestCtx) { c.SetStatusCode(fasthttp.StatusNoContent) }
	for i := range s.routes {
		rt := &s.routes[i]
		serve := func(c *fasthttp.RequestCtx) { s.serve(rt, c) }
		r.Handle(rt.method, rt.path, serve)
		if rt.method == get && rt.who == nobody { // what monitors ask with; fasthttp leaves the body out
			r.HEAD(rt.path, serve)
		}
	}
	return r
}

// request is one call on its way through admission to its handler. It ends with the
// handler: nothing may keep it.
type request struct {
	http      *fasthttp.RequestCtx
	route     *route
	ctx       context.Context // bounded by requestTimeout
	now       time.Time
	principal *account.Principal
	address   string      // canonical, without tag, when the route is about one inbox
	view      *inbox.View // of that inbox
	body      values
}

// serve admits a request in the order of checks that is promised (specification, Order of
// checks: credential, scope, ownership, shape of the body) and hands it to its handler.
func (s *Server) serve(rt *route, c *fasthttp.RequestCtx) {
	ctx, cancel := context.WithTimeout(s.base, requestTimeout)
	defer cancel()
	r := &request{http: c, route: rt, ctx: ctx, now: s.opts.Now()}
	err := s.admit(r)
	if err == nil {
		err = rt.handler(s, r)
	}
	if err != nil {
		s.fail(r, err)
	}
}

func (s *Server) admit(r *request) (err error) {
	if r.route.limited {
		err = s.tries.count("ip "+clientGroup(s.clientAddr(r.http)), r.now)
	} else if r.route.who != nobody {
		err = s.authorise(r)
	}
	if err != nil || r.route.body == nil {
		return err
	}
	r.body, err = decode(r.http.PostBody(), r.route.body)
	return err
}

// authorise checks credential, kind, scope and ownership.
func (s *Server) authorise(r *request) error {
	if err := s.authenticate(r); err != nil {
		return err
	}
	if err := r.route.checkKind(r.principal.Kind); err != nil {
		return err
	}
	if !r.principal.Scopes.Allows(r.route.scope) {
		return missingScope(r.route.scope)
	}
	if r.route.onInbox() {
		return s.own(r)
	}
	return nil
}
