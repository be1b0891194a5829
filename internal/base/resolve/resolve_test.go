package resolve

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"

	"inboxd/internal/testutil/dnstest"
)

var zone = []string{
	`example.com. 300 IN TXT "v=spf1 " "-all"`,
	`example.com. 300 IN TXT "a \"quoted\" \\ and \200 byte"`,
	`example.com. 300 IN MX 20 b.example.com.`,
	`example.com. 300 IN MX 10 a.example.com.`,
	`null.example.com. 300 IN MX 0 .`,
	`a.example.com. 300 IN A 192.0.2.1`,
	`a.example.com. 300 IN AAAA 2001:db8::1`,
	`four.example.com. 300 IN A 192.0.2.4`,
	`alias.example.com. 300 IN CNAME a.example.com.`,
	`dangling.example.com. 300 IN CNAME nowhere.example.net.`,
	`loop.example.com. 300 IN CNAME loop2.example.com.`,
	`loop2.example.com. 300 IN CNAME loop.example.com.`,
	`odd.example.com. 300 IN MX 10 a\032b.example.com.`,
	`dashed.example.com. 300 IN MX 10 -a.example.com.`,
	`1.2.0.192.in-addr.arpa. 300 IN PTR a.example.com.`,
}

// TestLookups looks up one of each, and distinguishes the kinds of failure.
func TestLookups(t *testing.T) {
	r, ctx := New(dnstest.StartServer(t, zone...).Addr, Options{}), t.Context()
	txt := func(name string) (string, error) { v, err := r.LookupTXT(ctx, name); return fmt.Sprintf("%q", v), err }
	mx := func(name string) (string, error) {
		v, err := r.LookupMX(ctx, name)
		var b strings.Builder
		for _, m := range v {
			fmt.Fprintf(&b, "%d %s,", m.Pref, m.Host)
		}
		return b.String(), err
	}
	ip := func(name string) (string, error) { v, err := r.LookupIPAddr(ctx, name); return fmt.Sprint(v), err }
	ptr := func(name string) (string, error) { v, err := r.LookupAddr(ctx, name); return fmt.Sprint(v), err }
	for _, c := range []struct {
		name string
		ask  func(string) (string, error)
		of   string
		want string
		fail string // "", "none" (the name exists), "nxdomain", "temporary", "other"
	}{
		{"TXT, strings joined and unescaped", txt, "Example.COM.", `["v=spf1 -all" "a \"quoted\" \\ and \xc8 byte"]`, ""},
		{"TXT of a name that has none", txt, "a.example.com", "", "none"},
		{"TXT of an empty non-terminal", txt, "2.0.192.in-addr.arpa", "", "none"},
		{"TXT of no name", txt, "nowhere.example.com", "", "nxdomain"},
		{"TXT of what can't be a name", txt, strings.Repeat("x", 64) + ".com", "", "nxdomain"},
		{"TXT of the empty name", txt, "", "", "nxdomain"},
		{"MX by preference", mx, "example.com", "10 a.example.com.,20 b.example.com.,", ""},
		{"null MX", mx, "null.example.com", "0 .,", ""},
		{"MX that is no host name", mx, "odd.example.com", "", "other"},
		{"MX with a label that no host has", mx, "dashed.example.com", "", "other"},
		{"MX of a name that has none", mx, "a.example.com", "", "none"},
		{"both kinds of address", ip, "a.example.com", "[{192.0.2.1 } {2001:db8::1 }]", ""},
		{"one kind", ip, "four.example.com", "[{192.0.2.4 }]", ""},
		{"along an alias", ip, "alias.example.com", "[{192.0.2.1 } {2001:db8::1 }]", ""},
		{"an address", ip, "192.0.2.77", "[{192.0.2.77 }]", ""},
		{"an alias to nowhere", ip, "dangling.example.com", "", "nxdomain"},
		{"an alias in a circle", ip, "loop.example.com", "", "temporary"},
		{"no address", ip, "example.com", "", "none"},
		{"no host", ip, "nowhere.example.com", "", "nxdomain"},
		{"a name of an address", ptr, "192.0.2.1", "[a.example.com.]", ""},
		{"an address without", ptr, "192.0.2.2", "", "nxdomain"},
		{"no address at all", ptr, "example.com", "", "other"},
	} {
		for range 2 { // the second time from the cache
			got, err := c.ask(c.of)
			if kind := kindOf(t, err); kind != c.fail || err == nil && got != c.want {
				t.Errorf("%s: %s, %v (%s), want %s (%s)", c.name, got, err, kind, c.want, c.fail)
			}
		}
	}
}

func kindOf(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	d, ok := err.(*net.DNSError) // users assert the type itself
	switch {
	case !ok:
		t.Fatalf("%T is no *net.DNSError", err)
	case NoSuchDomain(err):
		return "nxdomain"
	case d.IsNotFound:
		return "none"
	case d.IsTimeout:
		return "timeout"
	case d.IsTemporary:
		return "temporary"
	}
	return "other"
}

// TestReserved checks that names outside DNS are not sent to a machine's own servers, but are sent
// to a configured server.
func TestReserved(t *testing.T) {
	r := New("", Options{})
	if ips, err := r.LookupIPAddr(t.Context(), "inbox.localhost"); err != nil || len(ips) != 2 || !ips[0].IP.IsLoopback() || !ips[1].IP.IsLoopback() {
		t.Errorf("inbox.localhost is %v, %v", ips, err)
	}
	if _, err := r.LookupTXT(t.Context(), "inbox.localhost"); kindOf(t, err) != "none" {
		t.Errorf("TXT of inbox.localhost: %v", err)
	}
	if _, err := r.LookupMX(t.Context(), "x.invalid"); kindOf(t, err) != "nxdomain" {
		t.Errorf("MX of x.invalid: %v", err)
	}
	named := New(dnstest.StartServer(t, `inbox.localhost. 300 IN TXT "here"`).Addr, Options{})
	if v, err := named.LookupTXT(t.Context(), "inbox.localhost"); err != nil || v[0] != "here" {
		t.Errorf("the named server was not asked: %v, %v", v, err)
	}
}

// TestKept checks how long answers are cached: for their TTL, up to a limit.
func TestKept(t *testing.T) {
	server := dnstest.StartServer(t, `a.test. 60 IN TXT "a"`, `long.test. 999999 IN TXT "l"`, `zero.test. 0 IN TXT "z"`)
	var shift atomic.Int64
	start := time.Now()
	r := New(server.Addr, Options{MaxTTL: 10 * time.Minute, MaxNegative: 30 * time.Second, Clock: func() time.Time {
		return start.Add(time.Duration(shift.Load()))
	}})
	ask := func(name string, at time.Duration, want int) {
		t.Helper()
		shift.Store(int64(at))
		server.TakeQuestions()
		r.LookupTXT(t.Context(), name)
		if n := len(server.TakeQuestions()); n != want {
			t.Errorf("%s after %v: asked %d times, want %d", name, at, n, want)
		}
	}
	ask("a.test", 0, 1)
	ask("A.test.", 59*time.Second, 0)
	ask("a.test", 60*time.Second, 1)
	ask("long.test", 0, 1)
	ask("long.test", 10*time.Minute-1, 0)
	ask("long.test", 10*time.Minute, 1)
	ask("zero.test", 0, 1)
	ask("zero.test", 0, 1)
	ask("none.test", 0, 1)
	ask("none.test", 29*time.Second, 0)
	ask("none.test", 30*time.Second, 1)
	server.SetHandler(func(w dns.ResponseWriter, m *dns.Msg) { w.WriteMsg(new(dns.Msg).SetRcode(m, dns.RcodeServerFailure)) })
	ask("fails.test", 0, 1)
	ask("fails.test", keepFailure-1, 0)
	ask("fails.test", keepFailure, 1)
	server.SetHandler(func(w dns.ResponseWriter, m *dns.Msg) { w.WriteMsg(new(dns.Msg).SetRcode(m, dns.RcodeNameError)) })
	ask("terse.test", 0, 1) // without a time
	ask("terse.test", keepFailure-1, 0)
	ask("terse.test", keepFailure, 1)
}

// TestBounded checks that the cache stays within its limit, and that entries in use stay.
func TestBounded(t *testing.T) {
	c, now := answerCache{maxEntries: 100}, time.Now()
	hot := dnsQuestion{"hot.test", dns.TypeTXT}
	c.putAnswer(hot, dnsAnswer{validUntil: now.Add(time.Hour)})
	for i := range 10_000 {
		c.putAnswer(dnsQuestion{fmt.Sprint(i), dns.TypeTXT}, dnsAnswer{validUntil: now.Add(time.Hour)})
		if _, ok := c.getAnswer(hot, now); !ok {
			t.Fatalf("after %d entries what is in use is gone", i)
		}
		if n := len(c.youngEntries) + len(c.oldEntries); n > 102 {
			t.Fatalf("%d entries", n)
		}
	}
}

// TestTogether checks that concurrent lookups make one query.
func TestTogether(t *testing.T) {
	server := dnstest.StartServer(t)
	release := make(chan struct{})
	server.SetHandler(func(w dns.ResponseWriter, m *dns.Msg) {
		<-release
		w.WriteMsg(answerTXT(m, "x"))
	})
	r := New(server.Addr, Options{})
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.LookupTXT(impatient, "a.test"); kindOf(t, err) != "timeout" {
		t.Errorf("a caller who gave up: %v", err)
	}
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if v, err := r.LookupTXT(t.Context(), "a.test"); err != nil || v[0] != "x" {
				t.Errorf("%v, %v", v, err)
			}
		})
	}
	close(release)
	all.Wait()
	if asked := server.TakeQuestions(); len(asked) != 1 {
		t.Errorf("asked %q", asked)
	}
}

func answerTXT(m *dns.Msg, text string) *dns.Msg {
	reply := new(dns.Msg).SetReply(m)
	reply.Answer = []dns.RR{&dns.TXT{Hdr: dns.RR_Header{Name: m.Question[0].Name, Rrtype: dns.TypeTXT, Class: dns.ClassINET, Ttl: 60}, Txt: []string{text}}}
	return reply
}

// TestOddNames uses names with characters that host names do not have, each of them literal.
func TestOddNames(t *testing.T) {
	d := dnstest.StartServer(t, `a\ b.example.com. 300 IN A 192.0.2.1`, `x\'y\@z\(1\)\;\"q\\r.example.com. 300 IN A 192.0.2.2`,
		`caf\233\000.example.com. 300 IN A 192.0.2.3`, `%.example.com. 300 IN A 192.0.2.4`)
	r := New(d.Addr, Options{})
	for i, name := range []string{"A b.example.com", `x'y@z(1);"q\r.example.com`, "caf\xe9\x00.example.com", "%.example.com"} {
		addrs, err := r.LookupIPAddr(t.Context(), name)
		if want := fmt.Sprintf("192.0.2.%d", i+1); err != nil || len(addrs) != 1 || addrs[0].String() != want {
			t.Errorf("%q: %v %v, want %s", name, addrs, err, want)
		}
	}
}
