package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"inboxd/internal/testutil/dnstest"
)

// TestUnsignedWhenThePublishedKeysDiffer: an own domain signs with the keys in its DNS records. If
// they contain none of ours, its messages are sent unsigned and marked so.
func TestUnsignedWhenThePublishedKeysDiffer(t *testing.T) {
	far := receive(t, "127.0.0.1", "0", nil)
	farRecords := []string{"far.test. 60 IN MX 10 mx.far.test.", "mx.far.test. 60 IN A 127.0.0.1"}
	names := dnstest.StartServer(t, farRecords...)
	dir := filepath.Join(t.TempDir(), "data")
	args := []string{"--mx-host", "mx.service.test"}
	s := postal(t, dir, names, far.port, args...)
	u := s.signUp(t, "me@example.test")
	u.asSession(t, 201, "POST", "/api/domains", map[string]any{"domain": "example.org"})
	zone := u.zone(t, "example.org")
	names.SetRecords(t, append(slices.Clone(farRecords), zone...)...)
	if status, found := u.domain(t, "POST", "example.org/verify"); status != "verified" {
		t.Fatalf("%s, found %q", status, found)
	}
	address := u.do(t, 201, "POST", "/inboxes", map[string]any{"prefix": "agent", "domain": "example.org"})["address"].(string)
	u.until(t, address, u.send(t, address, map[string]any{"to": "bob@far.test", "body": "x"}), "sent")
	if raw := (<-far.arrived).raw; strings.Count(raw, "d=example.org;") != 2 {
		t.Errorf("signed by the domain's keys:\n%s", raw)
	}
	for i, record := range zone {
		if before, key, found := strings.Cut(record, "p="); found && strings.Contains(record, "_domainkey") {
			zone[i] = before + "p=" + strings.Map(func(r rune) rune { // another key of the same form
				if unicode.IsUpper(r) {
					return unicode.ToLower(r)
				}
				return unicode.ToUpper(r)
			}, key)
		}
	}
	names.SetRecords(t, append(slices.Clone(farRecords), zone...)...)
	s.terminate(t) // which clears the DNS cache
	s = postal(t, dir, names, far.port, args...)
	u.server = s
	m := u.until(t, address, u.send(t, address, map[string]any{"to": "bob@far.test", "body": "x"}), "unsigned")
	if r := m["recipients"].([]any)[0].(map[string]any); r["status"] != "unsigned" || m["send_error"] != nil {
		t.Errorf("%v", m)
	}
	if raw := (<-far.arrived).raw; strings.Contains(raw, "DKIM-Signature") {
		t.Errorf("signed with a key that nobody finds:\n%s", raw)
	}
}
