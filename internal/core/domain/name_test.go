package domain_test

import (
	"strings"
	"testing"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/domain"
)

func TestClaimable(t *testing.T) {
	for given, want := range map[string]string{
		"example.org": "example.org", "Example.ORG.": "example.org", "mail.example.co.uk": "mail.example.co.uk",
		"bücher.example": "xn--bcher-kva.example", "xn--bcher-kva.example": "xn--bcher-kva.example", "BÜCHER.example": "xn--bcher-kva.example",
		"example.test": "example.test", "notinbox.localhost": "notinbox.localhost", "me.github.io": "me.github.io",
	} {
		if name, err := domain.Claimable(given, "inbox.localhost"); err != nil || name != want {
			t.Errorf("%q: %q, %v; want %q", given, name, err, want)
		}
	}
	for given, kind := range map[string]fault.ErrorKind{
		"": fault.InvalidRequest, ".": fault.InvalidRequest, "localhost": fault.InvalidRequest, "com": fault.InvalidRequest, "127.0.0.1": fault.InvalidRequest,
		"[127.0.0.1]": fault.InvalidRequest, "::1": fault.InvalidRequest, "[::1]": fault.InvalidRequest, "1.2.3": fault.InvalidRequest, "a..example.org": fault.InvalidRequest,
		"example.org..": fault.InvalidRequest, "a_b.example.org": fault.InvalidRequest, "me@example.org": fault.InvalidRequest, "http://example.org": fault.InvalidRequest,
		"-a.example.org": fault.InvalidRequest, "exa mple.org": fault.InvalidRequest, "example.org/x": fault.InvalidRequest, "*.example.org": fault.InvalidRequest, "a\x00.example.org": fault.InvalidRequest,
		strings.Repeat("a", 64) + ".example.org": fault.InvalidRequest, strings.Repeat("a.", 120) + "example.org": fault.InvalidRequest, "xn--a.example": fault.InvalidRequest,
		"inbox.localhost": fault.Refused, "a.b.Inbox.Localhost": fault.Refused,
		"co.uk": fault.Refused, "github.io": fault.Refused,
	} {
		if name, err := domain.Claimable(given, "inbox.localhost"); !fault.Is(err, kind) {
			t.Errorf("%q: %q, %v; want %v", given, name, err, kind)
		}
	}
}

// FuzzClaimable checks that each name has one form, and that a zone file or an address cannot read
// it differently.
func FuzzClaimable(f *testing.F) {
	for _, s := range []string{"example.org", "bücher.example", "EXAMPLE.org.", "127.0.0.1", "a。b.example", "xn--a", "ﬁ.example", "a\u200d.example"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, given string) {
		name, err := domain.Claimable(given, "inbox.localhost")
		if err != nil {
			if k := fault.KindOf(err); k != fault.InvalidRequest && k != fault.Refused {
				t.Fatalf("%q: %v", given, err)
			}
			return
		}
		if again, err := domain.Claimable(name, "inbox.localhost"); err != nil || again != name {
			t.Fatalf("%q gives %q, which gives %q, %v", given, name, again, err)
		}
		if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-.") != "" || len(name) > 189 || !strings.Contains(name, ".") {
			t.Fatalf("%q gives %q", given, name)
		}
	})
}
