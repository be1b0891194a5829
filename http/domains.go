package http

import (
	"context"

	"github.com/valyala/fasthttp"

	"inboxd/internal/core/account"
	"inboxd/internal/core/domain"
)

// DomainManager is what the handlers of custom domains need. Names may have any form. A name that does
// not belong to the account is NotFound, whether or not another account has it.
type DomainManager interface {
	ClaimDomain(ctx context.Context, id account.ID, name string) (domain.OwnerView, error)
	AccountDomains(ctx context.Context, id account.ID) ([]domain.OwnerView, error)
	ShowDomain(ctx context.Context, id account.ID, name string) (domain.OwnerView, error)
	// VerifyDomain looks up the records before it returns.
	VerifyDomain(ctx context.Context, id account.ID, name string) (domain.OwnerView, error)
	// ReleaseDomain returns Refused while inboxes exist under the domain.
	ReleaseDomain(ctx context.Context, id account.ID, name string) error
}

var domainShape = bodyShape{{name: "domain", valueKind: lineField, isRequired: true, maxLength: maxDomain}}

// domainHandlers has the handlers that claim and verify custom domains.
type domainHandlers struct{ domainManager DomainManager }

func (d *domainHandlers) listRoutes() []routeSpec {
	const (
		all = "/api/v1/domains"
		one = all + "/{domain}"
	)
	return []routeSpec{
		{methodPost, all, accountCredentials, scopeDomains, false, domainShape, d.claimDomain},
		{methodGet, all, accountCredentials, scopeDomains, false, nil, d.listDomains},
		{methodGet, one, accountCredentials, scopeDomains, false, nil, d.showDomain},
		{methodDelete, one, accountCredentials, scopeDomains, false, nil, d.releaseDomain},
		{methodPost, one + "/verify", accountCredentials, scopeDomains, false, emptyShape, d.verifyDomain},
		{methodGet, one + "/zone", accountCredentials, scopeDomains, false, nil, d.domainZone},
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

func describeDomain(v *domain.OwnerView) domainResponse {
	return domainResponse{v.Name, v.Status.String(), mapEach(v.Records, describeRecord), wireTimeOrNull(v.CheckedAt)}
}

func describeRecord(r *domain.DNSRecord) recordResponse {
	return recordResponse{r.Type, r.Name, r.Value, r.Purpose, r.IsFound}
}

func (r *apiRequest) answerDomain(status int, v domain.OwnerView, err error) error {
	return r.json(status, struct {
		Domain domainResponse `json:"domain"`
	}{describeDomain(&v)}, err)
}

func (d *domainHandlers) claimDomain(r *apiRequest) error {
	v, err := d.domainManager.ClaimDomain(r.ctx, r.principal.Account, *r.bodyValues.textOf("domain"))
	return r.answerDomain(fasthttp.StatusCreated, v, err)
}

func (d *domainHandlers) listDomains(r *apiRequest) error {
	views, err := d.domainManager.AccountDomains(r.ctx, r.principal.Account)
	return r.json(fasthttp.StatusOK, struct {
		Domains []domainResponse `json:"domains"`
	}{mapEach(views, describeDomain)}, err)
}

func (d *domainHandlers) showDomain(r *apiRequest) error {
	v, err := d.domainManager.ShowDomain(r.ctx, r.principal.Account, pathParameter(r.httpCtx, "domain"))
	return r.answerDomain(fasthttp.StatusOK, v, err)
}

func (d *domainHandlers) verifyDomain(r *apiRequest) error {
	v, err := d.domainManager.VerifyDomain(r.ctx, r.principal.Account, pathParameter(r.httpCtx, "domain"))
	return r.answerDomain(fasthttp.StatusOK, v, err)
}

func (d *domainHandlers) releaseDomain(r *apiRequest) error {
	return r.ok(d.domainManager.ReleaseDomain(r.ctx, r.principal.Account, pathParameter(r.httpCtx, "domain")))
}

// domainZone responds with the records as a zone file that can be imported unchanged.
func (d *domainHandlers) domainZone(r *apiRequest) error {
	v, err := d.domainManager.ShowDomain(r.ctx, r.principal.Account, pathParameter(r.httpCtx, "domain"))
	if err != nil {
		return err
	}
	r.httpCtx.SetContentType("text/plain; charset=utf-8")
	r.httpCtx.Response.Header.SetCanonical(headerCache, cacheNever)
	r.httpCtx.SetBodyString(domain.ZoneFile(v.Records))
	return nil
}
