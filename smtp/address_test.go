package smtp

import (
	"strings"
	"testing"

	"inboxd/internal/fault"
)

func TestCanonical(t *testing.T) {
	long := strings.Repeat("a", 64)
	for _, c := range []struct {
		in   string
		utf8 bool
		want string // empty: refused
	}{
		{"a@b.test", false, "a@b.test"},
		{"A.B+Tag@Example.TEST", false, "a.b+tag@example.test"},
		{"!#$%&'*+-/=?^_`{|}~@b.test", false, ""}, // with % and !
		{"#$&'*+-/=?^_`{|}~@b.test", false, "#$&'*+-/=?^_`{|}~@b.test"},
		{"a@localhost", false, "a@localhost"},
		{"a@my_host.test", false, "a@my_host.test"},
		{long + "@b.test", false, long + "@b.test"},
		{long + "a@b.test", false, ""},
		{"a@" + strings.Repeat(long+".", 4), false, ""},
		{"", false, ""},
		{"a", false, ""},
		{"@b.test", false, ""},
		{"a@", false, ""},
		{".a@b.test", false, ""},
		{"a.@b.test", false, ""},
		{"a..b@b.test", false, ""},
		{`"a"@b.test`, false, ""},
		{"a b@b.test", false, ""},
		{"a%c@b.test", false, ""},
		{"c!a@b.test", false, ""},
		{"@c.test:a@b.test", false, ""},
		{"a@c.test@b.test", false, ""},
		{"a@[127.0.0.1]", false, ""},
		{"a@[IPv6:::1]", false, ""},
		{"a\x00@b.test", false, ""},
		{"a\x7f@b.test", false, ""},
		{"a\r\n@b.test", false, ""},
		{"a@b\x00.test", false, ""},
		{"a@b.test\n", false, ""},
		{"a@b.test.", false, ""},
		{"a@b..test", false, ""},
		{"a@-b.test", false, ""},
		{"a@b-.test", false, ""},
		{"a@" + strings.Repeat("b", 64) + ".test", false, ""},
		{"ü@b.test", false, ""},
		{"a@bü.test", false, ""},
		{"Ü@b.test", true, "ü@b.test"},
		{"u\u0308@b.test", true, "ü@b.test"}, // one form for both spellings
		{"a@BÜCHER.test", true, "a@xn--bcher-kva.test"},
		{"a@XN--BCHER-KVA.test", false, "a@xn--bcher-kva.test"},
		{"a@xn--\x80.test", true, ""},
		{"a@xn--zzzzzz99999.test", false, ""}, // no punycode
		{"\xff@b.test", true, ""},
		{"a\u202eb@b.test", true, ""}, // a direction override is not visible
		{"a\u00a0b@b.test", true, ""}, // a no-break space is none either
	} {
		got, err := Canonical(c.in, c.utf8)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("Canonical(%q, %v) = %q, %v; want %q", c.in, c.utf8, got, err, c.want)
		}
		if err != nil && !fault.Is(err, fault.Invalid) {
			t.Errorf("Canonical(%q): %v is not an Invalid fault", c.in, err)
		}
	}
}

func TestCanonicalSender(t *testing.T) {
	for in, want := range map[string]string{
		"A.b@EXAMPLE.test":     "A.b@example.test",
		`"a b"@x.test`:         `"a b"@x.test`,
		`"a\"b"@x.test`:        `"a\"b"@x.test`,
		`"a@b"@x.test`:         `"a@b"@x.test`,
		"a%b!c@x.test":         "a%b!c@x.test",
		"a@[192.0.2.1]":        "a@[192.0.2.1]",
		"a@[IPv6:2001:db8::1]": "a@[IPv6:2001:db8::1]",
		`"a"b"@x.test`:         "",
		`"a\"@x.test`:          "",
		`""@x.test`:            "",
		"\"a\tb\"@x.test":      "",
		"@y.test:a@x.test":     "",
		"a@[]":                 "",
		"a@[1.2.3.4>]":         "",
		"a":                    "",
	} {
		if got, err := canonicalSender(in, false); got != want || (err == nil) != (want != "") {
			t.Errorf("canonicalSender(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
}

func FuzzCanonical(f *testing.F) {
	for _, s := range []string{"a@b.test", "Ü@bücher.test", "@x:a@b", `"a"@b`, "a%b@c", "a@[::1]", "a@xn--bcher-kva.test", "İ@İ.test", "ﬀ@K.test"} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, in string, utf8 bool) {
		got, err := Canonical(in, utf8)
		if err != nil {
			return
		}
		local, domain, ok := strings.Cut(got, "@")
		if !ok || strings.ContainsAny(got, "<>()[]\\,;:\" %!\x7f") || strings.Count(got, "@") != 1 || len(got) > maxAddress {
			t.Fatalf("Canonical(%q) = %q", in, got)
		}
		if domain != asciiLower(domain) || !isHostname(domain) || !isDotAtom(local) || !isASCII(domain) {
			t.Fatalf("Canonical(%q) = %q", in, got)
		}
		if !utf8 && !isASCII(got) {
			t.Fatalf("Canonical(%q) = %q without SMTPUTF8", in, got)
		}
		if again, err := Canonical(got, utf8); err != nil || again != got {
			t.Fatalf("Canonical(%q) = %q, but of that %q, %v", in, got, again, err)
		}
	})
}

func asciiLower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
