package courier

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"inboxd/internal/core/delivery"
)

// certificateFor creates a certificate that only roots trusts.
func certificateFor(t testing.TB, names ...string) (cert tls.Certificate, roots *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, DNSNames: names, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, _ := x509.ParseCertificate(der)
	roots = x509.NewCertPool()
	roots.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}

var withTLS = []string{"PIPELINING", "STARTTLS"}

func TestOpportunisticTLS(t *testing.T) {
	cert, _ := certificateFor(t, "somebody.else")
	for name, c := range map[string]struct {
		mx    *fakeMX
		tls   bool
		conns int
	}{
		"any certificate":     {&fakeMX{ext: withTLS, tls: &tls.Config{Certificates: []tls.Certificate{cert}}}, true, 1},
		"refused":             {&fakeMX{ext: withTLS, replies: map[string]string{"STARTTLS": "454 not now"}}, false, 1},
		"handshake fails":     {&fakeMX{ext: withTLS, tls: &tls.Config{}}, false, 2},
		"garbage":             {&fakeMX{ext: withTLS, takeOver: garbageTLS}, false, 2},
		"words before it all": {&fakeMX{ext: withTLS, takeOver: injectTLS}, false, 1},
	} {
		mx := c.mx.start(t, "127.0.0.1", 0)
		got := courier(t, Options{Resolver: oneMX(), MXPort: mx.port}).Deliver(t.Context(), toX("a@x.example"))[0]
		want := delivery.OutcomeDelivered
		if name == "words before it all" {
			want = delivery.OutcomeTemporary // an attacker who can inject could do worse without TLS
		}
		if got.Outcome != want || got.TLS != c.tls || mx.connections() != c.conns {
			t.Errorf("%s: %+v, %d connections", name, got, mx.connections())
		}
	}
}

func garbageTLS(conn net.Conn, command string) bool {
	if command == "STARTTLS" {
		io.WriteString(conn, "220 ready\r\n")
		buf := make([]byte, 1)
		conn.Read(buf) // the handshake has begun
		io.WriteString(conn, strings.Repeat("garbage ", 1000))
	}
	return command == "STARTTLS"
}

func injectTLS(conn net.Conn, command string) bool {
	if command == "STARTTLS" {
		io.WriteString(conn, "220 ready\r\n250-PIPELINING\r\n250 AUTH PLAIN\r\n")
	}
	return command == "STARTTLS"
}

func TestSmarthost(t *testing.T) {
	cert, roots := certificateFor(t, "localhost")
	secure := &tls.Config{Certificates: []tls.Certificate{cert}}
	for _, c := range []struct {
		name     string
		ext      []string
		replies  map[string]string
		smart    Smarthost
		trusted  bool
		implicit bool
		want     delivery.AttemptOutcome
		said     string
	}{
		{"no password", nil, nil, Smarthost{}, false, false, delivery.OutcomeDelivered, "MAIL"},
		{"plain", []string{"AUTH LOGIN PLAIN"}, map[string]string{"AUTH PLAIN": "235 ok"}, Smarthost{Username: "u", Password: "p"}, false, false, delivery.OutcomeDelivered, "AUTH PLAIN AHUAcA=="},
		{"login", []string{"AUTH LOGIN"}, map[string]string{"AUTH": "334 VXNlcg", "dQ==": "334 UGFzcw", "cA==": "235 ok"}, Smarthost{Username: "u", Password: "p"}, false, false, delivery.OutcomeDelivered, "cA=="},
		{"wrong password", []string{"AUTH PLAIN"}, map[string]string{"AUTH PLAIN": "535 5.7.8 no"}, Smarthost{Username: "u", Password: "p"}, false, false, delivery.OutcomeTemporary, "AUTH"},
		{"no AUTH", nil, nil, Smarthost{Username: "u", Password: "p"}, false, false, delivery.OutcomeTemporary, "EHLO"},
		{"required, absent", nil, nil, Smarthost{TLS: TLSRequired}, true, false, delivery.OutcomeTemporary, "EHLO"},
		{"required, refused", withTLS, map[string]string{"STARTTLS": "454 no"}, Smarthost{TLS: TLSRequired}, true, false, delivery.OutcomeTemporary, "STARTTLS"},
		{"required", withTLS, nil, Smarthost{TLS: TLSRequired}, true, false, delivery.OutcomeDelivered, "STARTTLS"},
		{"required, untrusted", withTLS, nil, Smarthost{TLS: TLSRequired}, false, false, delivery.OutcomeTemporary, "STARTTLS"},
		{"never", withTLS, nil, Smarthost{TLS: TLSNone}, true, false, delivery.OutcomeDelivered, "MAIL"},
		{"implicit", []string{"AUTH PLAIN"}, map[string]string{"AUTH PLAIN": "235 ok"}, Smarthost{TLS: TLSImplicit, Username: "u", Password: "p"}, true, true, delivery.OutcomeDelivered, "AUTH"},
	} {
		mx := &fakeMX{ext: c.ext, replies: c.replies, tls: secure}
		if c.implicit {
			mx.takeOver = func(conn net.Conn, command string) bool {
				if _, done := conn.(*tls.Conn); done {
					return false
				}
				mx.serve(tls.Server(conn, secure))
				return true
			}
		}
		mx.start(t, "127.0.0.1", 0)
		opts := Options{Smarthost: c.smart}
		opts.Smarthost.Addr = "localhost:" + strconv.Itoa(mx.port)
		if c.trusted {
			opts.RootCAs = roots
		}
		got := courier(t, opts).Deliver(t.Context(), toX("a@x.example", "b@y.example"))[1]
		if got.Outcome != c.want || mx.said(c.said) == 0 || c.smart.TLS == TLSNone && got.TLS || c.implicit && !got.TLS {
			t.Errorf("%s: %+v %q", c.name, got, mx.lines)
		}
	}
}

// A password is not sent where others could read it.
func TestPasswordNeedsTLS(t *testing.T) {
	mx := (&fakeMX{ext: []string{"AUTH PLAIN"}}).start(t, "127.0.0.1", 0)
	c := courier(t, Options{})
	target := connectTarget{host: "smart.example", addr: fmt.Sprintf("127.0.0.1:%d", mx.port), username: "u", password: "p"}
	if _, err := c.connect(t.Context(), target); err == nil || mx.said("AUTH") > 0 {
		t.Errorf("%v %q", err, mx.lines)
	}
}

// policyHost serves MTA-STS policies for x.example.
func policyHost(t *testing.T, cert tls.Certificate, policy *atomic.Pointer[string]) (port int, fetched *atomic.Int64) {
	fetched = new(atomic.Int64)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fetched.Add(1)
		text := *policy.Load()
		if location, ok := strings.CutPrefix(text, "redirect "); ok {
			http.Redirect(w, r, location, http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if r.URL.Path != "/.well-known/mta-sts.txt" || text == "" {
			w.WriteHeader(http.StatusNotFound)
		}
		io.WriteString(w, text)
	}))
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	s.StartTLS()
	t.Cleanup(s.Close)
	at, _ := url.Parse(s.URL)
	port, _ = strconv.Atoi(at.Port())
	return port, fetched
}

func TestMTASTS(t *testing.T) {
	good, roots := certificateFor(t, "mx.x.example", "mta-sts.x.example")
	bad, _ := certificateFor(t, "mx.x.example")
	for _, c := range []struct {
		name, policy string
		cert         *tls.Certificate // of the mail server; nil: none
		want         delivery.AttemptOutcome
	}{
		{"met", "version: STSv1\r\nmode: enforce\r\nmx: mx.x.example\r\nmax_age: 86400\r\n", &good, delivery.OutcomeDelivered},
		{"wildcard", "version: STSv1\nmode: enforce\nmx: other.example\nmx: *.X.example\nmax_age: 86400", &good, delivery.OutcomeDelivered},
		{"other host", "version: STSv1\nmode: enforce\nmx: x.example\nmx: *.mx.x.example\nmax_age: 86400", &good, delivery.OutcomeTemporary},
		{"bad certificate", "version: STSv1\nmode: enforce\nmx: mx.x.example\nmax_age: 86400", &bad, delivery.OutcomeTemporary},
		{"no TLS", "version: STSv1\nmode: enforce\nmx: mx.x.example\nmax_age: 86400", nil, delivery.OutcomeTemporary},
		{"testing", "version: STSv1\nmode: testing\nmx: other.example\nmax_age: 86400", &bad, delivery.OutcomeDelivered},
		{"none", "version: STSv1\nmode: none\nmax_age: 86400", nil, delivery.OutcomeDelivered},
		{"no policy", "", &bad, delivery.OutcomeDelivered},
		{"not one", "version: STSv2\nmode: enforce\nmx: other.example\nmax_age: 86400", &bad, delivery.OutcomeDelivered},
		{"too large", "version: STSv1\nmode: enforce\nmx: other.example\n" + strings.Repeat("x", maxPolicySize) + "\nmax_age: 86400", &bad, delivery.OutcomeDelivered},
		{"redirect", "redirect /other", &bad, delivery.OutcomeDelivered},
	} {
		t.Run(c.name, func(t *testing.T) {
			mx := &fakeMX{ext: pipelining}
			if c.cert != nil {
				mx = &fakeMX{ext: withTLS, tls: &tls.Config{Certificates: []tls.Certificate{*c.cert}}}
			}
			mx.start(t, "127.0.0.1", 0)
			var policy atomic.Pointer[string]
			policy.Store(&c.policy)
			port, fetched := policyHost(t, good, &policy)
			dns := oneMX()
			dns.ip["mta-sts.x.example"] = []string{"127.0.0.1"}
			dns.txt = map[string][]string{"_mta-sts.x.example": {"v=spf1 -all", "v=STSv1; id=1;"}}
			courier := courier(t, Options{Resolver: dns, MXPort: mx.port, STSPort: port, RootCAs: roots})
			for range 2 {
				if got := courier.Deliver(t.Context(), toX("a@x.example"))[0]; got.Outcome != c.want || c.want == delivery.OutcomeTemporary && got.Enhanced != "4.7.5" {
					t.Errorf("%+v", got)
				}
			}
			if fetched.Load() != 1 {
				t.Errorf("fetched %d times", fetched.Load())
			}
			if c.want == delivery.OutcomeTemporary && len(mx.received()) > 0 {
				t.Error("the mail was sent")
			}
		})
	}
}

// An enforced policy stays valid after its record is lost, and an idle link must satisfy it.
func TestMTASTSRenewal(t *testing.T) {
	good, roots := certificateFor(t, "mta-sts.x.example")
	text := "version: STSv1\nmode: enforce\nmx: mx.x.example\nmax_age: 86400"
	var policy atomic.Pointer[string]
	policy.Store(&text)
	port, fetched := policyHost(t, good, &policy)
	dns := oneMX()
	dns.ip["mta-sts.x.example"] = []string{"127.0.0.1"}
	dns.txt = map[string][]string{"_mta-sts.x.example": {"v=STSv1; id=1"}}
	opts := Options{Resolver: dns, STSPort: port, RootCAs: roots, AddressPolicy: allowLoopback}
	s := newSTSCache(opts)
	first := s.policyFor(t.Context(), "x.example")
	age := func(by time.Duration) {
		e := s.entries["x.example"]
		e.checkedAt, e.policy.expiresAt = e.checkedAt.Add(-by), e.policy.expiresAt.Add(-by)
		s.entries["x.example"] = e
	}
	step := func(what string, by time.Duration, enforce bool, id string, fetches int64) {
		t.Helper()
		age(by)
		if p := s.policyFor(t.Context(), "x.example"); p.isEnforced != enforce || p.id != id || fetched.Load() != fetches {
			t.Errorf("%s: %+v after %d fetches", what, p, fetched.Load())
		}
	}
	step("at once", 0, true, "1", 1)
	step("the same id", time.Hour, true, "1", 1)
	dns.txt["_mta-sts.x.example"] = []string{"v=STSv1; id=2"}
	step("not yet looked", time.Minute, true, "1", 1)
	step("a new id", time.Hour, true, "2", 2)
	empty := ""
	policy.Store(&empty)
	dns.txt["_mta-sts.x.example"] = []string{"v=STSv1; id=3"}
	step("a new id, no file", time.Hour, true, "2", 3)
	dns.txt = nil
	step("no record", time.Hour, true, "2", 3)
	step("expired", 48*time.Hour, false, "", 3)

	for _, l := range []*link{{hostName: "mx.x.example"}, {hostName: "other", isVerified: true}} {
		if first.acceptsLink(l) {
			t.Errorf("%+v meets the policy", l)
		}
	}
	// The guard also applies to the policy host.
	opts.AddressPolicy.AllowedPrefixes = nil
	if _, _, err := newSTSCache(opts).fetchPolicy(t.Context(), "x.example"); err == nil || !strings.Contains(err.Error(), "loopback") {
		t.Error(err)
	}
}

func TestRecordID(t *testing.T) {
	for _, c := range []struct {
		records []string
		id      string
	}{
		{nil, ""}, {[]string{"v=STSv1; id=20;"}, "20"}, {[]string{"v=STSv1;id=a"}, "a"}, {[]string{"v=STSv1 ; id=c"}, "c"}, {[]string{"x", "v=STSv1; x=y; id=b"}, "b"},
		{[]string{"v=STSv1; id=1", "v=STSv1; id=2"}, ""}, {[]string{"v=STSv10; id=1"}, ""}, {[]string{"v=STSv1; id="}, ""}, {[]string{"v=STSv1; id=" + strings.Repeat("1", 40)}, ""},
	} {
		if id, _ := recordID(c.records); id != c.id {
			t.Errorf("%q: %q", c.records, id)
		}
	}
}
