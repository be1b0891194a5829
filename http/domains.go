package http

import (
	"context"

	"github.com/valyala/fasthttp"

	"inboxd/internal/account"
	"inboxd/internal/domain"
)

// Domains is what the HTTP surface needs of own domains. Names are taken in any form;
// NotFound for a name that is not the account's, whether or not somebody else has it.
type Domains interface {
	ClaimDomain(ctx context.Context, id account.ID, name string) (domain.View, error)
	Domains(ctx context.Context, id account.ID) ([]domain.View, error)
	Domain(ctx context.Context, id account.ID, name string) (domain.View, error)
	// VerifyDomain looks the records up before it answers.
	VerifyDomain(ctx context.Context, id account.ID, name string) (domain.View, error)
	// ReleaseDomain is Refused while inboxes live under the domain.
	ReleaseDomain(ctx context.Context, id account.ID, name string) error
}

var domainShape = shape{{name: "domain", kind: line, required: true, max: maxDomain}}

// domainRoutes are the calls about own domains (specification, Own domains).
func domainRoutes() []route {
	const (
		none = account.Scope(0)
		all  = "/api/domains"
		one  = all + "/{domain}"
	)
	return []route{
		{post, all, sessions, none, false, domainShape, (*Server).claimDomain},
		{get, all, sessions, none, false, nil, (*Server).listDomains},
		{get, one, sessions, none, false, nil, (*Server).showDomain},
		{remove, one, sessions, none, false, nil, (*Server).releaseDomain},
		{post, one + "/verify", sessions, none, false, emptyShape, (*Server).verifyDomain},
		{get, one + "/zone", sessions, none, false, nil, (*Server).domainZone},
	}
}

type domainAnswer struct {
	Domain    string         `json:"domain"`
	Status    string         `json:"status"`
	Records   []recordAnswer `json:"records"`
	CheckedAt *string        `json:"checked_at"` // null before the first check
}

type recordAnswer struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Value   string `json:"value"`
	Purpose string `json:"purpose"`
	Found   bool   `json:"found"`
}

func describeDomain(v domain.View) domainAnswer {
	a := domainAnswer{Domain: v.Name, Status: v.Status.String(), Records: make([]recordAnswer, len(v.Records)), CheckedAt: wireTimeOrNull(v.CheckedAt)}
	for i, r := range v.Records {
		a.Records[i] = recordAnswer{r.Type, r.Name, r.Value, r.Purpose, r.Found}
	}
	return a
}

func (r *request) domain(status int, v domain.View, err error) error {
	if err != nil {
		return err
	}
	return r.json(status, struct {
		Domain domainAnswer `json:"domain"`
	}{describeDomain(v)})
}

func (s *Server) claimDomain(r *request) error {
	v, err := s.accounts.ClaimDomain(r.ctx, r.principal.Account, *r.body.text("domain"))
	return r.domain(fasthttp.StatusCreated, v, err)
}

func (s *Server) listDomains(r *request) error {
	views, err := s.accounts.Domains(r.ctx, r.principal.Account)
	if err != nil {
		return err
	}
	out := make([]domainAnswer, len(views))
	for i, v := range views {
		out[i] = describeDomain(v)
	}
	return r.json(fasthttp.StatusOK, struct {
		Domains []domainAnswer `json:"domains"`
	}{out})
}

func (s *Server) showDomain(r *request) error {
	v, err := s.accounts.Domain(r.ctx, r.principal.Account, parameter(r.http, "domain"))
	return r.domain(fasthttp.StatusOK, v, err)
}

func (s *Server) verifyDomain(r *request) error {
	v, err := s.accounts.VerifyDomain(r.ctx, r.principal.Account, parameter(r.http, "domain"))
	return r.domain(fasthttp.StatusOK, v, err)
}

func (s *Server) releaseDomain(r *request) error {
	if err := s.accounts.ReleaseDomain(r.ctx, r.principal.Account, parameter(r.http, "domain")); err != nil {
		return err
	}
	return r.ok()
}

// domainZone answers with the records as a zone file, to be imported as it is.
func (s *Server) domainZone(r *request) error {
	v, err := s.accounts.Domain(r.ctx, r.principal.Account, parameter(r.http, "domain"))
	if err != nil {
		return err
	}
	r.http.SetContentType("text/plain; charset=utf-8")
	r.http.Response.Header.SetCanonical(headerCache, cacheNever)
	r.http.SetBodyString(domain.Zone(v.Records))
	return nil
}
