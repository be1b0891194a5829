package main

import (
	"path/filepath"
	"strings"
	"testing"

	"inboxd/http/client"
	"inboxd/internal/testutil/dnstest"
)

// TestGoClientDomains takes a domain from its claim to its release, with a key that may do only that.
func TestGoClientDomains(t *testing.T) {
	dns := dnstest.StartServer(t)
	s := launch(t, filepath.Join(t.TempDir(), "data"), "--dns", dns.Addr)
	u := s.signUp(t, "me@example.test")
	ctx, agent := t.Context(), client.New("http://"+s.http, u.key)
	owner := agent.With(newKey(t, s, u, client.ScopeDomains))
	d, err := owner.Domains().Claim(ctx, "Example.org")
	if err != nil || d.Name != "example.org" || d.Status != "pending" || len(d.Records) == 0 || d.CheckedAt != nil {
		t.Fatalf("claim: %+v %v", d, err)
	}
	if d, err = owner.Domains().Verify(ctx, "example.org"); err != nil || d.Status != "pending" || d.CheckedAt == nil {
		t.Errorf("nothing is published: %+v %v", d, err)
	}
	zone, err := owner.Domains().Zone(ctx, "example.org")
	if err != nil || !strings.Contains(zone, d.Records[0].Name) {
		t.Fatalf("zone: %q %v", zone, err)
	}
	dns.SetRecords(t, strings.Split(strings.TrimSpace(zone), "\n")...)
	if d, err = owner.Domains().Verify(ctx, "example.org"); err != nil || d.Status != "verified" || !d.Records[0].Found {
		t.Fatalf("verify: %+v %v", d, err)
	}
	in, err := agent.CreateInbox(ctx, client.InboxOrder{Prefix: "robot", Domain: "example.org"})
	if err != nil || in.Address != "robot@example.org" {
		t.Fatalf("inbox: %+v %v", in, err)
	}
	if err := owner.Domains().Release(ctx, "example.org"); client.StatusOf(err) != 400 {
		t.Errorf("release with an inbox: %v", err)
	}
	if err := agent.DeleteInbox(ctx, in.Address); err != nil {
		t.Error(err)
	}
	if err := owner.Domains().Release(ctx, "example.org"); err != nil {
		t.Error(err)
	}
	if _, err := owner.Domains().Get(ctx, "example.org"); client.StatusOf(err) != 404 {
		t.Errorf("a released domain: %v", err)
	}
	if all, err := owner.Domains().List(ctx); err != nil || len(all) != 0 {
		t.Errorf("domains: %+v %v", all, err)
	}
	if _, err := agent.With(newKey(t, s, u, client.ScopeWebhooks)).Domains().List(ctx); client.StatusOf(err) != 403 {
		t.Errorf("with a key for webhooks: %v", err)
	}
	if _, err := agent.With(u.session).Domains().List(ctx); err != nil {
		t.Errorf("with a session: %v", err)
	}
}

// newKey creates an account key with one permission.
func newKey(t *testing.T, s *server, u *user, scope string) string {
	t.Helper()
	key, err := client.New("http://"+s.http, u.session).IssueKey(t.Context(), client.KeyOrder{Scopes: []string{scope}})
	if err != nil {
		t.Fatal(err)
	}
	return key.Key
}
