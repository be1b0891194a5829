package http

import (
	"bytes"

	"github.com/valyala/fasthttp"

	"inboxd/internal/account"
	"inboxd/internal/fault"
	"inboxd/internal/inbox"
)

var (
	headerAPIKey        = []byte("X-Api-Key")
	headerAuthorization = []byte("Authorization")
	bearerScheme        = []byte("bearer ")
)

// credential returns the token of a request, in the request's own bytes; nil when there is
// none. False means that two different ones are given.
func credential(h *fasthttp.RequestHeader) (token []byte, clear bool) {
	key := h.PeekCanonical(headerAPIKey)
	bearer := h.PeekCanonical(headerAuthorization)
	if len(bearer) < len(bearerScheme) || !bytes.EqualFold(bearer[:len(bearerScheme)], bearerScheme) {
		return key, true // another scheme is not for us: a proxy's own, perhaps
	}
	bearer = bytes.TrimLeft(bearer[len(bearerScheme):], " ")
	if len(key) == 0 {
		return bearer, true
	}
	return key, bytes.Equal(key, bearer)
}

// authenticate finds the principal of a request (specification, Credentials).
func (s *Server) authenticate(r *request) error {
	token, clear := credential(&r.http.Request.Header)
	if !clear {
		r.http.SetConnectionClose()
		return fault.New(fault.Refused, "The request is ambiguous: two credentials are given")
	}
	if len(token) == 0 {
		return errNoCredential
	}
	p, err := s.accounts.Authenticate(r.ctx, token)
	if fault.Is(err, fault.Unauthenticated) || err == nil && !p.Valid(r.now) {
		return errNoCredential
	}
	r.principal = p
	return err
}

// credentials is a set of kinds of credential.
type credentials uint8

const (
	sessions credentials = 1 << iota
	accountKeys
	inboxKeys

	nobody   credentials = 0 // no credential is asked for
	anyone               = sessions | accountKeys | inboxKeys
	creators             = sessions | accountKeys
	insiders             = sessions | inboxKeys
)

var kindBits = map[account.Kind]credentials{
	account.KindSession: sessions, account.KindAccountKey: accountKeys, account.KindInboxKey: inboxKeys,
}

// checkKind refuses a credential of a kind that the route does not take (specification,
// Credentials).
func (rt *route) checkKind(kind account.Kind) error {
	switch {
	case rt.who&kindBits[kind] != 0:
		return nil
	case rt.who == sessions:
		return fault.New(fault.Forbidden, "A session is needed here: an API key can't make this call")
	case kind == account.KindInboxKey:
		return fault.New(fault.Forbidden, "An inbox key can't make this call. Use an account key or a session")
	}
	return fault.New(fault.Forbidden, "An account key can't make this call. Use a session or this inbox's own key")
}

// owns reports whether the credential reaches the inbox.
func owns(p *account.Principal, v *inbox.View) bool {
	return v.Account == p.Account && reaches(p, v.Address)
}

// reaches reports whether the credential is not bound to another inbox.
func reaches(p *account.Principal, address string) bool {
	return p.Kind != account.KindInboxKey || p.Inbox == address
}
