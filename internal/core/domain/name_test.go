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
	for given, kind := range map[string]fault.Kind{
		"": fault.Invalid, ".": fault.Invalid, "localhost": fault.Invalid, "com": fault.Invalid, "127.0.0.1": fault.Invalid,
		"[127.0.0.1]": fault.Invalid, "::1": fault.Invalid, "[::1]": fault.Invalid, "1.2.3": fault.Invalid, "a..example.org": fault.Invalid,
		"example.org..": fault.Invalid, "a_b.example.org": fault.Invalid, "me@example.org": fault.Invalid, "http://example.org": fault.Invalid,
		"-a.example.org": fault.Invalid, "exa mple.org": fault.Invalid, "example.org/x": fault.Invalid, "*.example.org": fault.Invalid, "a\x00.example.org": fault.Invalid,
		strings.Repeat("a", 64) + ".example.org": fault.Invalid, strings.Repeat("a.", 120) + "example.org": fault.Invalid, "xn--a.example": fault.Invalid,
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
			if k := fault.KindOf(err); k != fault.Invalid && k != fault.Refused {
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
