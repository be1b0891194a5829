package client

import (
	"context"
	"net/url"
	"time"
)

// Domain is an own domain of the account.
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

func domainPath(name string) string { return "/api/v1/domains/" + url.PathEscape(name) }

// Domains groups the calls about the account's own domains. They need an account key with
// domains:manage, or a session.
type Domains struct{ apiClient *Client }

// Domains returns the calls about domains. It makes no request.
func (c *Client) Domains() Domains { return Domains{c} }

// Claim adds a domain and returns the DNS records that prove ownership.
func (d Domains) Claim(ctx context.Context, name string) (Domain, error) {
	in := struct {
		Domain string `json:"domain"`
	}{name}
	out, err := fetchJSON[oneDomain](ctx, d.apiClient, apiCall{method: "POST", path: "/api/v1/domains", in: in})
	return out.Domain, err
}

// List returns all domains.
func (d Domains) List(ctx context.Context) ([]Domain, error) {
	out, err := fetchJSON[struct{ Domains []Domain }](ctx, d.apiClient, apiCall{method: "GET", path: "/api/v1/domains"})
	return out.Domains, err
}

// Get returns one domain with the result of its latest check.
func (d Domains) Get(ctx context.Context, name string) (Domain, error) {
	out, err := fetchJSON[oneDomain](ctx, d.apiClient, apiCall{method: "GET", path: domainPath(name)})
	return out.Domain, err
}

// Verify checks the DNS records now.
func (d Domains) Verify(ctx context.Context, name string) (Domain, error) {
	out, err := fetchJSON[oneDomain](ctx, d.apiClient, apiCall{method: "POST", path: domainPath(name) + "/verify", isRepeatable: true})
	return out.Domain, err
}

// Zone returns the records as a zone file that can be imported unchanged.
func (d Domains) Zone(ctx context.Context, name string) (string, error) {
	zone, err := downloadBytes(ctx, d.apiClient, domainPath(name)+"/zone")
	return string(zone), err
}

// Release removes a domain. It fails with 400 while inboxes exist under it.
func (d Domains) Release(ctx context.Context, name string) error {
	return do(ctx, d.apiClient, apiCall{method: "DELETE", path: domainPath(name)}, nil)
}
