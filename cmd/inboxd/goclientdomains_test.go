package main

import (
	"path/filepath"
	"strings"
	"testing"

	"inboxd/http/client"
	"inboxd/internal/testutil/dnstest"
)

// TestGoClientDomains takes a domain from its claim to its release.
func TestGoClientDomains(t *testing.T) {
	dns := dnstest.StartServer(t)
	s := launch(t, filepath.Join(t.TempDir(), "data"), "--dns", dns.Addr)
	u := s.signUp(t, "me@example.test")
	ctx, agent := t.Context(), client.New("http://"+s.http, u.key)
	owner := agent.With(u.session)
	d, err := owner.ClaimDomain(ctx, "Example.org")
	if err != nil || d.Name != "example.org" || d.Status != "pending" || len(d.Records) == 0 || d.CheckedAt != nil {
		t.Fatalf("claim: %+v %v", d, err)
	}
	if d, err = owner.VerifyDomain(ctx, "example.org"); err != nil || d.Status != "pending" || d.CheckedAt == nil {
		t.Errorf("nothing is published: %+v %v", d, err)
	}
	zone, err := owner.DomainZone(ctx, "example.org")
	if err != nil || !strings.Contains(zone, d.Records[0].Name) {
		t.Fatalf("zone: %q %v", zone, err)
	}
	dns.SetRecords(t, strings.Split(strings.TrimSpace(zone), "\n")...)
	if d, err = owner.VerifyDomain(ctx, "example.org"); err != nil || d.Status != "verified" || !d.Records[0].Found {
		t.Fatalf("verify: %+v %v", d, err)
	}
	in, err := agent.CreateInbox(ctx, client.InboxOrder{Prefix: "robot", Domain: "example.org"})
	if err != nil || in.Address != "robot@example.org" {
		t.Fatalf("inbox: %+v %v", in, err)
	}
	if err := owner.ReleaseDomain(ctx, "example.org"); client.StatusOf(err) != 400 {
		t.Errorf("release with an inbox: %v", err)
	}
	if err := agent.DeleteInbox(ctx, in.Address); err != nil {
		t.Error(err)
	}
	if err := owner.ReleaseDomain(ctx, "example.org"); err != nil {
		t.Error(err)
	}
	if _, err := owner.Domain(ctx, "example.org"); client.StatusOf(err) != 404 {
		t.Errorf("a released domain: %v", err)
	}
	if all, err := owner.Domains(ctx); err != nil || len(all) != 0 {
		t.Errorf("domains: %+v %v", all, err)
	}
	if _, err := agent.Domains(ctx); client.StatusOf(err) != 403 {
		t.Errorf("with a key: %v", err)
	}
}
