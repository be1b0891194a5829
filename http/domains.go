package http

import (
	"context"

	"github.com/valyala/fasthttp"

	"inboxd/internal/core/account"
	"inboxd/internal/core/domain"
)

// Domains is what the handlers of custom domains need. Names may have any form. A name that does
// not belong to the account is NotFound, whether or not another account has it.
type Domains interface {
	ClaimDomain(ctx context.Context, id account.ID, name string) (domain.View, error)
	Domains(ctx context.Context, id account.ID) ([]domain.View, error)
	Domain(ctx context.Context, id account.ID, name string) (domain.View, error)
	// VerifyDomain looks up the records before it returns.
	VerifyDomain(ctx context.Context, id account.ID, name string) (domain.View, error)
	// ReleaseDomain returns Refused while inboxes exist under the domain.
	ReleaseDomain(ctx context.Context, id account.ID, name string) error
}

var domainShape = shape{{name: "domain", kind: line, required: true, max: maxDomain}}

// domains has the handlers that claim and verify custom domains.
type domains struct{ port Domains }

func (d *domains) routes() []route {
	const (
		all = "/api/domains"
		one = all + "/{domain}"
	)
	return []route{
		{post, all, sessions, none, false, domainShape, d.claimDomain},
		{get, all, sessions, none, false, nil, d.listDomains},
		{get, one, sessions, none, false, nil, d.showDomain},
		{remove, one, sessions, none, false, nil, d.releaseDomain},
		{post, one + "/verify", sessions, none, false, emptyShape, d.verifyDomain},
		{get, one + "/zone", sessions, none, false, nil, d.domainZone},
	}
}

type domainResponse struct {
	Domain    string           `json:"domain"`
	Status    string           `json:"status"`
	Records   []recordResponse `json:"records"`
	CheckedAt *string          `json:"checked_at"` // null before the first check
}

type recordResponse struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Value   string `json:"value"`
	Purpose string `json:"purpose"`
	Found   bool   `json:"found"`
}

func describeDomain(v *domain.View) domainResponse {
	return domainResponse{v.Name, v.Status.String(), each(v.Records, describeRecord), wireTimeOrNull(v.CheckedAt)}
}

func describeRecord(r *domain.Record) recordResponse {
	return recordResponse{r.Type, r.Name, r.Value, r.Purpose, r.Found}
}

func (r *request) domain(status int, v domain.View, err error) error {
	return r.json(status, struct {
		Domain domainResponse `json:"domain"`
	}{describeDomain(&v)}, err)
}

func (d *domains) claimDomain(r *request) error {
	v, err := d.port.ClaimDomain(r.ctx, r.principal.Account, *r.body.text("domain"))
	return r.domain(fasthttp.StatusCreated, v, err)
}

func (d *domains) listDomains(r *request) error {
	views, err := d.port.Domains(r.ctx, r.principal.Account)
	return r.json(fasthttp.StatusOK, struct {
		Domains []domainResponse `json:"domains"`
	}{each(views, describeDomain)}, err)
}

func (d *domains) showDomain(r *request) error {
	v, err := d.port.Domain(r.ctx, r.principal.Account, parameter(r.http, "domain"))
	return r.domain(fasthttp.StatusOK, v, err)
}

func (d *domains) verifyDomain(r *request) error {
	v, err := d.port.VerifyDomain(r.ctx, r.principal.Account, parameter(r.http, "domain"))
	return r.domain(fasthttp.StatusOK, v, err)
}

func (d *domains) releaseDomain(r *request) error {
	return r.ok(d.port.ReleaseDomain(r.ctx, r.principal.Account, parameter(r.http, "domain")))
}

// domainZone responds with the records as a zone file that can be imported unchanged.
func (d *domains) domainZone(r *request) error {
	v, err := d.port.Domain(r.ctx, r.principal.Account, parameter(r.http, "domain"))
	if err != nil {
		return err
	}
	r.http.SetContentType("text/plain; charset=utf-8")
	r.http.Response.Header.SetCanonical(headerCache, cacheNever)
	r.http.SetBodyString(domain.Zone(v.Records))
	return nil
}
