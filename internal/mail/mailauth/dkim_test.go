package mailauth

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"math/big"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	godkim "github.com/emersion/go-msgauth/dkim"
)

const exampleKey = "v=DKIM1; p=MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQ" +
	"KBgQDwIRP/UC3SBsEmGqZ9ZJW3/DkMoGeLnQg1fWn7/zYt" +
	"IxN2SnFCjxOCKG9v3b4jYfcTNh5ijSsq631uBItLa7od+v" +
	"/RtdC2UzJ1lWT947qR+Rcac2gbto/NMqJ0fzfVjH4OuKhi" +
	"tdY9tf6mcwGjaNBcWToIMmPSPDdQPNUYckcQ2QIDAQAB"

// TestExamples verifies the messages of RFC 6376 appendix A and RFC 8463 appendix A.
func TestExamples(t *testing.T) {
	z := zone{
		"brisbane._domainkey.example.com": {exampleKey},
		"test._domainkey.football.example.com": {"v=DKIM1; k=rsa; p=MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDkHlOQoBTzWR" +
			"iGs5V6NpP3idY6Wk08a5qhdR6wy5bdOKb2jLQiY/J16JYi0Qvx/byYzCNb3W91y3FutAC" +
			"DfzwQ/BC/e/8uBsCR+yz1Lxj+PL6lHvqMKrM3rG4hstT5QjvHO9PzoxZyVYLzBfO2EeC3" +
			"Ip3G+2kryOTIKT+l/K4w3QIDAQAB"},
		"brisbane._domainkey.football.example.com": {"v=DKIM1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="},
	}
	r := verify(fromFile(t, "testdata/rfc6376.eml"), z)
	if len(r.Signatures) != 1 || r.DKIM != (Verdict{Pass, "example.com"}) || !r.Signatures[0].IsAligned || r.Signatures[0].SignerDomain != "football.example.com" {
		t.Errorf("RFC 6376: %+v", r)
	}
	r = verify(fromFile(t, "testdata/rfc8463.eml"), z)
	if len(r.Signatures) != 2 || r.Signatures[0].ResultCode != Pass || r.Signatures[1].ResultCode != Pass {
		t.Errorf("RFC 8463: %+v", r)
	}
	if s := r.Signatures[0]; s.Algorithm != "ed25519-sha256" || s.Selector != "brisbane" || s.SignedAt.Unix() != 1528637909 {
		t.Errorf("RFC 8463: %+v", s)
	}
}

var (
	plain  = wire("From: Ada <ada@example.com>", "To: bob@example.net", "Subject: Hello", "MIME-Version: 1.0", "Content-Type: text/plain", "", "Hello", "", "Bob")
	ed     = Signer{Domain: "example.com", Selector: "ed", Key: edKey, At: now}
	absent = Signer{Domain: "example.com", Selector: "absent", Key: edKey}
)

// TestSignatures checks the result of a signature if the message, the key or the signature is
// changed. "strict" says whether the signature may be relied on.
func TestSignatures(t *testing.T) {
	replace := func(old, new string) func([]byte) []byte {
		return func(raw []byte) []byte {
			if !bytes.Contains(raw, []byte(old)) {
				t.Fatalf("%q is not in the mail", old)
			}
			return bytes.Replace(raw, []byte(old), []byte(new), 1)
		}
	}
	prepend := func(line string) func([]byte) []byte {
		return func(raw []byte) []byte { return append([]byte(line+"\r\n"), raw...) }
	}
	// by signs with go-msgauth, for options that Sign does not have.
	by := func(options godkim.SignOptions) func([]byte) []byte {
		return func([]byte) []byte {
			options.Signer = edKey
			if options.Domain == "" {
				options.Domain = "example.com"
			}
			options.Selector = "ed"
			var out bytes.Buffer
			if err := godkim.Sign(&out, bytes.NewReader(plain), &options); err != nil {
				t.Fatal(err)
			}
			return out.Bytes()
		}
	}
	for _, c := range []struct {
		name   string
		change func([]byte) []byte
		key    string // tags after the key's, or the whole record if it begins with v=
		word   ResultCode
		strict bool
	}{
		{name: "as signed", word: Pass, strict: true},
		{name: "a Received on top", change: prepend("Received: by x"), word: Pass, strict: true},
		{name: "spaces in the header, relaxed", change: replace("Subject: Hello", "Subject:   Hello \t"), word: Pass, strict: true},
		{name: "another body", change: replace("Bob", "Rob"), word: Fail},
		{name: "more body", change: func(raw []byte) []byte { return append(raw, "more\r\n"...) }, word: Fail},
		{name: "empty lines more, relaxed", change: func(raw []byte) []byte { return append(raw, "\r\n\r\n"...) }, word: Pass, strict: true},
		{name: "another subject", change: replace("Subject: Hello", "Subject: Goodbye"), word: Fail},
		{name: "a second From, oversigned", change: prepend("From: eve@example.com"), word: Fail},
		{name: "a second Content-Type, oversigned", change: prepend("Content-Type: text/html"), word: Fail},
		{name: "a Cc that was not there, oversigned", change: prepend("Cc: eve@example.com"), word: Fail},
		{name: "a second From, signed once", change: func(raw []byte) []byte {
			return prepend("From: eve@example.com")(by(godkim.SignOptions{})(raw))
		}, word: Pass},
		{name: "a second Content-Type, signed once", change: func(raw []byte) []byte {
			return prepend("content-type : text/html")(by(godkim.SignOptions{})(raw))
		}, word: Pass, strict: true},
		{name: "Content-Type not signed", change: by(godkim.SignOptions{HeaderKeys: []string{"From", "MIME-Version"}}), word: Pass, strict: true},
		{name: "MIME-Version not signed", change: by(godkim.SignOptions{HeaderKeys: []string{"From", "Content-Type"}}), word: Pass, strict: true},
		{name: "all that counts signed, simple", change: by(godkim.SignOptions{HeaderKeys: []string{"From", "Content-Type", "MIME-Version"}}), word: Pass, strict: true},
		{name: "not expired", change: by(godkim.SignOptions{Expiration: now.AddDate(20, 0, 0)}), word: Pass, strict: true},
		{name: "an i= beneath", change: by(godkim.SignOptions{Identifier: "ada@sub.example.com"}), word: Pass, strict: true},
		{name: "an i= beneath, key for none", change: by(godkim.SignOptions{Identifier: "ada@sub.example.com"}), key: "; t=s", word: PermError},
		{name: "a key for no subdomains", key: "; t=s", word: Pass, strict: true},
		{name: "an i= elsewhere", change: by(godkim.SignOptions{Identifier: "ada@notexample.com"}), word: PermError},
		{name: "a testing key", key: "; t=y", word: Pass},
		{name: "a testing key among flags", key: "; t=s : y", word: Pass},
		{name: "l=", change: replace("v=1;", "v=1; l=5;"), word: Policy},
		{name: "another version", change: replace("v=1;", "v=2;"), word: PermError},
		{name: "another algorithm", change: replace("ed25519-sha256", "rsa-sha256"), word: PermError},
		{name: "SHA-1", change: replace("ed25519-sha256", "rsa-sha1"), word: PermError},
		{name: "no algorithm", change: replace("ed25519-sha256", "none"), word: PermError},
		{name: "a tag twice", change: replace("v=1;", "v=1; v=1;"), word: PermError},
		{name: "no tag list", change: replace("v=1;", "v=1; hello;"), word: PermError},
		{name: "From not signed", change: func(raw []byte) []byte {
			return bytes.Replace(raw, []byte("h=from:from:"), []byte("h=to:to:"), 1)
		}, word: PermError},
		{name: "a domain that is none", change: replace("d=example.com", "d=com"), word: PermError},
		{name: "a domain with a blank", change: replace("d=example.com", "d=exa mple.com"), word: PermError},
		{name: "unknown canonicalization", change: replace("c=relaxed/relaxed", "c=relaxed/nofws"), word: PermError},
		{name: "a time that is none", change: replace("t=17", "t=x"), word: PermError},
		{name: "expires before it was made", change: replace("t=17", "x=5; t=17"), word: PermError},
		{name: "b= that is not base64", change: replace("b=", "b=*"), word: PermError},
		{name: "another selector", change: replace("s=ed", "s=absent"), word: PermError},
		{name: "a revoked key", key: "v=DKIM1; p=", word: PermError},
		{name: "a key of another version", key: "v=DKIM2; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=", word: PermError},
		{name: "another key", key: "v=DKIM1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=", word: Fail},
		{name: "a short key", key: "v=DKIM1; k=ed25519; p=11qYAYKxCrfVS", word: PermError},
		{name: "a key of a kind that nobody knows", key: "v=DKIM1; k=dilithium; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=", word: PermError},
		{name: "a key for another hash", key: "; h=sha1", word: PermError},
		{name: "a key for another service", key: "; s=tlsrpt", word: PermError},
		{name: "a key for every service", key: "; s=x:*", word: Pass, strict: true},
		{name: "no DNS", key: "TEMP", word: TempError},
	} {
		z := zone{}
		z.publish(t, ed, c.key)
		if strings.HasPrefix(c.key, "v=") || c.key == "TEMP" {
			z["ed._domainkey.example.com"] = []string{c.key}
		}
		raw := signed(t, plain, ed)
		if c.change != nil {
			raw = c.change(raw)
		}
		r := verify(raw, z)
		if r.DKIM.ResultCode != c.word || len(r.Signatures) != 1 || (c.word == Pass) != (r.Signatures[0].Reason == "") {
			t.Errorf("%s: %s, %+v", c.name, r.DKIM, r.Signatures)
		}
		if r.AuthenticatesDomain("example.com") != c.strict || r.AuthenticatesDomain("other.example.net") {
			t.Errorf("%s: may be relied on: %v", c.name, r.AuthenticatesDomain("example.com"))
		}
	}
}

// TestVouches checks that a domain authenticates its own mailboxes and those of its subdomains, up
// to the organizational domain, and that the required fields must be signed.
func TestVouches(t *testing.T) {
	z := zone{}
	by := func(d string) Signer {
		s := Signer{Domain: d, Selector: "s", Key: edKey}
		z.publish(t, s, "")
		return s
	}
	for signer, vouched := range map[string][]string{
		"mail.example.co.uk": {"mail.example.co.uk", "MAIL.example.co.uk", "a.mail.example.co.uk"},
		"example.co.uk":      {"example.co.uk", "mail.example.co.uk", "MAIL.example.co.uk", "a.mail.example.co.uk", "shop.example.co.uk", "xmail.example.co.uk"},
		"co.uk":              {},
		"eve.github.io":      {"eve.github.io"},
		"github.io":          {},
	} {
		r := verify(signed(t, wire("From: a@example.co.uk", "", "x"), by(signer)), z)
		if r.DKIM.ResultCode != Pass {
			t.Fatalf("%s: %+v", signer, r)
		}
		for _, domain := range []string{
			"example.co.uk", "mail.example.co.uk", "MAIL.example.co.uk", "a.mail.example.co.uk", "shop.example.co.uk", "xmail.example.co.uk",
			"eve.github.io", "ada.github.io", "other.co.uk", "uk", "", "example.com", "example.co.uk.evil.com", "a b",
		} {
			if got := r.AuthenticatesDomain(domain); got != slices.Contains(vouched, domain) {
				t.Errorf("%s vouches for %q: %v", signer, domain, got)
			}
		}
	}
	r := verify(signed(t, wire("From: a@example.co.uk", "OTP-Token: 1", "X-Other: 1", "", "x"), by("example.co.uk")), z)
	if !r.AuthenticatesDomain("example.co.uk", "OTP-Token", "from") || r.AuthenticatesDomain("example.co.uk", "X-Other") || r.AuthenticatesDomain("example.co.uk", "OTP-Token", "X-Absent") {
		t.Error("what is covered")
	}
	if !r.FromAligned() || r.SPFVouches() {
		t.Error("a signature of From's domain is aligned, and no SPF")
	}
	private := verify(signed(t, wire("From: a@ada.github.io", "", "x"), by("eve.github.io")), z)
	if private.DKIM.ResultCode != Pass || private.AuthenticatesDomain("ada.github.io") || private.Signatures[0].IsAligned || private.FromAligned() {
		t.Errorf("customers of one host vouch for each other: %+v", private)
	}
	below := verify(signed(t, wire("From: a@example.co.uk", "", "x"), by("mail.example.co.uk")), z)
	if !below.FromAligned() || below.AuthenticatesDomain("example.co.uk") {
		t.Errorf("a subdomain is aligned as DMARC says, and vouches for nobody above: %+v", below)
	}
}

// TestUnwanted checks for which DMARC failures a domain requests an action.
func TestUnwanted(t *testing.T) {
	for record, want := range map[string][2]bool{ // From at the domain of the record, and below it
		"v=DMARC1; p=reject":                 {true, true},
		"v=DMARC1; p=Quarantine; sp=none":    {true, false},
		"v=DMARC1; p=none; sp=reject":        {false, true},
		"v=DMARC1; p=none":                   {false, false},
		"v=DMARC1; p=reject; pct=0":          {false, false},
		"v=DMARC1; p=reject; pct=20":         {true, true},
		"v=DMARC1; rua=mailto:a@example.com": {false, false},
	} {
		z := zone{"_dmarc.example.com": {record}}
		for i, from := range []string{"a@example.com", "a@mail.example.com"} {
			r := verify(wire("From: "+from, "", "x"), z)
			if r.DMARC.ResultCode != Fail || r.FailsEnforcedPolicy != want[i] {
				t.Errorf("%s: %s is %s, unwanted %v", record, from, r.DMARC.ResultCode, r.FailsEnforcedPolicy)
			}
		}
		z.publish(t, ed, "")
		if r := verify(signed(t, plain, ed), z); r.DMARC.ResultCode != Pass || r.FailsEnforcedPolicy {
			t.Errorf("%s: what passes is unwanted: %+v", record, r)
		}
	}
}

// TestSPFVouches checks that SPF of a subdomain of From's is aligned, but does not authenticate
// domains above it.
func TestSPFVouches(t *testing.T) {
	const all = "v=spf1 +all"
	z := zone{"example.com": {all}, "bounces.example.com": {all}, "example.net": {all}}
	for sender, want := range map[string][2]bool{ // aligned, vouches
		"a@example.com": {true, true}, "b@bounces.example.com": {true, false}, "a@example.net": {false, false},
	} {
		r := VerifyMessage(t.Context(), VerifyInput{ClientIP: netip.MustParseAddr("192.0.2.1"), HELO: "mx.test", MailFrom: sender, RawMessage: wire("From: a@example.com", "", "x"), Now: now}, z)
		if got := [2]bool{r.FromAligned(), r.SPFVouches()}; r.SPF.ResultCode != Pass || got != want {
			t.Errorf("%s: %v, %+v", sender, got, r.SPF)
		}
	}
}

// TestExpiry checks that a signature is valid until its x=, and not after it.
func TestExpiry(t *testing.T) {
	z := zone{}
	z.publish(t, ed, "")
	expires := now.AddDate(20, 0, 0) // go-msgauth signs by the real clock
	var out bytes.Buffer
	if err := godkim.Sign(&out, bytes.NewReader(plain), &godkim.SignOptions{Domain: "example.com", Selector: "ed", Signer: edKey, Expiration: expires}); err != nil {
		t.Fatal(err)
	}
	for at, want := range map[time.Time]ResultCode{expires: Pass, expires.Add(time.Second): Fail} {
		r := VerifyMessage(t.Context(), VerifyInput{RawMessage: out.Bytes(), Now: at}, z)
		if r.DKIM.ResultCode != want || r.AuthenticatesDomain("example.com") != (want == Pass) || !r.Signatures[0].ExpiresAt.Equal(expires) {
			t.Errorf("at %v: %+v", at, r.Signatures)
		}
	}
}

type localKeys map[string]crypto.PublicKey

func (l localKeys) PublicKey(domain, selector string) (crypto.PublicKey, bool) {
	k, ok := l[RecordName(domain, selector)]
	return k, ok
}

// TestLocalKeys checks that local keys are used without DNS and instead of its records.
func TestLocalKeys(t *testing.T) {
	raw := signed(t, plain, ed)
	keys := localKeys{"ed._domainkey.example.com": edKey.Public()}
	for name, z := range map[string]zone{"nothing": {}, "trouble": {"ed._domainkey.example.com": {"TEMP"}}, "a lie": {"ed._domainkey.example.com": {exampleKey}}} {
		r := VerifyMessage(t.Context(), VerifyInput{RawMessage: raw, LocalKeys: keys, Now: now}, z)
		if r.DKIM != (Verdict{Pass, "example.com"}) || !r.AuthenticatesDomain("example.com") {
			t.Errorf("%s in the DNS: %+v", name, r.Signatures)
		}
	}
	if r := VerifyMessage(t.Context(), VerifyInput{RawMessage: signed(t, plain, absent), LocalKeys: keys, Now: now}, zone{}); r.DKIM.ResultCode != PermError {
		t.Errorf("another selector: %+v", r.DKIM)
	}
}

// TestBestFirst checks the order of signatures, and that five of them are verified.
func TestBestFirst(t *testing.T) {
	z := zone{}
	other := Signer{Domain: "esp.example.net", Selector: "s", Key: edKey}
	z.publish(t, ed, "")
	z.publish(t, other, "")
	r := verify(signed(t, plain, absent, other, ed), z)
	var order []string
	for _, s := range r.Signatures {
		order = append(order, fmt.Sprintf("%s %s %v", s.ResultCode, s.Domain, s.IsAligned))
	}
	if want := []string{"pass example.com true", "pass esp.example.net false", "permerror example.com true"}; !slices.Equal(order, want) {
		t.Errorf("%q", order)
	}
	if r := verify(signed(t, plain, absent, absent, absent, absent, absent, ed), z); len(r.Signatures) != maxSignatures || r.DKIM.ResultCode != PermError {
		t.Errorf("the sixth was looked at: %+v", r.DKIM)
	}
}

// TestRSASizes accepts keys of 1,024 to 4,096 bits, in both forms of the record.
func TestRSASizes(t *testing.T) {
	record := func(bits int, pkcs1 bool) string {
		k, err := rsa.GenerateKey(rand.Reader, max(bits, 1024))
		if err != nil {
			t.Fatal(err)
		}
		if bits < 1024 {
			k.N.Rsh(k.N, uint(1024-bits))
		}
		der, err := x509.MarshalPKIXPublicKey(&k.PublicKey)
		if pkcs1 {
			der = x509.MarshalPKCS1PublicKey(&k.PublicKey)
		}
		if err != nil {
			t.Fatal(err)
		}
		return "p=" + base64.StdEncoding.EncodeToString(der)
	}
	for _, c := range []struct {
		bits int
		ok   bool
	}{{1023, false}, {1024, true}, {2048, true}} {
		for _, pkcs1 := range []bool{false, true} {
			if _, reason := parseKey(record(c.bits, pkcs1)); (reason == "") != c.ok {
				t.Errorf("%d bits, PKCS #1 %v: %q", c.bits, pkcs1, reason)
			}
		}
	}
	huge := rsa.PublicKey{N: new(big.Int).Lsh(rsaKeys().RSA.N, 4096), E: 65537}
	der := x509.MarshalPKCS1PublicKey(&huge)
	if _, reason := parseKey("p=" + base64.StdEncoding.EncodeToString(der)); reason == "" {
		t.Error("a key of 6,144 bits was taken")
	}
}
