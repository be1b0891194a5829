package main

import (
	"crypto/ed25519"
	"net/netip"
	netsmtp "net/smtp"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	godkim "github.com/emersion/go-msgauth/dkim"

	"inboxd/internal/base/resolve"
	"inboxd/internal/intake/ingest"
	"inboxd/internal/mail/mailauth"
	"inboxd/internal/testutil/dnstest"
)

var signer = mailauth.Signer{Domain: "example.com", Selector: "s", Key: ed25519.NewKeyFromSeed([]byte("inboxd's tests sign with this..."))}

// exampleZone publishes a sender that is configured correctly and sends from this machine.
func exampleZone(t *testing.T) []string {
	t.Helper()
	record, err := mailauth.KeyRecord(signer.Key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return []string{
		`example.com. 300 IN TXT "v=spf1 ip4:127.0.0.1 ip6:::1 -all"`,
		`_dmarc.example.com. 300 IN TXT "v=DMARC1; p=reject"`,
		mailauth.RecordName(signer.Domain, signer.Selector) + `. 300 IN TXT "` + record + `"`,
	}
}

// send signs raw, changes it as a forwarder would, and submits it.
func (s *server) send(t *testing.T, from, to, raw string, change func(string) string) {
	t.Helper()
	signed, err := mailauth.Sign([]byte(raw), signer)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		signed = []byte(change(string(signed)))
	}
	if err := netsmtp.SendMail(s.smtp, nil, from, []string{to}, signed); err != nil {
		t.Fatal(err)
	}
}

func word(email map[string]any, method string) string {
	auth, _ := email["auth"].(map[string]any)
	verdict, _ := auth[method].(map[string]any)
	w, _ := verdict["result"].(string)
	d, _ := verdict["domain"].(string)
	return strings.TrimSpace(w + " " + d)
}

// TestWhoVouches sends signed messages, changed messages and a message with a declared code, and
// reads the verdicts, before and after a crash.
func TestWhoVouches(t *testing.T) {
	dns := dnstest.StartServer(t, exampleZone(t)...)
	dir := filepath.Join(t.TempDir(), "data")
	s := launch(t, dir, "--dns", dns.Addr)
	u := s.signUp(t, "me@example.test")
	address := u.inbox(t, "agent")
	mail := "From: Shop <shop@example.com>\r\nTo: " + address + "\r\nSubject: Sign in\r\nOTP-Token: \"123456\"; origin=\"https://example.com\"\r\n" +
		"Authentication-Results: inbox.localhost; dkim=pass header.d=bank.example\r\n\r\nYour code is 777777\r\n"
	large := mail + strings.Repeat("A line of text, so that the document is kept.\r\n", 1000)
	s.send(t, "bounce@example.com", address, mail, nil)
	s.send(t, "bounce@example.com", address, mail, func(m string) string { return strings.Replace(m, "777777", "888888", 1) })
	s.send(t, "bounce@example.org", address, mail, nil)
	s.send(t, "bounce@example.com", address, large, nil)
	s.send(t, "bounce@example.com", address, mail, func(m string) string { // it had no Received field: ours must not count
		_, bare, _ := strings.Cut(m, "From:")
		var out strings.Builder
		if err := godkim.Sign(&out, strings.NewReader("From:"+bare), &godkim.SignOptions{
			Domain: signer.Domain, Selector: signer.Selector, Signer: signer.Key, HeaderKeys: []string{"From", "Received", "Return-Path"},
		}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	})
	want := map[string][5]string{ // spf, dkim, dmarc, code, source
		"1": {"pass example.com", "pass example.com", "pass example.com", "123456", "header"},
		"2": {"pass example.com", "fail example.com", "pass example.com", "888888", "text"},
		"3": {"none example.org", "pass example.com", "pass example.com", "123456", "header"},
		"4": {"pass example.com", "pass example.com", "pass example.com", "123456", "header"},
		"5": {"pass example.com", "pass example.com", "pass example.com", "777777", "text"}, // OTP-Token is not signed
	}
	check := func(when string) {
		t.Helper()
		for id, want := range want {
			email := u.do(t, 200, "GET", "/inboxes/"+address+"/messages/"+id, nil)["email"].(map[string]any)
			code, _ := email["otp"].(map[string]any)
			got := [5]string{word(email, "spf"), word(email, "dkim"), word(email, "dmarc"), code["code"].(string), code["source"].(string)}
			if got != want {
				t.Errorf("%s, message %s: %q, want %q", when, id, got, want)
			}
			results, _ := email["headers"].(map[string]any)["Authentication-Results"].(string)
			if dkim, _, _ := strings.Cut(want[1], " "); !strings.HasPrefix(results, "inbox.localhost; spf=") || !strings.Contains(results, "dkim="+dkim+" header.d=example.com") {
				t.Errorf("%s, message %s: results %q", when, id, results)
			}
		}
		list := u.do(t, 200, "GET", "/inboxes/"+address+"/messages?fields=id,auth", nil)["emails"].([]any)
		if newest := list[0].(map[string]any); word(newest, "dkim") != "pass example.com" {
			t.Errorf("%s: in the list: %v", when, newest)
		}
	}
	check("at first")
	s.kill()
	s = launch(t, dir, "--dns", dns.Addr)
	u.server = s
	check("after kill -9")
}

// TestSilentDNS checks that a DNS server that does not respond delays a message by at most 5 s,
// once, that the message says so, and that verdicts return when the server does.
func TestSilentDNS(t *testing.T) {
	dns := dnstest.StartServer(t, exampleZone(t)...)
	dns.StopAnswering()
	s := launch(t, filepath.Join(t.TempDir(), "data"), "--dns", dns.Addr)
	u := s.signUp(t, "me@example.test")
	address := u.inbox(t, "agent")
	const mail = "From: Shop <shop@example.com>\r\nSubject: hello\r\n\r\nhello\r\n"
	start := time.Now()
	s.send(t, "bounce@example.com", address, mail, nil)
	if took := time.Since(start); took > 15*time.Second { // 5 s, and a machine that does other things
		t.Errorf("250 after %v", took)
	}
	email := u.latest(t, address, "")
	if got := [3]string{word(email, "spf"), word(email, "dkim"), word(email, "dmarc")}; got != [3]string{"temperror example.com", "temperror example.com", "temperror example.com"} {
		t.Errorf("verdicts %q", got)
	}
	start = time.Now()
	s.send(t, "bounce@example.com", address, mail, nil)
	if took := time.Since(start); took > 4*time.Second { // less than the 5 s of the first
		t.Errorf("the second mail waited %v again", took)
	}
	dns.SetHandler(nil)
	for deadline := time.Now().Add(30 * time.Second); ; {
		s.send(t, "bounce@example.com", address, mail, nil)
		if word(u.latest(t, address, ""), "dmarc") == "pass example.com" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the verdicts do not come back")
		}
	}
}

// TestNoDNS checks that the default configuration makes nobody wait, whatever DNS this machine has.
func TestNoDNS(t *testing.T) {
	s := launch(t, filepath.Join(t.TempDir(), "data"))
	u := s.signUp(t, "me@example.test")
	address := u.inbox(t, "agent")
	start := time.Now()
	if err := s.mail(address, "482913"); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 4*time.Second { // less than the 5 s of a silent server
		t.Errorf("250 after %v", took)
	}
	email := u.latest(t, address, "")
	if word(email, "spf") == "" || word(email, "dkim") != "none" || word(email, "dmarc") == "" {
		t.Errorf("verdicts %v", email["auth"])
	}
	if _, err := tryLaunch(t.TempDir(), "--dns", "::::"); err == nil || !strings.Contains(err.Error(), "--dns") {
		t.Errorf("--dns ::::: %v", err)
	}
}

func TestDNSFlag(t *testing.T) {
	for flag, want := range map[string]string{
		"": "", "127.0.0.1:53": "127.0.0.1:53", "127.0.0.1": "127.0.0.1:53", "::1": "[::1]:53", "[::1]:5353": "[::1]:5353", "dns.example": "dns.example:53",
	} {
		if got, err := dnsServer(flag); err != nil || got != want {
			t.Errorf("%q: %q, %v", flag, got, err)
		}
	}
	for _, flag := range []string{"::::", ":53", "127.0.0.1:", "a:b:c", "127.0.0.1:99999", "127.0.0.1:0", "127.0.0.1:domain"} {
		if got, err := dnsServer(flag); err == nil {
			t.Errorf("%q is taken for %q", flag, got)
		}
	}
}

// TestVerdictsFollowTheDNS sends the same message repeatedly while the DNS records change. A
// verdict is based on cached records, and the next one on new records when the cached ones expire.
func TestVerdictsFollowTheDNS(t *testing.T) {
	record := func(spf string) []string {
		return []string{`example.com. 300 IN TXT "` + spf + `"`, `_dmarc.example.com. 300 IN TXT "v=DMARC1; p=reject"`}
	}
	var passed atomic.Int64
	begin := time.Now()
	server := dnstest.StartServer(t, record("v=spf1 ip4:192.0.2.0/24 -all")...)
	j := ingest.MessageAuthenticator{AuthServID: "inbox.test", CachedFindings: mailauth.NewFindings(), Now: time.Now}
	j.DNS = resolve.New(server.Addr, resolve.Options{Clock: func() time.Time { return begin.Add(time.Duration(passed.Load())) }})
	env := ingest.Envelope{MailFrom: "bounce@example.com", Helo: "mx.example.com", RemoteIP: netip.MustParseAddr("192.0.2.1")}
	send := func(spf, dmarc string) {
		t.Helper()
		for range 3 {
			if a := j.VerdictFor(t.Context(), env, []byte("From: Shop <shop@example.com>\r\n\r\n")).Auth; a.SPF.ResultKeyword != spf || a.DMARC.ResultKeyword != dmarc {
				t.Errorf("spf=%s dmarc=%s, want %s, %s", a.SPF.ResultKeyword, a.DMARC.ResultKeyword, spf, dmarc)
			}
		}
	}
	send("pass", "pass")
	server.SetRecords(t, record("v=spf1 ip4:198.51.100.0/24 ~all")...)
	send("pass", "pass") // cached for 300 s
	passed.Add(int64(301 * time.Second))
	send("softfail", "fail")
	server.SetRecords(t)
	passed.Add(int64(301 * time.Second))
	send("none", "none")
}

// BenchmarkJudge measures the cost of a verdict per message: with cached records, and on a machine
// without DNS.
func BenchmarkJudge(b *testing.B) {
	raw := "From: Shop <shop@example.com>\r\nSubject: hello\r\n\r\n" + strings.Repeat("A line of text as people write it.\r\n", 50)
	signed, err := mailauth.Sign([]byte(raw), signer)
	if err != nil {
		b.Fatal(err)
	}
	record, _ := mailauth.KeyRecord(signer.Key.Public())
	env := ingest.Envelope{MailFrom: "bounce@example.com", Helo: "mx.example.com", RemoteIP: netip.MustParseAddr("192.0.2.1")}
	dns := resolve.New(dnstest.StartServer(b, `example.com. 300 IN TXT "v=spf1 ip4:192.0.2.0/24 -all"`, `_dmarc.example.com. 300 IN TXT "v=DMARC1; p=reject"`,
		mailauth.RecordName(signer.Domain, signer.Selector)+`. 300 IN TXT "`+record+`"`).Addr, resolve.Options{})
	silent := resolve.New("", resolve.Options{})
	for _, c := range []struct {
		name string
		dns  *resolve.Resolver
		raw  []byte
	}{{"warm", dns, []byte(raw)}, {"signed", dns, signed}, {"silent", silent, []byte(raw)}} {
		b.Run(c.name, func(b *testing.B) {
			j := ingest.MessageAuthenticator{AuthServID: "inbox.test", DNS: c.dns, CachedFindings: mailauth.NewFindings(), Now: time.Now}
			b.ReportAllocs()
			for b.Loop() {
				j.VerdictFor(b.Context(), env, c.raw)
			}
		})
	}
}
