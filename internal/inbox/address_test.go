package inbox_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"inboxd/internal/fault"
	"inboxd/internal/inbox"
)

func TestCanonical(t *testing.T) {
	a := func(n int) string { return strings.Repeat("a", n) }
	for in, want := range map[string]string{ // empty: not an address of ours
		"a@inbox.localhost":       "a@inbox.localhost",
		"A.B+Tag@Inbox.LocalHost": "a.b+tag@inbox.localhost",
		"a@BÜCHER.example":        "a@xn--bcher-kva.example",
		"a@xn--bcher-kva.example": "a@xn--bcher-kva.example",
		"JÜRGEN@x.test":           "jürgen@x.test",
		"a@127.0.0.1":             "a@127.0.0.1",
		a(249) + "@x.de":          a(249) + "@x.de", // 254 bytes
		a(250) + "@x.de":          "",
		a(244) + "@ü.test":        "", // 252 bytes as typed, 257 with its A-label
		"":                        "",
		"a":                       "",
		"@x.test":                 "",
		"a@":                      "",
		"a@b@x.test":              "",
		"a b@x.test":              "",
		"a\x00@x.test":            "",
		"a\x7f@x.test":            "",
		"a\r\n@x.test":            "",
		`"a"@x.test`:              "",
		"<a@x.test>":              "",
		"a,b@x.test":              "",
		"a@x_y.test":              "",
		"a@-x.test":               "",
		"a@x y.test":              "",
		"a@[127.0.0.1]":           "",
	} {
		if got, ok := inbox.Canonical(in); got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v", in, got, ok)
		}
	}
}

func TestWithoutTag(t *testing.T) {
	for in, want := range map[string]string{
		"user@host":           "user@host",
		"user+tag@host":       "user@host",
		"user+tag+more@host":  "user@host",
		"user+@host":          "user@host",
		"+tag@host":           "+tag@host", // nothing would be left
		"user@ho+st":          "user@ho+st",
		"user":                "user",
		"user+tag":            "user+tag",
		"":                    "",
		"user+a@b+c@host.org": "user@host.org",
	} {
		if got := inbox.WithoutTag(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

func TestCheckPrefix(t *testing.T) {
	const (
		chars = "may only hold the characters a-z, 0-9, dot, underscore and hyphen"
		dots  = "must not start or end with a dot or hold two dots in a row"
	)
	for prefix, want := range map[string]string{ // of the sentence; empty: accepted
		"a":                     "",
		"-":                     "",
		"_a-b.c_":               "",
		strings.Repeat("a", 64): "",
		"postmasters":           "",
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
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != "invalid: Invalid request: 'prefix' "+want) {
			t.Errorf("%q: %v", prefix, err)
		}
	}
	for _, prefix := range []string{"postmaster", "abuse", "mailer-daemon", "hostmaster", "noreply"} {
		if err := inbox.CheckPrefix(prefix); !fault.Is(err, fault.Refused) {
			t.Errorf("%q: %v", prefix, err)
		}
	}
}

func TestCheckLabel(t *testing.T) {
	for label, ok := range map[string]bool{
		"a": true, "0": true, "a-b": true, "a--b": true, "abc--d": true, "ab-": false, strings.Repeat("a", 63): true,
		"": false, strings.Repeat("a", 64): false, "-a": false, "a-": false, "-": false, "a.b": false, "a_b": false, "A": false,
		"ä": false, "a b": false, "ab--cd": false, "xn--bcher-kva": false, "ab--": false,
	} {
		if err := inbox.CheckLabel(label); ok && err != nil || !ok && !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", label, err)
		}
	}
}

// TestPlacedAddressesAreFound holds that mail to an accepted prefix and subdomain is looked
// up under the very address that was created.
func TestPlacedAddressesAreFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prefix := rapid.StringMatching(`[a-z0-9._-]{1,64}`).Draw(t, "prefix")
		label := rapid.StringMatching(`[a-z0-9-]{1,63}`).Draw(t, "label")
		if inbox.CheckPrefix(prefix) != nil || inbox.CheckLabel(label) != nil {
			return
		}
		address := prefix + "@" + label + ".inbox.localhost"
		found, ok := inbox.Canonical(strings.ToUpper(address))
		if !ok || inbox.WithoutTag(found) != address {
			t.Fatalf("%s is looked up as %q, %v", address, found, ok)
		}
	})
}

// TestGeneratedNames holds that what we generate passes what we check.
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

// FuzzCanonical holds that the canonical form is one, and safe to keep and to show.
func FuzzCanonical(f *testing.F) {
	for _, s := range []string{"a@inbox.localhost", "A+b@Bücher.example", "K@\u212a.test", "\u0130@x.test", "a\xff@x.test", "a@xn--\u00fc", "a@x。test", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := inbox.Canonical(s)
		if !ok {
			if got != "" {
				t.Fatalf("%q is refused, yet %q", s, got)
			}
			return
		}
		if again, ok := inbox.Canonical(got); again != got || !ok {
			t.Fatalf("%q is canonical as %q, that as %q, %v", s, got, again, ok)
		}
		local, domain, _ := strings.Cut(got, "@")
		if local == "" || domain == "" || len(got) > 254 || strings.ContainsAny(got, " \r\n\x00<>\"") || strings.Count(got, "@") != 1 {
			t.Fatalf("%q is canonical as %q", s, got)
		}
		if plain := inbox.WithoutTag(got); !strings.HasSuffix(plain, "@"+domain) || plain != inbox.WithoutTag(plain) {
			t.Fatalf("%q without its tag is %q", got, plain)
		}
	})
}
