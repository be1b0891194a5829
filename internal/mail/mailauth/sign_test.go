package mailauth

import (
	"bytes"
	"crypto/ed25519"
	mathrand "math/rand/v2"
	"strings"
	"testing"

	godkim "github.com/emersion/go-msgauth/dkim"
)

// TestSecondOpinion has go-msgauth verify signatures of Sign, and Verify those of go-msgauth, for
// random messages in every canonical form.
func TestSecondOpinion(t *testing.T) {
	rnd := mathrand.New(mathrand.NewPCG(1, 2))
	z := zone{}
	keys := rsaKeys()
	rsaSigner := Signer{Domain: "example.com", Selector: "rsa", Key: keys.RSA}
	edSigner := Signer{Domain: "example.com", Selector: "ed", Key: keys.Ed25519}
	z.publish(t, rsaSigner, "")
	z.publish(t, edSigner, "")
	lookup := func(name string) ([]string, error) { return z.LookupTXT(t.Context(), name) }
	for i := range 300 {
		raw := randomMail(rnd, "é")
		list, err := godkim.VerifyWithOptions(bytes.NewReader(signed(t, raw, rsaSigner, edSigner)), &godkim.VerifyOptions{LookupTXT: lookup})
		if err != nil || len(list) != 2 || list[0].Err != nil || list[1].Err != nil {
			t.Fatalf("%d: go-msgauth does not verify ours: %+v, %v\n%q", i, list, err, raw)
		}
		s := rsaSigner
		if i%2 == 0 {
			s = edSigner
		}
		forms := []godkim.Canonicalization{godkim.CanonicalizationSimple, godkim.CanonicalizationRelaxed}
		var theirs bytes.Buffer
		if err := godkim.Sign(&theirs, bytes.NewReader(raw), &godkim.SignOptions{
			Domain: s.Domain, Selector: s.Selector, Signer: s.Key,
			HeaderCanonicalization: forms[i/2%2], BodyCanonicalization: forms[i/4%2],
		}); err != nil {
			t.Fatal(err)
		}
		if r := verify(theirs.Bytes(), z); r.DKIM.ResultCode != Pass {
			t.Fatalf("%d: we do not verify go-msgauth's: %+v\n%q", i, r.Signatures, theirs.Bytes())
		}
	}
}

// randomMail has unusual whitespace, folds and empty lines.
func randomMail(rnd *mathrand.Rand, letter string) []byte {
	some := func(n int, pieces ...string) string {
		var b strings.Builder
		for range rnd.IntN(n) {
			b.WriteString(pieces[rnd.IntN(len(pieces))])
		}
		return b.String()
	}
	value := func() string {
		return some(20, "a", "B", " ", "  ", "\t", "\r\n\tx", "\r\n y", ";", ":", "=", letter)
	}
	return []byte("From: ada@example.com" + some(3, " ", "\t") + "\r\nSubject:" + value() + "\r\nX-a:" + value() + "\r\nSubject: " + value() +
		"\r\n\r\n" + some(60, "a", "B", " ", "  ", "\t", "\r\n", "\r\n\r\n", ".", " \r\n") + "\r\n")
}

// TestSign checks that messages which would be modified in transit are refused.
func TestSign(t *testing.T) {
	for name, raw := range map[string][]byte{
		"a bare LF":    []byte("From: a@example.com\r\n\r\na\nb\r\n"),
		"a bare CR":    []byte("From: a@example.com\r\n\r\na\rb\r\n"),
		"a NUL":        []byte("From: a@example.com\r\n\r\na\x00b\r\n"),
		"no last CRLF": []byte("From: a@example.com\r\n\r\na"),
		"a long line":  []byte("From: a@example.com\r\n\r\n" + strings.Repeat("x", 999) + "\r\n"),
		"no From":      wire("Subject: x", "", "x"),
		"two Froms":    wire("From: a@example.com", "From: b@example.com", "", "x"),
		"two senders":  wire("From: a@example.com, b@example.com", "", "x"),
	} {
		if out, err := Sign(raw, ed); err == nil {
			t.Errorf("%s: signed as %q", name, out)
		}
	}
	for name, s := range map[string]Signer{
		"no key":         {Domain: "example.com", Selector: "s"},
		"no domain":      {Selector: "s", Key: edKey},
		"a domain twice": {Domain: "example.com;d=other.com", Selector: "s", Key: edKey},
		"no selector":    {Domain: "example.com", Key: edKey},
		"capitals":       {Domain: "Example.com", Selector: "s", Key: edKey},
	} {
		if out, err := Sign(plain, s); err == nil {
			t.Errorf("%s: signed as %q", name, out)
		}
	}
	out := signed(t, plain, ed)
	if !bytes.HasSuffix(out, plain) || checkWire(out) != nil {
		t.Errorf("%q", out)
	}
	for line := range bytes.Lines(out) {
		if len(line) > 80 {
			t.Errorf("a line of %d octets: %q", len(line), line)
		}
	}
}

// TestPublishes compares DNS records with the key.
func TestPublishes(t *testing.T) {
	mine, _ := KeyRecord(edKey.Public())
	otherKeys := rsaKeys()
	other, _ := KeyRecord(otherKeys.RSA.Public())
	for name, c := range map[string]struct {
		records []string
		want    bool
	}{
		"published":      {[]string{mine}, true},
		"spaced":         {[]string{strings.ReplaceAll(mine, ";", " ; ")}, true},
		"another key":    {[]string{other}, false},
		"two records":    {[]string{mine, other}, false},
		"nothing":        {nil, false},
		"revoked":        {[]string{"v=DKIM1; k=ed25519; p="}, false},
		"in testing":     {[]string{mine + "; t=y"}, false},
		"not for mail":   {[]string{mine + "; s=x"}, false},
		"something else": {[]string{"hello"}, false},
	} {
		if PublishesKey(c.records, mine) != c.want {
			t.Errorf("%s: %v", name, !c.want)
		}
	}
	if _, err := KeyRecord(ed25519.PrivateKey{}); err == nil {
		t.Error("a record of a private key")
	}
}
