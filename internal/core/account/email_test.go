package account_test

import (
	"strings"
	"testing"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
)

func TestCanonicalEmail(t *testing.T) {
	long := strings.Repeat("a", 60) + "@" + strings.Repeat(strings.Repeat("b", 60)+".", 3) + strings.Repeat("c", 9) + ".org" // 257
	for in, want := range map[string]string{
		"me@example.test":                 "me@example.test",
		" Me@Example.TEST\r\n":            "me@example.test",
		"first.last+tag@sub.x.org":        "first.last+tag@sub.x.org",
		"ümläut@exämple.test":             "ümläut@xn--exmple-cua.test",
		"U\u0308mla\u0308ut@EXÄMPLE.test": "ümläut@xn--exmple-cua.test",
		"":                                "",
		"me":                              "",
		"me@":                             "",
		"@example.test":                   "",
		"me@localhost":                    "",
		"me@@example.test":                "",
		"a@b@example.test":                "",
		"me@example..test":                "",
		"me @example.test":                "",
		"Me <me@example.test>":            "",
		"<me@example.test>":               "",
		"me@example.test (home)":          "",
		"a@x.test, b@x.test":              "",
		"me@exa\nmple.test":               "",
		"me@[192.0.2.1]":                  "",
		"me@192.0.2.1":                    "",
		"m\u202ee@example.test":           "",
		"me@exam\x00ple.test":             "",
		long[3:]:                          long[3:],
		long[2:]:                          "",
	} {
		got, err := account.CanonicalEmail(in)
		if got != want || (want == "") != fault.Is(err, fault.InvalidRequest) {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}

// FuzzCanonicalEmail checks that the canonical form is itself canonical, has no spaces or capitals,
// and does not depend on how it was typed.
func FuzzCanonicalEmail(f *testing.F) {
	for _, s := range []string{"me@example.test", " Me@Example.TEST", `"a b"@x.test`, "a@[127.0.0.1]", "K@x.test", "İ@x.test", "a\xff@x.test", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := account.CanonicalEmail(s)
		if err != nil {
			if got != "" || !fault.Is(err, fault.InvalidRequest) {
				t.Fatalf("%q: %q, %v", s, got, err)
			}
			return
		}
		if again, err := account.CanonicalEmail(got); again != got || err != nil {
			t.Fatalf("%q is canonical as %q, that as %q, %v", s, got, again, err)
		}
		if typed, err := account.CanonicalEmail("\t" + s + " "); typed != got || err != nil {
			t.Fatalf("%q with blanks around is %q, %v", s, typed, err)
		}
		if len(got) > 254 || strings.ContainsAny(got, "\r\n\x00 ") || strings.Count(got, "@") == 0 || got != strings.ToLower(got) {
			t.Fatalf("%q is canonical as %q", s, got)
		}
	})
}
