package mailauth

import (
	"bytes"
	"context"
	"fmt"
	"inboxd/internal/testutil/budget"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	godkim "github.com/emersion/go-msgauth/dkim"
)

// bombs are messages that are expensive for a careless parser.
func bombs(t testing.TB) map[string][]byte {
	one := string(signed(t, plain, ed))
	sig := one[:strings.Index(one, "From: Ada")]
	rest := one[len(sig):]
	tag := func(name, value string) []byte {
		return []byte(strings.Replace(sig, name, value, 1) + rest)
	}
	return map[string][]byte{
		"1,000 signatures":            []byte(strings.Repeat(sig, 1000) + rest),
		"a signature of 200 KB":       tag("h=from", "h="+strings.Repeat("from:", 40_000)+"from"),
		"20,000 tags":                 tag("v=1;", "v=1;"+strings.Repeat("x=1;", 7_000)),
		"a b= of 30 KB":               tag("b=", "b="+strings.Repeat("A", 30_000)),
		"a signature folded 100,000x": tag("h=from", "h="+strings.Repeat("\r\n ", 100_000)+"from"),
		"a header of 20 MB":           []byte(sig + strings.Repeat("X: "+strings.Repeat("x", 900)+"\r\n", 20_000) + rest),
		"a field of 20 MB":            []byte(sig + "X: " + strings.Repeat("x\r\n ", 5<<20) + "\r\n" + rest),
		"10,000 fields":               []byte(sig + strings.Repeat("A:\r\n", 10_000) + rest),
		"1,900 fields, all signed":    []byte(strings.Repeat(strings.Replace(sig, "h=from", "h="+strings.Repeat("a:", 195)+"from", 1), 5) + strings.Repeat("A:\r\n", 1900) + rest),
		"a body of blanks":            []byte(one + strings.Repeat(" \t", 10<<20)),
		"a body of empty lines":       []byte(one + strings.Repeat("\r\n", 10<<20) + "x\r\n"),
		"a body of one line":          []byte(one + strings.Repeat("x y", 7<<20) + "\r\n"),
		"Froms without end":           []byte(sig + strings.Repeat("From: a@example.com, b@example.com\r\n", 1900) + rest),
		"a From of 200 KB":            []byte(sig + "From: " + strings.Repeat("a@example.com, ", 14_000) + "\r\n" + rest),
		"no line break":               bytes.Repeat([]byte("DKIM-Signature: "), 1<<20),
		"nothing":                     nil,
	}
}

// TestBombs checks that they cost little and authenticate nothing unsigned. A relaxed signature
// ignores whitespace at the end of a body.
func TestBombs(t *testing.T) {
	z := zone{}
	z.publish(t, ed, "")
	for name, raw := range bombs(t) {
		var r AuthResult
		t.Run(name, func(t *testing.T) {
			budget.AtMost(t, budget.Of{CPU: 250 * time.Millisecond, Bytes: 1 << 30}, func() { r = verify(raw, z) })
		})
		if want := name == "a body of blanks"; len(r.Signatures) > maxSignatures || (r.DKIM.ResultCode == Pass) != want {
			t.Errorf("%s: %d signatures, %s", name, len(r.Signatures), r.DKIM.ResultCode)
		}
	}
}

// counting counts lookups, and answers each with an SPF record that needs another.
type counting struct {
	zone
	asked atomic.Int64
}

func (c *counting) LookupTXT(_ context.Context, name string) ([]string, error) {
	n := c.asked.Add(1)
	return []string{fmt.Sprintf("v=spf1 include:a%d.%s include:b%d.%s mx ptr exists:%%{l}%%{h}%%{i}.%s ?all", n, name, n, name, name)}, nil
}

// TestHostileSPF checks that a record with endless includes causes a limited number of lookups.
func TestHostileSPF(t *testing.T) {
	c := &counting{zone: zone{}}
	v := checkSPF(t.Context(), VerifyInput{ClientIP: netip.MustParseAddr("192.0.2.1"), HELO: "x.example"}, spfIdentity{"a", "evil.example"}, c)
	if v.ResultCode != PermError || c.asked.Load() > 11 {
		t.Errorf("%s after %d questions", v.ResultCode, c.asked.Load())
	}
}

// mute does not answer until the caller gives up.
type mute struct{ zone }

func (m mute) LookupTXT(ctx context.Context, name string) ([]string, error) {
	<-ctx.Done()
	return m.zone.get(ctx, name)
}

// TestMuteDNS checks that all lookups together take 5 s at most, and that unknown results are
// reported as such.
func TestMuteDNS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		r := verify(signed(t, plain, ed, absent), mute{})
		if took := time.Since(start); took != maxTime {
			t.Errorf("took %v", took)
		}
		if r.SPF.ResultCode != TempError || r.DKIM.ResultCode != TempError || r.DMARC.ResultCode != TempError {
			t.Errorf("%+v", r)
		}
	})
}

// panicking panics when DNS is queried.
type panicking struct{ zone }

func (panicking) LookupTXT(context.Context, string) ([]string, error) { panic("failpoint") }

// TestPanic checks that a parser's bug only affects the verdict.
func TestPanic(t *testing.T) {
	r := verify(signed(t, plain, ed, absent), panicking{})
	if r.SPF.ResultCode != PermError || r.DMARC.ResultCode != PermError || r.DKIM.ResultCode != PermError || r.AuthenticatesDomain("example.com") {
		t.Errorf("%+v", r)
	}
	if r := verify(signed(t, plain, ed), panicking{}); r.DKIM.ResultCode == Pass || r.AuthenticatesDomain("example.com") {
		t.Errorf("%+v", r)
	}
}

// FuzzVerify compares with go-msgauth: a signature that it rejects must not pass here.
func FuzzVerify(f *testing.F) {
	for _, raw := range bombs(f) {
		if len(raw) < 1<<16 {
			f.Add(raw)
		}
	}
	f.Add(fromFile(f, "testdata/rfc6376.eml"))
	f.Add(fromFile(f, "testdata/rfc8463.eml"))
	f.Add(signed(f, plain, ed, Signer{Domain: "mail.example.com", Selector: "ed", Key: edKey}))
	z := zone{"brisbane._domainkey.example.com": {exampleKey}, "example.com": {"v=spf1 a mx -all"}, "_dmarc.example.com": {"v=DMARC1; p=none"}}
	z.publish(f, ed, "")
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := verify(raw, z)
		if r.AuthenticatesDomain("example.com") && r.DKIM.ResultCode != Pass {
			t.Errorf("%+v", r)
		}
		if r.DKIM.ResultCode != Pass || bytes.IndexByte(raw, 0) >= 0 {
			return
		}
		list, err := godkim.VerifyWithOptions(bytes.NewReader(raw), &godkim.VerifyOptions{MaxVerifications: maxSignatures, LookupTXT: func(name string) ([]string, error) {
			return z.LookupTXT(t.Context(), name)
		}})
		for _, v := range list {
			if v.Err == nil {
				return
			}
		}
		t.Errorf("go-msgauth passes none: %v, %+v\n%q", err, r.Signatures, raw)
	})
}

// FuzzRecords parses arbitrary DNS records.
func FuzzRecords(f *testing.F) {
	f.Add(exampleKey)
	f.Add("v=DMARC1; p=none; rua=mailto:x@y.example; adkim=s; psd=y")
	f.Add("v=spf1 include:%{d}.example.com mx:a.b/24//64 exists:%{ir}.%{v}._spf.%{d2} redirect=x.example")
	f.Fuzz(func(t *testing.T, record string) {
		if k, reason := parseKey(record); (k.publicKey == nil) && reason == "" {
			t.Errorf("no key, and no reason: %q", record)
		}
		readPolicy([]string{record}, true)
		z := zone{"example.com": {record}, "mx example.com": {"a.example.com"}}
		in := VerifyInput{ClientIP: netip.MustParseAddr("192.0.2.1"), HELO: "mx.example.com"}
		if v := checkSPF(t.Context(), in, spfIdentity{"a", "example.com"}, z); v.ResultCode == "" {
			t.Errorf("no word for %q", record)
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	z := zone{"example.com": {"v=spf1 include:_spf.example.com ~all"}, "_spf.example.com": {"v=spf1 ip4:198.51.100.0/24 ip4:192.0.2.0/24 ~all"}, "_dmarc.example.com": {"v=DMARC1; p=none"}}
	keys := rsaKeys()
	r, e := Signer{Domain: "example.com", Selector: "r", Key: keys.RSA}, Signer{Domain: "example.com", Selector: "e", Key: keys.Ed25519}
	z.publish(b, r, "")
	z.publish(b, e, "")
	raw := append(bytes.Clone(plain), bytes.Repeat([]byte("This is a line of text as people write it.\r\n"), 45)...)
	for name, mail := range map[string][]byte{"unsigned": raw, "rsa": signed(b, raw, r), "ed25519": signed(b, raw, e), "both": signed(b, raw, r, e)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if verify(mail, z).SPF.ResultCode != Pass {
					b.Fatal("no pass")
				}
			}
		})
	}
}

func BenchmarkSign(b *testing.B) {
	keys := rsaKeys()
	for name, s := range map[string]Signer{"rsa": {Domain: "example.com", Selector: "r", Key: keys.RSA}, "ed25519": {Domain: "example.com", Selector: "e", Key: keys.Ed25519}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := Sign(plain, s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
