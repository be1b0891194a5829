package http

import (
	"bytes"
	"context"
	"net/netip"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"inboxd/http/wire"
	"inboxd/internal/base/address"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
)

// Credentials maps tokens to principals.
type Credentials interface {
	// Authenticate resolves a session token or an API key. It returns Unauthenticated if the token
	// is unknown, revoked or expired. For a known token in memory it does not allocate. It does not
	// retain token.
	Authenticate(ctx context.Context, token []byte) (*account.Principal, error)
}

// Views returns the views of inboxes. Addresses are canonical and without tag.
type Views interface {
	// Resident returns the published view if the inbox exists and is in memory, else nil. It takes
	// no lock and does not allocate. It does not retain address.
	Resident(address []byte) *inbox.View
	// ViewFor returns the published view to the account that owns the inbox, and loads it if it is
	// not in memory. Any other account gets NoInbox. The work is the same whether the inbox exists,
	// was deleted or never existed, so that timing does not reveal it.
	ViewFor(ctx context.Context, id account.ID, address string) (*inbox.View, error)
}

// admission decides which requests reach a handler. It is immutable; tries has its own lock.
type admission struct {
	base        context.Context // parent of all requests
	credentials Credentials
	views       Views
	tries       *tries
	proxies     []netip.Prefix
	checkHost   func(*fasthttp.RequestCtx) error
}

// poll returns the principal and the view if the wire may respond to a poll from memory. In any
// other case it returns no view, and the route decides.
func (a *admission) poll(q wire.Poll, now time.Time) (*account.Principal, *inbox.View) {
	p, err := a.credentials.Authenticate(a.base, q.Token)
	if err != nil || !p.Valid(now) || !q.Takes(p) || !p.Scopes.Allows(account.ScopeRead) {
		return nil, nil
	}
	var room [address.MaxLength]byte
	view := a.views.Resident(q.Inbox(&room))
	if view == nil || !owns(p, view) {
		return nil, nil
	}
	return p, view
}

// admit checks a request before its handler runs (specification, Surfaces): first the credential,
// then scope, ownership and the shape of the body.
func (a *admission) admit(r *request) (err error) {
	left := r.http.UserValue(bodyLeft) != nil
	if r.route.who != nobody {
		err = a.authorise(r)
	} else if r.route.limited {
		err = a.admitStranger(r, left)
	}
	switch {
	case err != nil:
		return err
	case left:
		return errBodyTooLarge
	case r.route.body == nil:
		return nil
	}
	if err := checkCoding(&r.http.Request); err != nil {
		return err
	}
	r.body, err = decode(r.http.PostBody(), r.route.body)
	return err
}

// admitStranger checks an anonymous attempt, and counts it unless its body was not read.
func (a *admission) admitStranger(r *request, left bool) error {
	if err := a.checkHost(r.http); err != nil || left {
		return err
	}
	return a.tries.count("ip "+r.clientGroup(), r.now)
}

// authorise checks credential, kind, scope and ownership.
func (a *admission) authorise(r *request) error {
	err := a.authenticate(r)
	switch {
	case r.route.who == sessions && fault.Is(err, fault.Unauthenticated):
		return errNoSession
	case err != nil:
		return err
	}
	if err := r.route.checkKind(r.principal.Kind); err != nil {
		return err
	}
	if !r.principal.Scopes.Allows(r.route.scope) {
		return missingScope(r.route.scope)
	}
	if r.route.onInbox() {
		return r.own()
	}
	return nil
}

var (
	headerAPIKey        = []byte("X-Api-Key")
	headerAuthorization = []byte("Authorization")
	bearerScheme        = []byte("bearer ")
)

// credential returns the token of a request, which aliases the request's bytes; nil if there is
// none. clear is false if the request has two different tokens.
func credential(h *fasthttp.RequestHeader) (token []byte, clear bool) {
	key := h.PeekCanonical(headerAPIKey)
	bearer := h.PeekCanonical(headerAuthorization)
	if len(bearer) < len(bearerScheme) || !bytes.EqualFold(bearer[:len(bearerScheme)], bearerScheme) {
		return key, true // another scheme is not ours, perhaps a proxy's
	}
	bearer = bytes.TrimLeft(bearer[len(bearerScheme):], " ")
	if len(key) == 0 {
		return bearer, true
	}
	return key, bytes.Equal(key, bearer)
}

// authenticate finds the principal of a request (specification, Credentials).
func (a *admission) authenticate(r *request) (err error) {
	if r.principal, err = a.principal(r.ctx, &r.http.Request.Header, r.now); err == errTwoCredentials {
		r.http.SetConnectionClose()
	}
	return err
}

// principal returns the principal of the credential in a header.
func (a *admission) principal(ctx context.Context, h *fasthttp.RequestHeader, now time.Time) (*account.Principal, error) {
	token, clear := credential(h)
	switch {
	case !clear:
		return nil, errTwoCredentials
	case len(token) == 0:
		return nil, errNoCredential
	}
	p, err := a.credentials.Authenticate(ctx, token)
	if fault.Is(err, fault.Unauthenticated) || err == nil && !p.Valid(now) {
		return nil, errNoCredential
	}
	return p, err
}

// credentials is a set of kinds of credentials.
type credentials uint8

const (
	sessions credentials = 1 << iota
	accountKeys
	inboxKeys

	nobody   credentials = 0 // no credential is required
	anyone               = sessions | accountKeys | inboxKeys
	creators             = sessions | accountKeys
	insiders             = sessions | inboxKeys
)

var kindBits = map[account.Kind]credentials{
	account.KindSession: sessions, account.KindAccountKey: accountKeys, account.KindInboxKey: inboxKeys,
}

// checkKind refuses a kind of credential that the route does not accept (specification,
// Credentials).
func (rt *route) checkKind(kind account.Kind) error {
	switch {
	case rt.who&kindBits[kind] != 0:
		return nil
	case rt.who == sessions:
		return fault.New(fault.Forbidden, "This call requires a session token. An API key cannot make it")
	case kind == account.KindInboxKey:
		return fault.New(fault.Forbidden, "An inbox key cannot make this call. Use an account key or a session")
	}
	return fault.New(fault.Forbidden, "An account key cannot make this call. Use a session or this inbox's own key")
}

// owns reports whether the credential can access the inbox.
func owns(p *account.Principal, v *inbox.View) bool {
	return v.Account == p.Account && reaches(p, v.Address)
}

// reaches reports whether the credential is not bound to another inbox.
func reaches(p *account.Principal, address string) bool {
	return p.Kind != account.KindInboxKey || p.Inbox == address
}

// own finds the inbox in the path, and refuses the request unless the credential owns it. Every
// refusal has the same bytes, whatever its reason.
func (r *request) own() error {
	given := parameter(r.http, "addr")
	canonical, ok := address.Inbox(given)
	if !ok {
		return noInbox(strings.ToValidUTF8(given, "\ufffd"))
	}
	if r.address = address.WithoutTag(canonical); r.address != canonical {
		r.tagged = canonical
	}
	if !reaches(r.principal, r.address) {
		return noInbox(r.address)
	}
	return r.look()
}

// look stores the current view of the inbox in r.view, or returns NoInbox if it was deleted.
func (r *request) look() error {
	view, err := r.server.admission.views.ViewFor(r.ctx, r.principal.Account, r.address)
	switch {
	case fault.Is(err, fault.NoInbox):
		return noInbox(r.address)
	case err != nil:
		return err
	case view == nil || !owns(r.principal, view):
		return noInbox(r.address)
	}
	r.view = view
	return nil
}
