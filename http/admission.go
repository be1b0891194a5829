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

// TokenAuthenticator maps tokens to principals.
type TokenAuthenticator interface {
	// Authenticate resolves a session token or an API key. It returns Unauthenticated if the token
	// is unknown, revoked or expired. For a known token in memory it does not allocate. It does not
	// retain token.
	Authenticate(ctx context.Context, token []byte) (*account.Principal, error)
}

// ViewReader returns the views of inboxes. Addresses are canonical and without tag.
type ViewReader interface {
	// ResidentView returns the published view if the inbox exists and is in memory, else nil. It takes
	// no lock and does not allocate. It does not retain address.
	ResidentView(address []byte) *inbox.View
	// ViewFor returns the published view to the account that owns the inbox, and loads it if it is
	// not in memory. Any other account gets NoInbox. The work is the same whether the inbox exists,
	// was deleted or never existed, so that timing does not reveal it.
	ViewFor(ctx context.Context, id account.ID, address string) (*inbox.View, error)
}

// admissionCheck decides which requests reach a handler. It is immutable; tries has its own lock.
type admissionCheck struct {
	baseContext    context.Context // parent of all requests
	credentials    TokenAuthenticator
	viewReader     ViewReader
	tryCounter     *tryCounter
	trustedProxies []netip.Prefix
	checkHost      func(*fasthttp.RequestCtx) error
}

// admitPoll returns the principal and the view if the wire may respond to a poll from memory. In any
// other case it returns no view, and the route decides.
func (a *admissionCheck) admitPoll(q wire.PollRequest, now time.Time) (*account.Principal, *inbox.View) {
	p, err := a.credentials.Authenticate(a.baseContext, q.BearerToken)
	if err != nil || !p.IsValid(now) || !q.TakesCredential(p) || !p.Scopes.Allows(account.ScopeRead) {
		return nil, nil
	}
	var room [address.MaxLength]byte
	view := a.viewReader.ResidentView(q.UntaggedAddress(&room))
	if view == nil || !ownsInbox(p, view) {
		return nil, nil
	}
	return p, view
}

// admitRequest checks a request before its handler runs (specification, Surfaces): first the
// credential, then scope, ownership and the shape of the body.
func (a *admissionCheck) admitRequest(r *apiRequest) (err error) {
	left := r.httpCtx.UserValue(bodyLeft) != nil
	if r.route.acceptedCredentials != noCredential {
		err = a.authorise(r)
	} else if r.route.isRateLimited {
		err = a.admitStranger(r, left)
	}
	switch {
	case err != nil:
		return err
	case left:
		return errBodyTooLarge
	case r.route.bodyShape == nil:
		return nil
	}
	if err := checkCoding(&r.httpCtx.Request); err != nil {
		return err
	}
	if r.hasRawMessage() {
		return nil
	}
	r.bodyValues, err = decodeBody(r.httpCtx.PostBody(), r.route.bodyShape)
	return err
}

// admitStranger checks an anonymous attempt, and counts it unless its body was not read.
func (a *admissionCheck) admitStranger(r *apiRequest, left bool) error {
	if err := a.checkHost(r.httpCtx); err != nil || left {
		return err
	}
	return a.tryCounter.countTry("ip "+r.clientGroup(), r.requestTime)
}

// authorise checks credential, kind, scope and ownership.
func (a *admissionCheck) authorise(r *apiRequest) error {
	err := a.authenticate(r)
	switch {
	case r.route.acceptedCredentials == sessionTokens && fault.Is(err, fault.Unauthenticated):
		return errNoSession
	case err != nil:
		return err
	}
	if err := r.route.checkKind(r.principal.Kind); err != nil {
		return err
	}
	if !r.principal.Scopes.Allows(r.route.requiredScope) {
		return missingScope(r.route.requiredScope)
	}
	if r.route.onInbox() {
		return r.findOwnInbox()
	}
	return nil
}

var (
	headerAPIKey        = []byte("X-Api-Key")
	headerAuthorization = []byte("Authorization")
	bearerScheme        = []byte("bearer ")
)

// bearerToken returns the token of a request, which aliases the request's bytes; nil if there is
// none. clear is false if the request has two different tokens.
func bearerToken(h *fasthttp.RequestHeader) (token []byte, clear bool) {
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
func (a *admissionCheck) authenticate(r *apiRequest) (err error) {
	if r.principal, err = a.findPrincipal(r.ctx, &r.httpCtx.Request.Header, r.requestTime); err == errTwoCredentials {
		r.httpCtx.SetConnectionClose()
	}
	return err
}

// findPrincipal returns the principal of the credential in a header.
func (a *admissionCheck) findPrincipal(ctx context.Context, h *fasthttp.RequestHeader, now time.Time) (*account.Principal, error) {
	token, clear := bearerToken(h)
	switch {
	case !clear:
		return nil, errTwoCredentials
	case len(token) == 0:
		return nil, errNoCredential
	}
	p, err := a.credentials.Authenticate(ctx, token)
	if fault.Is(err, fault.Unauthenticated) || err == nil && !p.IsValid(now) {
		return nil, errNoCredential
	}
	return p, err
}

// credentialSet is a set of kinds of credentials.
type credentialSet uint8

const (
	sessionTokens credentialSet = 1 << iota
	accountKeys
	inboxKeys

	noCredential       credentialSet = 0 // no credential is required
	anyCredential                    = sessionTokens | accountKeys | inboxKeys
	accountCredentials               = sessionTokens | accountKeys
	inboxCredentials                 = sessionTokens | inboxKeys
)

var kindBits = map[account.TokenKind]credentialSet{
	account.KindSession: sessionTokens, account.KindAccountKey: accountKeys, account.KindInboxKey: inboxKeys,
}

// checkKind refuses a kind of credential that the route does not accept (specification,
// Credentials).
func (rt *routeSpec) checkKind(kind account.TokenKind) error {
	switch {
	case rt.acceptedCredentials&kindBits[kind] != 0:
		return nil
	case rt.acceptedCredentials == sessionTokens:
		return &fault.Error{Kind: fault.Forbidden, Code: fault.CodeCredentialNotAccepted, Detail: "This call requires a session token. An API key cannot make it"}
	case kind == account.KindInboxKey:
		return &fault.Error{Kind: fault.Forbidden, Code: fault.CodeCredentialNotAccepted, Detail: "An inbox key cannot make this call. Use an account key or a session"}
	}
	return &fault.Error{Kind: fault.Forbidden, Code: fault.CodeCredentialNotAccepted, Detail: "An account key cannot make this call. Use a session or this inbox's own key"}
}

// ownsInbox reports whether the credential can access the inbox.
func ownsInbox(p *account.Principal, v *inbox.View) bool {
	return v.Account == p.Account && reachesAddress(p, v.Address)
}

// reachesAddress reports whether the credential is not bound to another inbox.
func reachesAddress(p *account.Principal, address string) bool {
	return p.Kind != account.KindInboxKey || p.Inbox == address
}

// findOwnInbox finds the inbox in the path, and refuses the request unless the credential owns it.
// Every refusal has the same bytes, whatever its reason.
func (r *apiRequest) findOwnInbox() error {
	given := pathParameter(r.httpCtx, "addr")
	canonical, ok := address.CanonicalInbox(given)
	if !ok {
		return noInbox(strings.ToValidUTF8(given, "\ufffd"))
	}
	if r.inboxAddress = address.WithoutTag(canonical); r.inboxAddress != canonical {
		r.taggedAddress = canonical
	}
	if !reachesAddress(r.principal, r.inboxAddress) {
		return noInbox(r.inboxAddress)
	}
	return r.refreshView()
}

// refreshView stores the current view of the inbox in r.view, or returns NoInbox if it was deleted.
func (r *apiRequest) refreshView() error {
	view, err := r.server.admission.viewReader.ViewFor(r.ctx, r.principal.Account, r.inboxAddress)
	switch {
	case fault.Is(err, fault.NoInbox):
		return noInbox(r.inboxAddress)
	case err != nil:
		return err
	case view == nil || !ownsInbox(r.principal, view):
		return noInbox(r.inboxAddress)
	}
	r.inboxView = view
	return nil
}
