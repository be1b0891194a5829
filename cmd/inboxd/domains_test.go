package main

import (
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"inboxd/internal/testutil/dnstest"
)

// asSession makes a call with the session of u and requires the status.
func (u *user) asSession(t testing.TB, status int, method, path string, body any) map[string]any {
	t.Helper()
	a, err := u.server.call(method, path, map[string]string{"Authorization": "Bearer " + u.session}, body)
	if err != nil || a.status != status {
		t.Fatalf("%s %s: %d %v %v, want %d", method, path, a.status, a.body, err, status)
	}
	return a.body
}

// domain returns the status of a domain and the purposes of the records found, as its owner sees
// them.
func (u *user) domain(t testing.TB, method, path string) (status, found string) {
	t.Helper()
	d := u.asSession(t, 200, method, "/api/domains/"+path, nil)["domain"].(map[string]any)
	var purposes []string
	for _, r := range d["records"].([]any) {
		if r := r.(map[string]any); r["found"] == true {
			purposes = append(purposes, r["purpose"].(string))
		}
	}
	return d["status"].(string), strings.Join(purposes, " ")
}

// zone returns the zone text of a domain, record by record as a DNS library reads it.
func (u *user) zone(t testing.TB, name string) (records []string) {
	t.Helper()
	req, err := http.NewRequest("GET", "http://"+u.server.http+"/api/domains/"+name+"/zone", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+u.session)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("zone: %d %s %v", resp.StatusCode, text, err)
	}
	parser := dns.NewZoneParser(strings.NewReader(string(text)), "", "")
	for rr, ok := parser.Next(); ok; rr, ok = parser.Next() {
		records = append(records, rr.String())
	}
	if err := parser.Err(); err != nil || len(records) != 6 {
		t.Fatalf("the zone parses to %d records, %v:\n%s", len(records), err, text)
	}
	return records
}

// TestOwnDomain takes a domain from its claim to messages and to its release, with a kill between
// the steps.
func TestOwnDomain(t *testing.T) {
	server := dnstest.StartServer(t)
	dir := filepath.Join(t.TempDir(), "data")
	args := []string{"--dns", server.Addr, "--mx-host", "mx.service.test"}
	s := launch(t, dir, args...)
	u, other := s.signUp(t, "me@example.test"), s.signUp(t, "other@example.test")
	again := func() {
		s.kill()
		s = launch(t, dir, args...)
		u.server, other.server = s, s
	}

	claimed := u.asSession(t, 201, "POST", "/api/domains", map[string]any{"domain": "Example.org"})["domain"].(map[string]any)
	if claimed["domain"] != "example.org" || claimed["status"] != "pending" || claimed["checked_at"] != nil {
		t.Fatalf("claimed %v", claimed)
	}
	again()
	if status, found := u.domain(t, "POST", "example.org/verify"); status != "pending" || found != "" {
		t.Fatalf("with nothing published: %s, found %q", status, found)
	}
	u.do(t, 400, "POST", "/inboxes", map[string]any{"prefix": "agent", "domain": "example.org"})
	u.do(t, 422, "POST", "/inboxes", map[string]any{"domain": "example.org", "subdomain": "x"})

	zone := u.zone(t, "example.org")
	server.SetRecords(t, zone...)
	if status, found := u.domain(t, "POST", "example.org/verify"); status != "verified" || found != "ownership mx spf dkim dkim dmarc" {
		t.Fatalf("with all published: %s, found %q", status, found)
	}
	again()
	if status, found := u.domain(t, "GET", "example.org"); status != "verified" || found != "ownership mx spf dkim dkim dmarc" {
		t.Fatalf("after the kill: %s, found %q", status, found)
	}
	if !slices.Equal(u.zone(t, "example.org"), zone) {
		t.Error("the kill changed the records")
	}

	other.asSession(t, 400, "POST", "/api/domains", map[string]any{"domain": "example.org"})
	for _, path := range []string{"", "/zone"} {
		other.asSession(t, 404, "GET", "/api/domains/example.org"+path, nil)
	}
	other.asSession(t, 404, "POST", "/api/domains/example.org/verify", nil)
	other.asSession(t, 404, "DELETE", "/api/domains/example.org", nil)
	other.do(t, 400, "POST", "/inboxes", map[string]any{"prefix": "agent", "domain": "example.org"})
	if list := other.asSession(t, 200, "GET", "/api/domains", nil)["domains"].([]any); len(list) != 0 {
		t.Errorf("somebody else lists %v", list)
	}

	address := u.do(t, 201, "POST", "/inboxes", map[string]any{"prefix": "agent", "domain": "EXAMPLE.org"})["address"].(string)
	if address != "agent@example.org" {
		t.Fatalf("made %s", address)
	}
	for _, prefix := range []string{"support", "info", "postmaster"} { // reserved only at the service domain
		own := u.do(t, 201, "POST", "/inboxes", map[string]any{"prefix": prefix, "domain": "example.org"})["address"].(string)
		u.do(t, 200, "DELETE", "/inboxes/"+own, nil)
		u.do(t, 400, "POST", "/inboxes", map[string]any{"prefix": prefix, "subdomain": "fleet"})
	}
	again()
	if err := s.mail(address, "482913"); err != nil {
		t.Fatal(err)
	}
	if m := u.latest(t, address, "?wait=10"); m["otp_code"] != "482913" {
		t.Fatalf("latest is %v", m)
	}
	if err := s.mail("nobody@example.org", "482913"); err == nil || !strings.HasPrefix(err.Error(), "550") {
		t.Errorf("mail for nobody: %v", err)
	}
	a, err := s.call("DELETE", "/api/domains/example.org", map[string]string{"Authorization": "Bearer " + u.session}, nil)
	if err != nil || a.status != 400 || a.body["detail"] != "1 inbox uses the domain example.org. Delete it first" {
		t.Errorf("release: %v %v", a, err)
	}

	server.SetRecords(t)
	if status, found := u.domain(t, "POST", "example.org/verify"); status != "failing" || found != "" {
		t.Fatalf("with everything gone: %s, found %q", status, found)
	}
	if err := s.mail(address, "571204"); err != nil {
		t.Errorf("mail under a failing domain: %v", err)
	}
	server.SetRecords(t, zone...)
	if status, _ := u.domain(t, "POST", "example.org/verify"); status != "verified" {
		t.Fatalf("with all back: %s", status)
	}
	u.do(t, 200, "DELETE", "/inboxes/"+address, nil)
	u.asSession(t, 200, "DELETE", "/api/domains/example.org", nil)
	again()
	u.asSession(t, 404, "GET", "/api/domains/example.org", nil)
	other.asSession(t, 201, "POST", "/api/domains", map[string]any{"domain": "example.org"})
}

// TestDKIMShow checks that the service domain's records are created once and are a zone file.
func TestDKIMShow(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	show := func() string {
		out, err := command("admin", "--data", dir, "dkim", "show").CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	s := launch(t, dir)
	first := show()
	s.kill()
	launch(t, dir)
	if second := show(); second != first {
		t.Errorf("the records were\n%s\nand are now\n%s", first, second)
	}
	var names []string
	parser := dns.NewZoneParser(strings.NewReader(first), "", "")
	for rr, ok := parser.Next(); ok; rr, ok = parser.Next() {
		txt := strings.Join(rr.(*dns.TXT).Txt, "")
		kind, _, _ := strings.Cut(strings.TrimPrefix(txt, "v=DKIM1; k="), ";")
		names = append(names, kind+" "+rr.Header().Name[9:])
	}
	if got := strings.Join(names, ", "); parser.Err() != nil || got != "rsa ._domainkey.inbox.localhost., ed25519 ._domainkey.inbox.localhost." {
		t.Errorf("the zone holds %s, %v", got, parser.Err())
	}
}
