package inbox_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"inboxd/internal/base/address"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/inbox"
)

func TestCheckPrefix(t *testing.T) {
	const (
		chars = "may only contain the characters a-z, 0-9, dot, underscore and hyphen"
		dots  = "must not start or end with a dot or contain two dots in a row"
	)
	for prefix, want := range map[string]string{ // part of the error; empty: accepted
		"a":                     "",
		"-":                     "",
		"_a-b.c_":               "",
		strings.Repeat("a", 64): "",
		"postmasters":           "",
		"postmaster":            "", // on an own domain
		"":                      "is empty",
		strings.Repeat("a", 65): "is too long (65 characters). The limit is 64 characters",
		strings.Repeat("ä", 40): chars,
		"A":                     chars,
		"a b":                   chars,
		"a+b":                   chars,
		"a@b":                   chars,
		"a\n":                   chars,
		"a\xff":                 chars,
		".a":                    dots,
		"a.":                    dots,
		"a..b":                  dots,
		".":                     dots,
	} {
		err := inbox.CheckPrefix(prefix)
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != "invalid: 'prefix' "+want) {
			t.Errorf("%q: %v", prefix, err)
		}
	}
}

func TestCheckLabel(t *testing.T) {
	for label, ok := range map[string]bool{
		"a": true, "0": true, "a-b": true, "a--b": true, "abc--d": true, "ab-": false, strings.Repeat("a", 63): true,
		"": false, strings.Repeat("a", 64): false, "-a": false, "a-": false, "-": false, "a.b": false, "a_b": false, "A": false, "_dmarc": true, "_a": false,
		"ä": false, "a b": false, "ab--cd": false, "xn--bcher-kva": false, "ab--": false,
	} {
		if err := inbox.CheckLabel(label); ok && err != nil || !ok && !fault.Is(err, fault.InvalidRequest) {
			t.Errorf("%q: %v", label, err)
		}
	}
}

// TestPlacedAddressesAreFound checks that messages to an accepted prefix and subdomain are looked
// up under exactly the address that was created.
func TestPlacedAddressesAreFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prefix := rapid.StringMatching(`[a-z0-9._-]{1,64}`).Draw(t, "prefix")
		label := rapid.StringMatching(`[a-z0-9-]{1,63}`).Draw(t, "label")
		if inbox.CheckPrefix(prefix) != nil || inbox.CheckLabel(label) != nil {
			return
		}
		placed := prefix + "@" + label + ".inbox.localhost"
		found, ok := address.CanonicalInbox(strings.ToUpper(placed))
		if !ok || address.WithoutTag(found) != placed {
			t.Fatalf("%s is looked up as %q, %v", placed, found, ok)
		}
	})
}

// TestGeneratedNames checks that generated names pass the checks.
func TestGeneratedNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := rapid.Uint64().Draw(t, "random")
		prefix, label, subdomain := inbox.GeneratedPrefix(random), inbox.GeneratedLabel(random), inbox.GeneratedSubdomain(random)
		if err := inbox.CheckPrefix(prefix); err != nil {
			t.Fatal(err)
		}
		if err := inbox.CheckLabel(subdomain); err != nil || len(subdomain) != 10 || subdomain[0] < 'a' {
			t.Fatalf("%q: %v", subdomain, err)
		}
		words := strings.Split(prefix, "-")
		if len(words) != 3 || len(words[2]) != 4 || strings.ToLower(label) != words[0]+" "+words[1] || label == strings.ToLower(label) {
			t.Fatalf("prefix %q beside label %q", prefix, label)
		}
	})
}
