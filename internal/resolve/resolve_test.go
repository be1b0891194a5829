package resolve

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"

	"inboxd/internal/resolve/dnstest"
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
	`1.2.0.192.in-addr.arpa. 300 IN PTR a.example.com.`,
}

// TestLookups asks for one of each, and tells the ways of not having it.
func TestLookups(t *testing.T) {
	r, ctx := New(dnstest.Serve(t, zone...).Addr, Options{}), t.Context()
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
		for range 2 { // the second time from what is kept
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
	d, ok := err.(*net.DNSError) // users ask for the type itself
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

// TestReserved holds that a machine's own servers are not asked about names without DNS,
// and that a server that was named is.
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
	named := New(dnstest.Serve(t, `inbox.localhost. 300 IN TXT "here"`).Addr, Options{})
	if v, err := named.LookupTXT(t.Context(), "inbox.localhost"); err != nil || v[0] != "here" {
		t.Errorf("the named server was not asked: %v, %v", v, err)
	}
}

// TestKept holds how long answers are kept: for as long as they say, up to a cap.
func TestKept(t *testing.T) {
	server := dnstest.Serve(t, `a.test. 60 IN TXT "a"`, `long.test. 999999 IN TXT "l"`, `zero.test. 0 IN TXT "z"`)
	var shift atomic.Int64
	start := time.Now()
	r := New(server.Addr, Options{MaxTTL: 10 * time.Minute, MaxNegative: 30 * time.Second, Clock: func() time.Time {
		return start.Add(time.Duration(shift.Load()))
	}})
	ask := func(name string, at time.Duration, want int) {
		t.Helper()
		shift.Store(int64(at))
		server.Asked()
		r.LookupTXT(t.Context(), name)
		if n := len(server.Asked()); n != want {
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
	server.Handle(func(w dns.ResponseWriter, m *dns.Msg) { w.WriteMsg(new(dns.Msg).SetRcode(m, dns.RcodeServerFailure)) })
	ask("fails.test", 0, 1)
	ask("fails.test", keepFailure-1, 0)
	ask("fails.test", keepFailure, 1)
}

// TestBounded holds that what is kept stays within its bound, and what is in use stays.
func TestBounded(t *testing.T) {
	c, now := cache{max: 100}, time.Now()
	hot := question{"hot.test", dns.TypeTXT}
	c.put(hot, answer{until: now.Add(time.Hour)})
	for i := range 10_000 {
		c.put(question{fmt.Sprint(i), dns.TypeTXT}, answer{until: now.Add(time.Hour)})
		if _, ok := c.get(hot, now); !ok {
			t.Fatalf("after %d entries what is in use is gone", i)
		}
		if n := len(c.young) + len(c.old); n > 102 {
			t.Fatalf("%d entries", n)
		}
	}
}

// TestTogether holds that many who ask at the same time make one question.
func TestTogether(t *testing.T) {
	server := dnstest.Serve(t)
	release := make(chan struct{})
	server.Handle(func(w dns.ResponseWriter, m *dns.Msg) {
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
	if asked := server.Asked(); len(asked) != 1 {
		t.Errorf("asked %q", asked)
	}
}

func answerTXT(m *dns.Msg, text string) *dns.Msg {
	reply := new(dns.Msg).SetReply(m)
	reply.Answer = []dns.RR{&dns.TXT{Hdr: dns.RR_Header{Name: m.Question[0].Name, Rrtype: dns.TypeTXT, Class: dns.ClassINET, Ttl: 60}, Txt: []string{text}}}
	return reply
}

// TestLongAnswers come over TCP; without end, not at all.
func TestLongAnswers(t *testing.T) {
	var records []string
	for i := range 100 {
		records = append(records, fmt.Sprintf(`many.test. 60 IN TXT "%d %s"`, i, strings.Repeat("x", 150)))
	}
	for i := range 250 {
		records = append(records, fmt.Sprintf(`flood.test. 60 IN TXT "%d %s"`, i, strings.Repeat("x", 150)))
	}
	for i := range 600 {
		records = append(records, fmt.Sprintf(`crowd.test. 60 IN A 192.0.%d.%d`, i/256, i%256))
	}
	r := New(dnstest.Serve(t, records...).Addr, Options{})
	if v, err := r.LookupTXT(t.Context(), "many.test"); err != nil || len(v) != 100 {
		t.Errorf("%d records, %v", len(v), err)
	}
	if _, err := r.LookupTXT(t.Context(), "flood.test"); kindOf(t, err) != "temporary" {
		t.Errorf("flood: %v", err)
	}
	if v, err := r.LookupIPAddr(t.Context(), "crowd.test"); err != nil || len(v) != maxRecords {
		t.Errorf("crowd: %d, %v", len(v), err)
	}
}

// TestLies are not believed: what is no answer to the question is waited past, and records
// of other names are left out.
func TestLies(t *testing.T) {
	server := dnstest.Serve(t)
	r := New(server.Addr, Options{})
	for name, lie := range map[string]func(*dns.Msg){
		"id":        func(m *dns.Msg) { m.Id++ },
		"name":      func(m *dns.Msg) { m.Question[0].Name = "b.test." },
		"type":      func(m *dns.Msg) { m.Question[0].Qtype = dns.TypeA },
		"two":       func(m *dns.Msg) { m.Question = append(m.Question, m.Question[0]) },
		"none":      func(m *dns.Msg) { m.Question = nil },
		"question":  func(m *dns.Msg) { m.Response = false },
		"not query": func(m *dns.Msg) { m.Opcode = dns.OpcodeNotify },
	} {
		server.Handle(func(w dns.ResponseWriter, m *dns.Msg) {
			false_ := answerTXT(m, "lie")
			lie(false_)
			w.WriteMsg(false_)
			w.Write([]byte{0, 1, 2})
			w.WriteMsg(answerTXT(m, "truth"))
		})
		if v, err := r.LookupTXT(t.Context(), strings.ReplaceAll(name, " ", "-")+".test"); err != nil || v[0] != "truth" {
			t.Errorf("wrong %s: %q, %v", name, v, err)
		}
	}
	server.Handle(func(w dns.ResponseWriter, m *dns.Msg) {
		reply := answerTXT(m, "mine")
		other := dns.Copy(reply.Answer[0]).(*dns.TXT)
		other.Hdr.Name, other.Txt = "victim.test.", []string{"poison"}
		reply.Answer = append(reply.Answer, other)
		w.WriteMsg(reply)
	})
	if v, err := r.LookupTXT(t.Context(), "attacker.test"); err != nil || !slices.Equal(v, []string{"mine"}) {
		t.Errorf("%q, %v", v, err)
	}
	server.Handle(nil)
	if v, err := r.LookupTXT(t.Context(), "victim.test"); !NoSuchDomain(err) {
		t.Errorf("poisoned: %q, %v", v, err)
	}
}

// TestOldServer does not know EDNS.
func TestOldServer(t *testing.T) {
	server := dnstest.Serve(t)
	server.Handle(func(w dns.ResponseWriter, m *dns.Msg) {
		if m.IsEdns0() != nil {
			w.WriteMsg(new(dns.Msg).SetRcodeFormatError(m))
			return
		}
		w.WriteMsg(answerTXT(m, "x"))
	})
	if v, err := New(server.Addr, Options{}).LookupTXT(t.Context(), "a.test"); err != nil || v[0] != "x" {
		t.Errorf("%q, %v", v, err)
	}
}

// TestSilent holds that nobody waits long for a server that says nothing, nobody at all
// once that is known, and that it is noticed when it is back.
func TestSilent(t *testing.T) {
	server := dnstest.Serve(t, `a.test. 60 IN TXT "a"`)
	server.Silence()
	r := New(server.Addr, Options{Timeout: 50 * time.Millisecond})
	for i := range silentAfter {
		if _, err := r.LookupTXT(t.Context(), fmt.Sprintf("%d.test", i)); kindOf(t, err) != "timeout" {
			t.Fatal(err)
		}
	}
	server.Asked()
	for i := range 1000 {
		if _, err := r.LookupTXT(t.Context(), fmt.Sprintf("%d.more.test", i)); kindOf(t, err) != "timeout" {
			t.Fatal(err)
		}
	}
	if asked := server.Asked(); slices.ContainsFunc(asked, func(q string) bool { return q != " NS" }) {
		t.Errorf("still asked: %d questions", len(asked))
	}
	server.Handle(nil)
	for { // each look-up may set off the probe that finds it
		if v, err := r.LookupTXT(t.Context(), "a.test"); err == nil && v[0] == "a" {
			return
		}
		if t.Context().Err() != nil {
			t.Fatal("never noticed")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestSilentDomain holds that a domain whose own server is silent does not cost the others:
// the resolver that answers for the root is alive.
func TestSilentDomain(t *testing.T) {
	server := dnstest.Serve(t)
	server.Handle(func(w dns.ResponseWriter, m *dns.Msg) {
		if !strings.Contains(m.Question[0].Name, "silent") {
			w.WriteMsg(answerTXT(m, "x"))
		}
	})
	r := New(server.Addr, Options{Timeout: 20 * time.Millisecond})
	for i := range 2 * silentAfter {
		r.LookupTXT(t.Context(), fmt.Sprintf("%d.silent.test", i))
	}
	for {
		if _, err := r.LookupTXT(t.Context(), "other.test"); err == nil {
			return
		}
		if t.Context().Err() != nil {
			t.Fatal("silenced for all")
		}
		time.Sleep(time.Millisecond)
	}
}

// TestNoServer fails at once.
func TestNoServer(t *testing.T) {
	r := New("", Options{})
	r.servers = nil
	if _, err := r.LookupTXT(t.Context(), "a.test"); kindOf(t, err) != "timeout" {
		t.Error(err)
	}
	if systemServers("testdata/there-is-no-such-file") != nil {
		t.Error("servers out of nowhere")
	}
}

// TestSecondServer is asked when the first fails.
func TestSecondServer(t *testing.T) {
	bad, good := dnstest.Serve(t), dnstest.Serve(t, `a.test. 60 IN TXT "a"`)
	bad.Handle(func(w dns.ResponseWriter, m *dns.Msg) { w.WriteMsg(new(dns.Msg).SetRcode(m, dns.RcodeRefused)) })
	r := New(bad.Addr, Options{})
	r.servers = []string{bad.Addr, good.Addr}
	if v, err := r.LookupTXT(t.Context(), "a.test"); err != nil || v[0] != "a" {
		t.Errorf("%q, %v", v, err)
	}
}

// FuzzAnswer reads what a server sends: never a panic, never an error of another type, and
// never a record that was not asked for.
func FuzzAnswer(f *testing.F) {
	ask := new(dns.Msg).SetQuestion("a.test.", dns.TypeTXT)
	ask.Id = 7
	whole, err := answerTXT(ask, "x").Pack()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)-3])
	f.Add([]byte{0, 7, 0x81, 0x80})
	f.Fuzz(func(t *testing.T, wire []byte) {
		msg, ok := answers(wire, ask)
		if !ok {
			return
		}
		out := read(msg, "a.test", dns.TypeTXT)
		if len(out.records) > maxRecords {
			t.Errorf("%d records", len(out.records))
		}
		for _, rr := range out.records {
			if txt, ok := rr.(*dns.TXT); ok {
				unescape(strings.Join(txt.Txt, ""))
			}
			if h := rr.Header(); h.Rrtype != dns.TypeTXT || h.Class != dns.ClassINET {
				t.Errorf("taken: %v", rr)
			}
		}
	})
}
