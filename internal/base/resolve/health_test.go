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

// TestSilent checks that lookups do not wait long for a silent server, do not wait at all once it
// counts as silent, and recover when it is back.
func TestSilent(t *testing.T) {
	server := dnstest.StartServer(t, `a.test. 60 IN TXT "a"`)
	server.StopAnswering()
	r := New(server.Addr, Options{Timeout: 50 * time.Millisecond})
	for i := range silentAfter {
		if _, err := r.LookupTXT(t.Context(), fmt.Sprintf("%d.test", i)); kindOf(t, err) != "timeout" {
			t.Fatal(err)
		}
	}
	for i := range 1000 {
		if _, err := r.LookupTXT(t.Context(), fmt.Sprintf("%d.more.test", i)); kindOf(t, err) != "timeout" {
			t.Fatal(err)
		}
	}
	if asked := server.TakeQuestions(); slices.ContainsFunc(asked, func(q string) bool { return strings.Contains(q, ".more.test") }) {
		t.Errorf("still asked: %d questions", len(asked))
	}
	server.SetHandler(nil)
	for { // each lookup may start the probe that finds it
		if v, err := r.LookupTXT(t.Context(), "a.test"); err == nil && v[0] == "a" {
			return
		}
		if t.Context().Err() != nil {
			t.Fatal("never noticed")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestSilentDomain checks that a domain whose own server is silent does not affect others: the
// resolver still answers for the root.
func TestSilentDomain(t *testing.T) {
	server := dnstest.StartServer(t)
	server.SetHandler(func(w dns.ResponseWriter, m *dns.Msg) {
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

// TestNoServer fails immediately.
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
