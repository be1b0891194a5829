package mailauth

import (
	"context"
	"net/netip"
	"testing"

	"inboxd/internal/mail/message"
)

// TestFromIsTheOneShown uses messages for which SPF passes for evil.example. DMARC may pass only
// for that domain, and only if its address is the displayed one.
func TestFromIsTheOneShown(t *testing.T) {
	z := zone{
		"evil.example": {"v=spf1 ip4:192.0.2.1 -all"}, "_dmarc.evil.example": {"v=DMARC1; p=reject"},
		"_dmarc.bank.example": {"v=DMARC1; p=reject"},
	}
	for _, c := range []struct {
		name, from string
		word       ResultCode
		shown      string
	}{
		{"recovered", "From: Smith, Jr, Eve <eve@evil.example>, Inc", Pass, "eve@evil.example"},
		{"brackets", "From: Eve [eve@evil.example]", Pass, "eve@evil.example"},
		{"mailto", "From: <mailto:eve@evil.example>", Pass, "eve@evil.example"},
		{"address in a quoted name", `From: "Ceo <ceo@bank.example>" <eve@evil.example>`, Pass, "eve@evil.example"},
		{"address in an encoded name", "From: =?utf-8?Q?=3Cceo=40bank.example=3E?=, Inc, Eve <eve@evil.example>", Pass, "eve@evil.example"},
		{"address in a comment", "From: (<ceo@bank.example>) Eve, Inc, E (ceo@bank.example) <eve@evil.example>", Pass, "eve@evil.example"},
		{"group", "From: ceo: eve@evil.example;", Pass, "eve@evil.example"},
		{"bare address, then one in brackets", "From: ceo@bank.example <eve@evil.example>", Pass, "eve@evil.example"},
		{"two in brackets", "From: Ceo <ceo@bank.example> <eve@evil.example>", Pass, "eve@evil.example"},

		{"another one shown", "From: Eve, Inc, Ceo <ceo@bank.example>", Fail, "ceo@bank.example"},
		{"nothing but an encoded word", "From: =?utf-8?Q?Ceo_=3Cceo=40bank.example=3E?=", Fail, "ceo@bank.example"},
		{"nothing but a comment", "From: Ceo (ceo@bank.example)", Fail, "ceo@bank.example"},
		{"nothing but a quoted string", `From: "Ceo <ceo@bank.example>"`, Fail, "ceo@bank.example"},

		{"two addresses", "From: ceo@bank.example, eve@evil.example", PermError, "ceo@bank.example"},
		{"two addresses and a name with commas", "From: Bank, Inc, Ceo <ceo@bank.example>, Eve, Inc, E <eve@evil.example>", PermError, "ceo@bank.example"},
		{"quoted address, then another", `From: "ceo@bank.example", <eve@evil.example>`, PermError, "ceo@bank.example"},
		{"group of two", "From: bank: ceo@bank.example, eve@evil.example;", PermError, "ceo@bank.example"},
		{"two fields", "From: ceo@bank.example\r\nFrom: eve@evil.example", PermError, "ceo@bank.example"},
		{"a field without an address first", "From: Bank, Inc\r\nFrom: eve@evil.example", PermError, "Bank"},
		{"a field behind a byte order mark", "\ufeffFrom: ceo@bank.example\r\nFrom: eve@evil.example", PermError, "ceo@bank.example"},
		{"a field behind a bare line feed", "X-A: b\nFrom: ceo@bank.example\r\nFrom: eve@evil.example", PermError, "ceo@bank.example"},
	} {
		raw := wire(c.from, "To: bob@example.net", "", "x")
		r := VerifyMessage(context.Background(), VerifyInput{
			ClientIP: netip.MustParseAddr("192.0.2.1"), HELO: "mx.evil.example", MailFrom: "eve@evil.example", RawMessage: raw, Now: now,
		}, z)
		if shown := message.FromOf(raw).Email; r.DMARC.ResultCode != c.word || shown != c.shown {
			t.Errorf("%s: DMARC %+v, shown %q", c.name, r.DMARC, shown)
		}
	}
}

// FuzzFrom checks that only the domain of the displayed address is judged.
func FuzzFrom(f *testing.F) {
	for _, seed := range []string{"From: a, b, c <d@e.example>\r\n", "From: a@b.example\nFrom: c@d.example\r\n", "\ufefffrom : <mailto:a@b.example?x>\r\n\t,b\r\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := verify(raw, zone{})
		if r.FromDomain != "" && r.FromDomain != shownDomain(raw) {
			t.Errorf("%q is judged", r.FromDomain)
		}
		if _, at, _ := cutLast(message.Parse(raw).From.Email, '@'); r.FromDomain != "" {
			if domain, _ := canonicalDomain(at); domain != r.FromDomain {
				t.Errorf("%q is judged, %q is shown", r.FromDomain, domain)
			}
		}
	})
}
