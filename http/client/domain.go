package client

import (
	"context"
	"net/url"
	"time"
)

// Domain is an own domain of the account. All calls about domains need a session.
type Domain struct {
	Name      string         `json:"domain"`
	Status    string         `json:"status"` // pending, verified, failing
	Records   []DomainRecord `json:"records"`
	CheckedAt *time.Time     `json:"checked_at"` // nil: never
}

// DomainRecord is a DNS record to publish.
type DomainRecord struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Value   string `json:"value"`
	Purpose string `json:"purpose"` // ownership, mx, spf, dkim, dmarc
	Found   bool   `json:"found"`   // by the latest check
}

type oneDomain struct{ Domain Domain }

func domainPath(name string) string { return "/api/domains/" + url.PathEscape(name) }

// ClaimDomain adds a domain and returns the DNS records that prove ownership.
func (c *Client) ClaimDomain(ctx context.Context, name string) (Domain, error) {
	in := struct {
		Domain string `json:"domain"`
	}{name}
	out, err := fetchJSON[oneDomain](ctx, c, apiCall{method: "POST", path: "/api/domains", in: in})
	return out.Domain, err
}

// Domains returns all domains of the account.
func (c *Client) Domains(ctx context.Context) ([]Domain, error) {
	out, err := fetchJSON[struct{ Domains []Domain }](ctx, c, apiCall{method: "GET", path: "/api/domains"})
	return out.Domains, err
}

// Domain returns one domain with the result of its latest check.
func (c *Client) Domain(ctx context.Context, name string) (Domain, error) {
	out, err := fetchJSON[oneDomain](ctx, c, apiCall{method: "GET", path: domainPath(name)})
	return out.Domain, err
}

// VerifyDomain checks the DNS records now.
func (c *Client) VerifyDomain(ctx context.Context, name string) (Domain, error) {
	out, err := fetchJSON[oneDomain](ctx, c, apiCall{method: "POST", path: domainPath(name) + "/verify"})
	return out.Domain, err
}

// DomainZone returns the records as a zone file that can be imported unchanged.
func (c *Client) DomainZone(ctx context.Context, name string) (string, error) {
	zone, err := downloadBytes(ctx, c, domainPath(name)+"/zone")
	return string(zone), err
}

// ReleaseDomain removes a domain. It fails with 400 while inboxes exist under it.
func (c *Client) ReleaseDomain(ctx context.Context, name string) error {
	return do(ctx, c, apiCall{method: "DELETE", path: domainPath(name)}, nil)
}
