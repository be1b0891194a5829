package http

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"inboxd/internal/core/account"
	"inboxd/internal/core/domain"
	"inboxd/internal/core/inbox"
)

// The fake keeps domains by the real rules of internal/core/domain.

func (f *fakeAccounts) namespaces(id account.ID, given *string) inbox.Namespaces {
	ns := inbox.Namespaces{ServiceDomain: "inbox.test", PlainAddresses: true}
	if given != nil {
		if s := f.domains[*given]; s != nil && s.Account == id && s.Status == domain.StatusVerified {
			ns.OwnDomain = s.Name
		}
	}
	return ns
}

func (f *fakeAccounts) orderDomain(id account.ID, name string, cmd func(*domain.State) domain.Command) (domain.OwnerView, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.domains[name]
	if s == nil || s.Account != id {
		return domain.OwnerView{}, domain.NotFound(name)
	}
	evs, err := domain.Decide(s, cmd(s), domain.Env{Now: f.now()})
	if err != nil {
		return domain.OwnerView{}, err
	}
	new(domain.Rows).Apply(s, evs)
	return s.OwnerView("inbox.test"), nil
}

func (f *fakeAccounts) ClaimDomain(_ context.Context, id account.ID, given string) (domain.OwnerView, error) {
	name, err := domain.Claimable(given, "inbox.test")
	if err != nil {
		return domain.OwnerView{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.domains[name]
	if s == nil {
		s = &domain.State{Name: name}
		f.domains[name] = s
	}
	public, err := x509.MarshalPKIXPublicKey(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)).Public())
	if err != nil {
		return domain.OwnerView{}, err
	}
	claim := domain.Claim{Account: id, Token: "token", Keys: []domain.DKIMKey{
		{Selector: "r20261121", Algorithm: domain.RSA, Public: public}, {Selector: "e20261121", Algorithm: domain.Ed25519, Public: public}}}
	evs, err := domain.Decide(s, claim, domain.Env{Now: f.now()})
	if err != nil {
		return domain.OwnerView{}, err
	}
	new(domain.Rows).Apply(s, evs)
	return s.OwnerView("inbox.test"), nil
}

func (f *fakeAccounts) AccountDomains(_ context.Context, id account.ID) (views []domain.OwnerView, err error) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	for _, s := range f.domains {
		if s.Account == id {
			views = append(views, s.OwnerView("inbox.test"))
		}
	}
	slices.SortFunc(views, func(a, b domain.OwnerView) int { return strings.Compare(a.Name, b.Name) })
	return views, nil
}

func (f *fakeAccounts) ShowDomain(_ context.Context, id account.ID, name string) (domain.OwnerView, error) {
	return f.orderDomain(id, name, func(*domain.State) domain.Command { return domain.DetachInbox{} })
}

func (f *fakeAccounts) VerifyDomain(_ context.Context, id account.ID, name string) (domain.OwnerView, error) {
	return f.orderDomain(id, name, func(s *domain.State) domain.Command {
		return domain.ReportCheck{Token: s.OwnershipToken, AnsweredRecords: 0xffff, FoundRecords: f.published, OwnerAsked: true}
	})
}

func (f *fakeAccounts) ReleaseDomain(_ context.Context, id account.ID, name string) error {
	_, err := f.orderDomain(id, name, func(*domain.State) domain.Command { return domain.Release{Account: id} })
	return err
}

// TestDomains pins the bytes of custom domains (specification, Own domains) and the order of their
// checks.
func TestDomains(t *testing.T) {
	eachSurface(t, account.ScopeDomains, func(t *testing.T, w *world, prefix string, credential func(string) string) {
		own, other := credential(alice), credential(bob)
		const records = `"records":[` +
			`{"type":"TXT","name":"_inboxd.example.org","value":"inboxd-verification=token","purpose":"ownership","found":false},` +
			`{"type":"MX","name":"example.org","value":"10 inbox.test","purpose":"mx","found":false},` +
			`{"type":"TXT","name":"example.org","value":"v=spf1 mx ~all","purpose":"spf","found":false},` +
			`{"type":"TXT","name":"r20261121._domainkey.example.org","value":"v=DKIM1; k=ed25519; p=O2onvM62pC1io6jQKm8Nc2UyFXcd4kOmOsBIoYtZ2ik=","purpose":"dkim","found":false},` +
			`{"type":"TXT","name":"e20261121._domainkey.example.org","value":"v=DKIM1; k=ed25519; p=O2onvM62pC1io6jQKm8Nc2UyFXcd4kOmOsBIoYtZ2ik=","purpose":"dkim","found":false},` +
			`{"type":"TXT","name":"_dmarc.example.org","value":"v=DMARC1; p=none","purpose":"dmarc","found":false}]`
		const pending = `{"domain":"example.org","status":"pending",` + records + `,"checked_at":null}`
		published := strings.ReplaceAll(records, "false", "true")
		w.accounts.published = 0xffff
		for _, c := range []struct {
			method, path, token, body string
			status                    int
			want                      string
		}{
			{methodGet, "", own, "", 200, `{"domains":[]}`},
			{methodPost, "", own, `{}`, 422, `{"detail":"Invalid request: 'domain' is required","code":"validation","field":"domain"}`},
			{methodPost, "", own, `{"domain": 7}`, 422, `{"detail":"Invalid request: 'domain' must be a string","code":"validation","field":"domain"}`},
			{methodPost, "", own, `{"domain": "127.0.0.1"}`, 422, `{"detail":"Invalid request: 'domain' must be a domain name such as example.com, at most 189 characters in its ASCII form","code":"validation","field":"domain"}`},
			{methodPost, "", own, `{"domain": "x.inbox.test"}`, 400, `{"detail":"The domain x.inbox.test belongs to this service","code":"address_taken","field":"domain"}`},
			{methodPost, "", own, `{"domain": "co.uk"}`, 400, `{"detail":"co.uk is a public suffix, so it cannot belong to one account. Claim a domain under it","code":"address_taken","field":"domain"}`},
			{methodPost, "", own, `{"domain": "Example.org"}`, 201, `{"domain":` + pending + `}`},
			{methodPost, "", own, `{"domain": "example.org"}`, 400, `{"detail":"The domain example.org already belongs to this account","code":"already_exists","field":"domain"}`},
			{methodPost, "", other, `{"domain": "example.org"}`, 400, `{"detail":"The domain example.org is claimed by another account. If it is yours, publish the TXT record _inboxd.example.org with the value inboxd-verification=token and claim it again","code":"address_taken","field":"domain"}`},
			{methodGet, "", own, "", 200, `{"domains":[` + pending + `]}`},
			{methodGet, "", other, "", 200, `{"domains":[]}`},
			{methodGet, "/example.org", own, "", 200, `{"domain":` + pending + `}`},
			{methodGet, "/example.org", other, "", 404, `{"detail":"The domain example.org is not one of this account's domains","code":"not_found"}`},
			{methodPost, "/example.org/verify", other, "", 404, `{"detail":"The domain example.org is not one of this account's domains","code":"not_found"}`},
			{methodPost, "/example.org/verify", own, `{"x": 1}`, 422, `{"detail":"Invalid request: 'x' is not a field of this request, which has no fields","code":"validation","field":"x"}`},
			{methodPost, "/example.org/verify", own, "", 200, `{"domain":{"domain":"example.org","status":"verified",` + published + `,"checked_at":"2026-11-21T12:00:00.000Z"}}`},
			{methodPost, "", other, `{"domain": "example.org"}`, 400, `{"detail":"The domain example.org belongs to another account","code":"address_taken","field":"domain"}`},
			{methodDelete, "/example.org", other, "", 404, `{"detail":"The domain example.org is not one of this account's domains","code":"not_found"}`},
			{methodDelete, "/example.org", own, "", 200, `{"ok":true}`},
			{methodGet, "/example.org/zone", own, "", 404, `{"detail":"The domain example.org is not one of this account's domains","code":"not_found"}`},
		} {
			r := w.call(c.method, prefix+"/domains"+c.path, c.token, c.body)
			if r.status != c.status || r.body != c.want {
				t.Errorf("%s %s %s:\n%d %s, want\n%d %s", c.method, c.path, c.body, r.status, r.body, c.status, c.want)
			}
		}
	})
}

// TestDomainZoneAndInbox: the zone is plain text, and an inbox can be created under the domain only
// while it is verified.
func TestDomainZoneAndInbox(t *testing.T) {
	eachSurface(t, account.ScopeDomains, func(t *testing.T, w *world, prefix string, credential func(string) string) {
		session, own := w.signUpSession(alice), credential(alice)
		w.expect(201, w.call(methodPost, prefix+"/domains", own, `{"domain": "example.org"}`))
		zone := w.expect(200, w.call(methodGet, prefix+"/domains/example.org/zone", own, ""))
		if kind := zone.header.Get("Content-Type"); kind != "text/plain; charset=utf-8" || !strings.HasPrefix(zone.body, "_inboxd.example.org.\t3600\tIN\tTXT\t\"inboxd-verification=token\"\n") {
			t.Errorf("zone as %s: %s", kind, zone.body)
		}
		order := `{"prefix": "me", "domain": "example.org"}`
		if r := w.call(methodPost, "/api/inboxes", session, order); r.status != 400 || r.detail() != "The domain example.org is not a verified domain of this account" {
			t.Errorf("under a pending domain: %d %s", r.status, r.body)
		}
		w.accounts.published = 0xffff
		w.expect(200, w.call(methodPost, prefix+"/domains/example.org/verify", own, ""))
		w.expect(422, w.call(methodPost, "/api/inboxes", session, `{"domain": "example.org", "subdomain": "x"}`))
		var made struct{ Address string }
		if err := json.Unmarshal([]byte(w.expect(201, w.call(methodPost, "/api/inboxes", session, order)).body), &made); err != nil || made.Address != "me@example.org" {
			t.Errorf("made %q, %v", made.Address, err)
		}
	})
}
