package spam

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"inboxd/internal/core/inbox"
	"inboxd/internal/intake/ingest"
	"inboxd/internal/testutil/spamtest"
)

var envelope = ingest.Envelope{
	MailFrom: "a@shop.test", RcptTo: []string{"b@inbox.test", "c@inbox.test"},
	RemoteIP: netip.MustParseAddr("192.0.2.1"), Helo: "mx.shop.test",
}

func mail(subject, text string) []byte {
	return []byte("Return-Path: <a@shop.test>\r\nReceived: from mx.shop.test ([192.0.2.1])\r\n\tby inbox.test with ESMTP id 1;\r\n" +
		"\tSat, 21 Nov 2026 10:11:12 +0000\r\nFrom: a@shop.test\r\nTo: b@inbox.test\r\nSubject: " + subject +
		"\r\nDate: Sat, 21 Nov 2026 10:11:12 +0000\r\nMessage-ID: <x.y.z.1@shop.test>\r\n\r\n" + text + "\r\n")
}

func open(t *testing.T, address string) *Scanner {
	t.Helper()
	s, err := New(address, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s.timeout = 30 * time.Second // the real scanners share the machine with other tests
	return s
}

func (s *Scanner) scan(t *testing.T, env ingest.Envelope, raw []byte) inbox.SpamVerdict {
	t.Helper()
	v := s.Scan(t.Context(), env, raw)
	if v == nil {
		t.Fatal("no verdict")
	}
	return *v
}

func weights(v inbox.SpamVerdict) string {
	var all []string
	for _, r := range v.Rules {
		all = append(all, fmt.Sprintf("%s=%g", r.Name, r.Weight))
	}
	return strings.Join(all, " ")
}

func TestRspamd(t *testing.T) {
	t.Parallel()
	s := open(t, spamtest.Rspamd(t))
	for _, c := range []struct {
		subject, text string
		env           ingest.Envelope
		score         float64
		isSpam        bool
		rules         string
	}{
		{"other", "hello", ingest.Envelope{}, 0, false, ""}, // 0.0 is a result
		{"hello", "hello", envelope, 0, false, "TEST_ENVELOPE=0.25 TEST_GOOD=-0.25"},
		{"casino", "hello", envelope, 7.75, false, "TEST_SUBJECT=7.5 TEST_ENVELOPE=0.25"},
		{"x", spamtest.GTUBE, envelope, 15, true, "GTUBE=0"},
	} {
		v := s.scan(t, c.env, mail(c.subject, c.text))
		if v.Score != c.score || v.RequiredScore != 15 || v.IsSpam != c.isSpam || weights(v) != c.rules {
			t.Errorf("%s: %+v, want %g %v %q", c.subject, v, c.score, c.isSpam, c.rules)
		}
	}
	if v := s.scan(t, envelope, mail("casino", "x")); v.Rules[0].Description != "Subject says casino" {
		t.Errorf("%+v", v)
	}
	strange := envelope
	strange.Helo, strange.MailFrom = "x\r\nIP: 10.0.0.1\r\n", "ä\x00@shop.test"
	s.scan(t, strange, mail("x", "x"))
}

func TestSpamd(t *testing.T) {
	t.Parallel()
	s := open(t, spamtest.Spamd(t))
	good := s.scan(t, envelope, mail("hello", "See you on Monday, dear friend."))
	if good.IsSpam || good.RequiredScore != 5 || good.Score >= 5 {
		t.Errorf("a plain mail: %+v", good)
	}
	bad := s.scan(t, envelope, mail("hello", spamtest.GTUBE))
	if !bad.IsSpam || bad.Score < 990 || len(bad.Rules) == 0 || bad.Rules[0].Name != "GTUBE" || bad.Rules[0].Weight != 1000 || bad.Rules[0].Description == "" {
		t.Errorf("GTUBE: %+v", bad)
	}
	// A message whose preview looks like the table of rules.
	forged := "pts rule name\n---- ----------------------\n 9.9 FORGED x\n"
	if v := s.scan(t, envelope, mail("hello", strings.ReplaceAll(forged, "\n", "\r\n"))); strings.Contains(weights(v), "FORGED") {
		t.Errorf("forged: %+v", v)
	}
}

func TestReadSpamd(t *testing.T) {
	const head = "SPAMD/1.1 0 EX_OK\r\nContent-length: 9\r\nSpam: True ; 1003.3 / 5.0\r\n\r\n"
	const table = "Content preview:  ---- ---------------------- x\n---- ----------------------\n 9.0 FORGED x\n\n" +
		" pts rule name              description\n---- ---------------------- --------------------------------------------------\n" +
		" 0.6 MISSING_MID            Missing Message-Id: header\n-0.0 NO_RELAYS\n1000 GTUBE                  BODY: Generic\n" +
		"                             9.9 OTHER_LINE of a description\n-100 USER_IN_WELCOMELIST x\n"
	v, err := readSpamd([]byte(head + table))
	if err != nil || !v.IsSpam || v.Score != 1003.3 || v.RequiredScore != 5 ||
		weights(*v) != "GTUBE=1000 USER_IN_WELCOMELIST=-100 MISSING_MID=0.6 NO_RELAYS=0" || v.Rules[0].Description != "BODY: Generic" {
		t.Errorf("%+v %v", v, err)
	}
	v, err = readSpamd([]byte("SPAMD/1.1 0 EX_OK\r\nSpam: False ; -0.0 / 5.0\r\n\r\n"))
	if err != nil || v.IsSpam || v.Score != 0 || fmt.Sprint(v.Score) != "0" || len(v.Rules) != 0 {
		t.Errorf("%+v %v", v, err)
	}
	for _, bad := range []string{
		"", "x", "SPAMD/1.1 76 Bad header line: x\r\n", "SPAMD/1.1 0 EX_OK\r\n\r\n", "SPAMD/1.1 0 EX_OK\r\nSpam: True ; NaN / 5\r\n\r\n",
		"SPAMD/1.1 0 EX_OK\r\nSpam: True ; 1\r\n\r\n", "SPAMD/1.1 0 EX_OK\r\nSpam: Tr", "SPAMD/1.1",
	} {
		if v, err := readSpamd([]byte(bad)); err == nil {
			t.Errorf("%q: %+v", bad, v)
		}
	}
}

func TestReadRspamd(t *testing.T) {
	for text, want := range map[string]string{
		`{"score":0.0,"required_score":15,"action":"no action"}`:                               "0 15 false ",
		`{"score":6,"required_score":15,"action":"add header"}`:                                "6 15 false ",
		`{"score":15,"required_score":15,"action":"no action"}`:                                "15 15 true ",
		`{"score":1,"required_score":15,"action":"reject","symbols":{"B":{"score":1},"A":{}}}`: "1 15 true B=1 A=0",
		`{"is_skipped":true,"score":0,"required_score":15,"action":"no action"}`:               "null",
		`{"error":"x"}`:     "error",
		`{"score":"x"}`:     "error",
		`{"score":1e999}`:   "error",
		`{"score":1`:        "error",
		``:                  "error",
		`[]`:                "error",
		`{"symbols":{"A":`:  "error",
		`{"score":null}`:    "error",
		`{"symbols":[1,2]}`: "error",
	} {
		got := "error"
		if v, err := readRspamd([]byte(text)); err == nil {
			if got = "null"; v != nil {
				got = fmt.Sprintf("%g %g %v %s", v.Score, v.RequiredScore, v.IsSpam, weights(*v))
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestVerdictIsBounded(t *testing.T) {
	v := &inbox.SpamVerdict{}
	for range 500 {
		v.Rules = append(v.Rules, inbox.SpamRule{Name: strings.Repeat("N", 1000), Description: strings.Repeat("\xff\u20ac", 1000)})
	}
	v = boundVerdict(v)
	if len(v.Rules) != maxRules || len(v.Rules[0].Name) != maxName || len(v.Rules[0].Description) > maxDescription || len(v.Rules[0].Description) < maxDescription-3 {
		t.Errorf("%d rules, name %d, description %d bytes", len(v.Rules), len(v.Rules[0].Name), len(v.Rules[0].Description))
	}
}

func TestAddresses(t *testing.T) {
	for address, good := range map[string]bool{
		"rspamd+http://127.0.0.1:11333": true, "spamd://[::1]:783": true, "rspamd+http://h:1/": true,
		"": false, "127.0.0.1:783": false, "http://127.0.0.1:1": false, "spamd://host": false, "spamd://:783": false,
		"rspamd+http://h:1/x": false, "rspamd+http://u:p@h:1": false, "spamd://h:x": false,
	} {
		if _, err := New(address, slog.New(slog.DiscardHandler)); (err == nil) != good {
			t.Errorf("%q: %v", address, err)
		}
	}
}

// silent accepts connections and sends nothing until the test ends.
func silent(t *testing.T) (addr string, connections func() int) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var conns []net.Conn
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, c := range conns {
			c.Close()
		}
	})
	return l.Addr().String(), func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(conns)
	}
}

// TestDeadScannerIsLeftAlone checks that a scanner that does not answer delays only the first
// messages, for a limited time.
func TestDeadScannerIsLeftAlone(t *testing.T) {
	for _, scheme := range []string{"rspamd+http://", "spamd://"} {
		addr, connections := silent(t)
		s := open(t, scheme+addr)
		s.timeout = 20 * time.Millisecond
		for range 100 {
			if v := s.Scan(t.Context(), envelope, mail("x", "x")); v != nil {
				t.Fatalf("%+v", v)
			}
		}
		if n := connections(); n > tripAfter+1 {
			t.Errorf("%s: asked %d times", scheme, n)
		}
	}
}

func TestBreaker(t *testing.T) {
	now := time.Unix(0, 0)
	b := circuitBreaker{log: slog.New(slog.DiscardHandler), now: func() time.Time { return now }}
	failed := fmt.Errorf("failed")
	for range tripAfter {
		if !b.allowRequest() {
			t.Fatal("given up too early")
		}
		b.reportResult(failed)
	}
	for rest := firstRest; rest < 2*maxRest; rest *= 2 {
		now = now.Add(min(rest, maxRest) - 1)
		if b.allowRequest() {
			t.Fatal("asked before", rest)
		}
		now = now.Add(1)
		if !b.allowRequest() || b.allowRequest() {
			t.Fatal("not one mail tries after", rest)
		}
		b.reportResult(failed)
	}
	now = now.Add(maxRest)
	if !b.allowRequest() {
		t.Fatal("never tries again")
	}
	b.cancelAllow()
	if !b.allowRequest() {
		t.Fatal("an attempt that was given back is lost")
	}
	b.reportResult(nil)
	for range 3 {
		if !b.allowRequest() {
			t.Fatal("not back")
		}
	}
}

// TestTurns checks that at most atOnce messages are with the scanner, and that waiting for a slot
// does not count as a failure.
func TestTurns(t *testing.T) {
	held := &holding{enter: make(chan struct{}), leave: make(chan struct{})}
	s := &Scanner{scanProtocol: held, maxBytes: 10, scanSlots: make(chan struct{}, 1), timeout: time.Minute, breaker: circuitBreaker{log: slog.New(slog.DiscardHandler), now: time.Now}}
	var done sync.WaitGroup
	done.Go(func() { s.Scan(t.Context(), envelope, nil) })
	<-held.enter
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for range 2 * tripAfter {
		if v := s.Scan(gone, envelope, nil); v != nil {
			t.Error("out of turn")
		}
	}
	held.leave <- struct{}{}
	done.Wait()
	done.Go(func() {
		if s.Scan(t.Context(), envelope, nil) == nil {
			t.Error("no verdict after others waited")
		}
	})
	<-held.enter
	held.leave <- struct{}{}
	done.Wait()
	if s.Scan(t.Context(), envelope, make([]byte, 11)) != nil {
		t.Error("a mail above the limit was scanned")
	}
}

type holding struct{ enter, leave chan struct{} }

func (h *holding) judgeMessage(context.Context, ingest.Envelope, []byte) (*inbox.SpamVerdict, error) {
	h.enter <- struct{}{}
	<-h.leave
	return &inbox.SpamVerdict{}, nil
}

func FuzzReadAnswers(f *testing.F) {
	f.Add([]byte("SPAMD/1.1 0 EX_OK\r\nSpam: True ; 1.0 / 5.0\r\n\r\n---- ----------------------\n 1.0 A b\n"))
	f.Add([]byte(`{"score":1,"required_score":15,"symbols":{"A":{"score":1,"description":"x"}}}`))
	f.Fuzz(func(t *testing.T, answer []byte) {
		for _, read := range []func([]byte) (*inbox.SpamVerdict, error){readSpamd, readRspamd} {
			v, err := read(answer)
			if err != nil {
				continue
			}
			if v = boundVerdict(v); v != nil && len(v.Rules) > maxRules {
				t.Fatal("too many rules")
			}
		}
	})
}
