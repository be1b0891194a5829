package resolve

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"inboxd/internal/testutil/dnstest"
)

// TestLongAnswers come over TCP; endless ones fail.
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
	r := New(dnstest.StartServer(t, records...).Addr, Options{})
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

// TestLies checks that datagrams which do not answer the question are skipped, and that records of
// other names are ignored.
func TestLies(t *testing.T) {
	server := dnstest.StartServer(t)
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
		server.SetHandler(func(w dns.ResponseWriter, m *dns.Msg) {
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
	server.SetHandler(func(w dns.ResponseWriter, m *dns.Msg) {
		reply := answerTXT(m, "mine")
		other := dns.Copy(reply.Answer[0]).(*dns.TXT)
		other.Hdr.Name, other.Txt = "victim.test.", []string{"poison"}
		reply.Answer = append(reply.Answer, other)
		w.WriteMsg(reply)
	})
	if v, err := r.LookupTXT(t.Context(), "attacker.test"); err != nil || !slices.Equal(v, []string{"mine"}) {
		t.Errorf("%q, %v", v, err)
	}
	server.SetHandler(nil)
	if v, err := r.LookupTXT(t.Context(), "victim.test"); !NoSuchDomain(err) {
		t.Errorf("poisoned: %q, %v", v, err)
	}
}

// TestGarbage checks that endless garbage fails soon.
func TestGarbage(t *testing.T) {
	server := dnstest.StartServer(t)
	server.SetHandler(func(w dns.ResponseWriter, m *dns.Msg) {
		reply, err := answerTXT(m, "x").Pack()
		if err != nil {
			t.Error(err)
		}
		for i := range 2 * maxStray {
			w.Write(reply[:2+i%(len(reply)-2)]) // the right id, and a part of the answer
		}
	})
	start := time.Now()
	if v, err := New(server.Addr, Options{}).LookupTXT(t.Context(), "a.test"); err == nil {
		t.Errorf("%q out of garbage", v)
	}
	if took := time.Since(start); took > 4*time.Second { // the timeouts of all attempts are 4.5 s
		t.Errorf("took %v", took)
	}
}

// TestOldServer uses a server without EDNS support.
func TestOldServer(t *testing.T) {
	server := dnstest.StartServer(t)
	server.SetHandler(func(w dns.ResponseWriter, m *dns.Msg) {
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

// TestSecondServer is queried if the first fails.
func TestSecondServer(t *testing.T) {
	bad, good := dnstest.StartServer(t), dnstest.StartServer(t, `a.test. 60 IN TXT "a"`)
	bad.SetHandler(func(w dns.ResponseWriter, m *dns.Msg) { w.WriteMsg(new(dns.Msg).SetRcode(m, dns.RcodeRefused)) })
	r := New(bad.Addr, Options{})
	r.servers = []string{bad.Addr, good.Addr}
	if v, err := r.LookupTXT(t.Context(), "a.test"); err != nil || v[0] != "a" {
		t.Errorf("%q, %v", v, err)
	}
}

// FuzzAnswer parses arbitrary answers: never a panic, never an error of another type, and never a
// record that was not requested.
func FuzzAnswer(f *testing.F) {
	query := new(dns.Msg).SetQuestion("a.test.", dns.TypeTXT)
	query.Id = 7
	whole, err := answerTXT(query, "x").Pack()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)-3])
	f.Add([]byte{0, 7, 0x81, 0x80})
	f.Fuzz(func(t *testing.T, wire []byte) {
		msg, ok := parseAnswer(wire, query)
		if !ok {
			return
		}
		out := readRecords(msg, "a.test", dns.TypeTXT)
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
