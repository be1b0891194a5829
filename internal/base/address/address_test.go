package address

import (
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// TestOneAddress lists the result of each spelling in each role; empty: it is invalid.
func TestOneAddress(t *testing.T) {
	long := strings.Repeat("a", 64)
	for _, c := range []struct{ in, inbox, recipient, sender string }{
		{"a@b.test", "a@b.test", "a@b.test", "a@b.test"},
		{"a@inbox.localhost", "a@inbox.localhost", "a@inbox.localhost", "a@inbox.localhost"},
		{"a@localhost", "a@localhost", "a@localhost", "a@localhost"},
		{"A.B+Tag@Example.TEST", "a.b+tag@example.test", "A.B+Tag@example.test", "A.B+Tag@example.test"},
		{"#$&'*+-/=?^_`{|}~@b.test", "#$&'*+-/=?^_`{|}~@b.test", "#$&'*+-/=?^_`{|}~@b.test", "#$&'*+-/=?^_`{|}~@b.test"},
		{"!#$%&'*+-/=?^_`{|}~@b.test", "", "!#$%&'*+-/=?^_`{|}~@b.test", "!#$%&'*+-/=?^_`{|}~@b.test"},
		{"a%c@b.test", "", "a%c@b.test", "a%c@b.test"}, // valid elsewhere; here it would be a route
		{"c!a@b.test", "", "c!a@b.test", "c!a@b.test"},
		{"a@my_host.test", "", "", "a@my_host.test"},
		{"a@r3---sn.test", "", "", "a@r3---sn.test"},
		{"a@127.0.0.1", "a@127.0.0.1", "", "a@127.0.0.1"}, // a service may have such a name, but no recipient domain
		{"a@b.0x7f", "a@b.0x7f", "", "a@b.0x7f"},

		// Lengths, as given and in the canonical form.
		{long + "@b.test", long + "@b.test", long + "@b.test", long + "@b.test"},
		{long + "a@b.test", "", long + "a@b.test", long + "a@b.test"}, // an inbox's prefix has at most 64 octets, others' local parts may have more
		{long + "+" + long + "@b.test", long + "+" + long + "@b.test", long + "+" + long + "@b.test", long + "+" + long + "@b.test"},
		{long + "a+" + long + "@b.test", "", long + "a+" + long + "@b.test", long + "a+" + long + "@b.test"},
		{strings.Repeat("a", 247) + "@b.test", "", strings.Repeat("a", 247) + "@b.test", strings.Repeat("a", 247) + "@b.test"}, // 254 in all
		{strings.Repeat("a", 248) + "@b.test", "", "", ""},
		{"a+" + strings.Repeat("b", 245) + "@b.test", "a+" + strings.Repeat("b", 245) + "@b.test", "a+" + strings.Repeat("b", 245) + "@b.test", "a+" + strings.Repeat("b", 245) + "@b.test"},
		{strings.Repeat("\u023a", 32) + "@b.test", "", strings.Repeat("\u023a", 32) + "@b.test", strings.Repeat("\u023a", 32) + "@b.test"}, // three bytes each in lower case
		{"a@" + strings.Repeat(long+".", 4), "", "", ""},
		{"a@" + strings.Repeat("b", 64) + ".test", "", "", ""},
		{"a@" + strings.Repeat("abcdefg.", 31) + "test", "a@" + strings.Repeat("abcdefg.", 31) + "test", "a@" + strings.Repeat("abcdefg.", 31) + "test", "a@" + strings.Repeat("abcdefg.", 31) + "test"},
		{"aaa@" + strings.Repeat("abcdefg.", 31) + "test", "", "", ""},
		{long + "@" + strings.Repeat("abcdefg.", 22) + "abü.test", "", "", ""}, // 251 bytes, 257 in ASCII

		// Parts that are missing, duplicated or additional.
		{"", "", "", ""}, {"a", "", "", ""}, {"@b.test", "", "", ""}, {"a@", "", "", ""}, {"@", "", "", ""},
		// Carriers in Japan assigned local parts with dots in any position.
		{".a@b.test", "", ".a@b.test", ".a@b.test"}, {"a.@b.test", "", "a.@b.test", "a.@b.test"}, {"a..b@b.test", "", "a..b@b.test", "a..b@b.test"},
		{"a...@b.test", "", "a...@b.test", "a...@b.test"}, {".@b.test", "", "", ""}, {"..@b.test", "", "", ""},
		{"a@c.test@b.test", "", "", ""}, {"a@@b.test", "", "", ""}, {"@c.test:a@b.test", "", "", ""},
		{"a@b.test.", "", "", ""}, {"a@b..test", "", "", ""}, {"a@.test", "", "", ""}, {"a@-b.test", "", "", ""}, {"a@b-.test", "", "", ""},
		{"<a@b.test>", "", "", ""}, {"a,b@b.test", "", "", ""}, {"a b@b.test", "", "", ""}, {"a@b test", "", "", ""}, {"a@b/c.test", "", "", ""},
		{"a\x00@b.test", "", "", ""}, {"a\x7f@b.test", "", "", ""}, {"a\r\n@b.test", "", "", ""}, {"a@b\x00.test", "", "", ""}, {"a@b.test\n", "", "", ""},

		// Quoted strings and literals.
		{`"a"@b.test`, "a@b.test", "a@b.test", "a@b.test"}, {`"A+T.b"@b.test`, "a+t.b@b.test", "A+T.b@b.test", "A+T.b@b.test"}, {`"\j\o"@b.test`, "jo@b.test", "jo@b.test", "jo@b.test"},
		{`"a..b"@b.test`, "", "a..b@b.test", "a..b@b.test"}, {`"a."@b.test`, "", "a.@b.test", "a.@b.test"}, {`"a%c"@b.test`, "", "a%c@b.test", "a%c@b.test"},
		{`"."@b.test`, "", "", `"."@b.test`}, {`"a\b"c"@b.test`, "", "", ""}, {`"ä"@b.test`, "ä@b.test", "ä@b.test", "ä@b.test"}, {`"ä b"@b.test`, "", "", `"ä b"@b.test`}, {"\"\x7f\"@b.test", "", "", ""}, {"\"\u202e\"@b.test", "", "", ""},
		{`"a b"@b.test`, "", "", `"a b"@b.test`}, {`"a\"b"@b.test`, "", "", `"a\"b"@b.test`}, {`"a@b"@b.test`, "", "", `"a@b"@b.test`},
		{`"a"b"@b.test`, "", "", ""}, {`"a\"@b.test`, "", "", ""}, {`""@b.test`, "", "", ""}, {"\"a\tb\"@b.test", "", "", ""}, {`"\`, "", "", ""},
		{"a@[192.0.2.1]", "", "", "a@[192.0.2.1]"}, {"a@[IPv6:2001:db8::1]", "", "", "a@[IPv6:2001:db8::1]"}, {"a@[]", "", "", ""}, {"a@[1.2.3.4>]", "", "", ""},

		// Beyond ASCII.
		{"Ü@b.test", "ü@b.test", "Ü@b.test", "Ü@b.test"},
		{"u\u0308@b.test", "ü@b.test", "u\u0308@b.test", "u\u0308@b.test"}, // one inbox for both spellings
		{"a@BÜCHER.test", "a@xn--bcher-kva.test", "a@xn--bcher-kva.test", "a@xn--bcher-kva.test"},
		{"a@bu\u0308cher.test", "a@xn--bcher-kva.test", "a@xn--bcher-kva.test", "a@xn--bcher-kva.test"},
		{"a@XN--BCHER-KVA.test", "a@xn--bcher-kva.test", "a@xn--bcher-kva.test", "a@xn--bcher-kva.test"},
		{"a@x\u3002test", "a@x.test", "a@x.test", "a@x.test"},                     // a full stop of another script
		{"a@\u212aelvin.test", "a@kelvin.test", "a@kelvin.test", "a@kelvin.test"}, // the sign of the unit
		{"a@xn--zzzzzz99999.test", "", "", ""},                                    // invalid punycode
		{"a@xn--inbox-.test", "", "", ""},                                         // IDNA maps it to inbox.test
		{"a@xn--.test", "", "", ""},
		{"a@xn--\x80.test", "", "", ""}, {"a@b\xff.test", "", "", ""}, {"\xff@b.test", "", "", ""}, {"\ufffd@b.test", "", "", ""},
		{"a\u202eb@b.test", "", "", ""}, // a direction override is not visible
		{"a\u00a0b@b.test", "", "", ""}, // a no-break space is not visible either
	} {
		if got, ok := CanonicalInbox(c.in); got != c.inbox || ok != (c.inbox != "") {
			t.Errorf("inbox %q: %q, %v; want %q", c.in, got, ok, c.inbox)
		}
		if got, err := CanonicalRecipient(c.in); got != c.recipient || (err == nil) != (c.recipient != "") {
			t.Errorf("recipient %q: %q, %v; want %q", c.in, got, err, c.recipient)
		}
		if got, ok := CanonicalSender(c.in); got != c.sender || ok != (c.sender != "") {
			t.Errorf("sender %q: %q, %v; want %q", c.in, got, ok, c.sender)
		}
	}
}

// TestOneName does the same for names.
func TestOneName(t *testing.T) {
	for _, c := range []struct{ in, domain, host string }{
		{"Example.ORG", "example.org", "example.org"},
		{"localhost", "localhost", "localhost"},
		{"1.2.3.4", "1.2.3.4", "1.2.3.4"},
		{"abc--d.test", "abc--d.test", "abc--d.test"},
		{"_dmarc.example.org", "", "_dmarc.example.org"},
		{"ab--cd.test", "", "ab--cd.test"},
		{"a_b.bücher.test", "", ""}, // IDNA checks the name as a whole
		{"s_1.xn--bcher-kva.test", "", "s_1.xn--bcher-kva.test"},
		{"☃.test", "xn--n3h.test", "xn--n3h.test"},
		{"faß.test", "xn--fa-hia.test", "xn--fa-hia.test"},
		{"a\u200d.test", "", ""},
		{strings.Repeat("a", 63), strings.Repeat("a", 63), strings.Repeat("a", 63)},
		{strings.Repeat("a", 64), "", ""},
		{strings.Repeat("a.", 126) + "a", strings.Repeat("a.", 126) + "a", strings.Repeat("a.", 126) + "a"},
		{strings.Repeat("a.", 127) + "a", "", ""},
		{strings.Repeat("ü.", 84) + "a", "", ""}, // 253 bytes, 841 in ASCII
		{"", "", ""}, {".", "", ""}, {"a.", "", ""}, {".a", "", ""}, {"[::1]", "", ""}, {"::1", "", ""}, {"*.a", "", ""}, {"a@b", "", ""}, {"a:1", "", ""},
	} {
		if got, ok := CanonicalDomain(c.in); got != c.domain || ok != (c.domain != "") {
			t.Errorf("domain %q: %q, %v; want %q", c.in, got, ok, c.domain)
		}
		if got, ok := CanonicalHost(c.in); got != c.host || ok != (c.host != "") {
			t.Errorf("host %q: %q, %v; want %q", c.in, got, ok, c.host)
		}
	}
	for name, want := range map[string]bool{
		"1.2.3.4": true, "127.1": true, "0x7f.1": true, "a.0x7f": true, "1": true, "a.1b": true, "1.a": false, "a": false, "a.b1": false, "": false, "a.": false,
	} {
		if EndsInNumber(name) != want {
			t.Errorf("%q ends in a number: %v", name, !want)
		}
	}
}

func TestWritten(t *testing.T) {
	for in, want := range map[string]string{
		"a.b@c.test": "a.b@c.test", "user.@c.test": `"user."@c.test`, "us..er@c.test": `"us..er"@c.test`, ".u@c.test": `".u"@c.test`,
		`"a b"@c.test`: `"a b"@c.test`, "ü.@c.test": `"ü."@c.test`, "a@[192.0.2.1]": "a@[192.0.2.1]", "c.test": "c.test", "": "",
	} {
		if got := WireForm(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
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
		if got := WithoutTag(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}

var spellings = []string{
	"a@b.test", "A+b@Bücher.example", "Ü@bücher.test", "@x:a@b", `"a"@b`, `"a\ b"@b.test`, "a%b@c", "a@[::1]", "a@xn--bcher-kva.test", "a@xn--inbox-.test",
	"İ@İ.test", "ﬀ@K.test", "K@\u212a.test", "\u0344@x.test", "a\xff@x.test", "a@xn--\u00fc", "a@x。test", "a@a_b--c.test", "a@b@c.test", "",
}

// FuzzInbox checks that the canonical form of an inbox is unique and safe to store, to display and
// to put into an SMTP line. An inbox's address must be a valid recipient and sender.
func FuzzInbox(f *testing.F) {
	for _, s := range spellings {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := CanonicalInbox(s)
		if !ok {
			if got != "" {
				t.Fatalf("%q is refused, yet %q", s, got)
			}
			return
		}
		if again, ok := CanonicalInbox(got); again != got || !ok {
			t.Fatalf("%q is %q, that is %q, %v", s, got, again, ok)
		}
		local, domain, _ := strings.Cut(got, "@")
		checkLine(t, got)
		checkName(t, domain)
		if strings.ContainsAny(local, "%!@\"") || !norm.NFC.IsNormalString(local) || local != strings.ToLower(local) || IsASCII(s) && !IsASCII(got) {
			t.Fatalf("%q is %q", s, got)
		}
		if plain := WithoutTag(got); !strings.HasSuffix(plain, "@"+domain) || plain != WithoutTag(plain) {
			t.Fatalf("%q without its tag is %q", got, plain)
		} else if found, ok := CanonicalInbox(plain); ok && found != plain { // a.+b@x.test becomes invalid
			t.Fatalf("%q without its tag is %q, that is %q", got, plain, found)
		}
		if to, err := CanonicalRecipient(got); !EndsInNumber(domain) && (err != nil || to != got) {
			t.Fatalf("mail to the inbox %q goes to %q, %v", got, to, err)
		}
		if from, ok := CanonicalSender(got); !ok || from != got {
			t.Fatalf("mail of the inbox %q comes from %q, %v", got, from, ok)
		}
	})
}

// FuzzMailbox checks the same for senders and recipients.
func FuzzMailbox(f *testing.F) {
	for _, s := range spellings {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		from, ok := CanonicalSender(s)
		if again, _ := CanonicalSender(from); ok && again != from {
			t.Fatalf("the sender %q is %q, that is %q", s, from, again)
		}
		to, err := CanonicalRecipient(s)
		if err != nil {
			if to != "" {
				t.Fatalf("%q is refused, yet %q", s, to)
			}
			return
		}
		if again, err := CanonicalRecipient(to); err != nil || again != to {
			t.Fatalf("the recipient %q is %q, that is %q, %v", s, to, again, err)
		}
		if from != to {
			t.Fatalf("%q is %q as recipient and %q as sender", s, to, from)
		}
		checkLine(t, to)
		checkName(t, DomainOf(to))
		given, _ := Split(s)
		if local, _ := Split(to); local != given && local != strings.NewReplacer(`"`, "", `\`, "").Replace(given) {
			t.Fatalf("%q is sent to as %q", s, to)
		}
		if same, ok := CanonicalSender(WireForm(to)); !ok || same != to {
			t.Fatalf("%q is written as %q, that is %q, %v", to, WireForm(to), same, ok)
		}
	})
}

// checkLine checks that an address cannot be read as more than one, wherever it is used.
func checkLine(t *testing.T, address string) {
	t.Helper()
	bad := func(r rune) bool {
		return unicode.IsControl(r) || unicode.IsSpace(r) || strings.ContainsRune("<>()[]\\,;:\"", r)
	}
	if len(address) > MaxLength || strings.Count(address, "@") != 1 || strings.IndexFunc(address, bad) >= 0 || address[0] == '@' {
		t.Fatalf("%q is an address", address)
	}
}

// checkName checks that a name is canonical, and that CanonicalDomain and CanonicalHost return it
// unchanged.
func checkName(t *testing.T, name string) {
	t.Helper()
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-.") != "" || name == "" || len(name) > MaxName {
		t.Fatalf("%q is a domain", name)
	}
	domain, ok := CanonicalDomain(name)
	host, known := CanonicalHost(name)
	if !ok || !known || domain != name || host != name {
		t.Fatalf("%q is %q as domain and %q as host", name, domain, host)
	}
}

func BenchmarkInbox(b *testing.B) {
	for b.Loop() {
		CanonicalInbox("calm-otter-1234@n4kq7vwxyz.inbox.localhost")
	}
}
