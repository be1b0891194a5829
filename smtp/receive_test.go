package smtp

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"inboxd/smtp/lines/linestest"
)

// Whatever surrounds a dot, either the body ends there as the five bytes require, or everything
// that follows is body. Nothing else is ever executed.
func TestSmuggling(t *testing.T) {
	inboxes := &house{}
	_, addr := serve(t, Options{MaxConnsPerIP: 1000}, inboxes)
	const smuggled = "MAIL FROM:<evil@b.test>\r\nRCPT TO:<n@inbox.test>\r\nDATA\r\nevil\r\n"
	for _, mix := range linestest.MixedLineEnds() {
		sent := "x" + mix + smuggled + ".\r\n"
		body, rest, _ := linestest.ReferenceBody(sent)
		c := inData(t, addr, "m@inbox.test")
		c.write(sent + "QUIT\r\n")
		c.expect("250 2.0.0 OK, stored")
		want := []string{body}
		if strings.HasPrefix(rest, "MAIL") { // a true end: the commands that follow were sent as commands
			want = append(want, "evil\r\n")
		}
		for c.line() != "EOF" {
		}
		if got := bodies(inboxes.received()); !slices.Equal(got, want) {
			t.Errorf("%q: received %q, want %q", mix, got, want)
		}

		c = greeted(t, addr)
		c.write(fmt.Sprintf("MAIL FROM:<>\r\nRCPT TO:<m@inbox.test>\r\nBDAT %d LAST\r\n%sQUIT\r\n", len(sent), sent))
		for range 3 {
			c.expect("250 ")
		}
		c.expect("221 ")
		if got := bodies(inboxes.received()); !slices.Equal(got, []string{linestest.ReferenceChunks(sent)}) {
			t.Errorf("%q over BDAT: received %q, want %q alone", mix, got, linestest.ReferenceChunks(sent))
		}
	}
}

func TestTrace(t *testing.T) {
	env := Envelope{ID: "id1", MailFrom: "a@b.test", Helo: "c.test", RcptTo: []string{"m@inbox.test"},
		RemoteIP: netip.MustParseAddr("192.0.2.1"), ReceivedAt: testClock}
	check := func(esmtp bool, want string) {
		t.Helper()
		if got := string(appendTrace(nil, &env, "mx.test", esmtp)); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	}
	check(true, "Return-Path: <a@b.test>\r\nReceived: from c.test ([192.0.2.1])\r\n\tby mx.test with ESMTP id id1\r\n"+
		"\tfor <m@inbox.test>;\r\n\tSat, 21 Nov 2026 10:11:12 +0000\r\n")
	env.MailFrom, env.RcptTo, env.TLS = "", append(env.RcptTo, "n@inbox.test"), true
	env.RemoteIP = netip.MustParseAddr("2001:db8::1")
	check(true, "Return-Path: <>\r\nReceived: from c.test ([IPv6:2001:db8::1])\r\n\tby mx.test with ESMTPS id id1;\r\n"+
		"\tSat, 21 Nov 2026 10:11:12 +0000\r\n")
	for _, c := range []struct {
		utf8, tls, esmtp bool
		want             string
	}{
		{false, false, false, "SMTP"}, {true, false, true, "UTF8SMTP"}, {true, true, true, "UTF8SMTPS"},
	} {
		env.SMTPUTF8, env.TLS = c.utf8, c.tls
		if got := withProtocol(&env, c.esmtp); got != c.want {
			t.Errorf("protocol %+v = %s", c, got)
		}
	}
}

func TestStampTrace(t *testing.T) {
	env := Envelope{ReceivedAt: testClock}
	trace := appendTrace(nil, &env, "mx.test", true)
	env.ReceivedAt = testClock.AddDate(0, 3, 9).Add(59e9)
	stampTrace(trace, env.ReceivedAt)
	if want := appendTrace(nil, &env, "mx.test", true); !bytes.Equal(trace, want) {
		t.Errorf("got %q, want %q", trace, want)
	}
}

func TestEnvelope(t *testing.T) {
	inboxes := &house{}
	_, addr := serve(t, Options{}, inboxes)
	c := dial(t, addr)
	c.expect("220 ")
	c.ask("EHLO evil)(;<host>", "250 ")
	c.ask("MAIL FROM:<a@b.test>", "250 ")
	c.ask("RCPT TO:<m@inbox.test>", "250 ")
	c.ask("DATA", "354 ")
	answer := c.ask("Subject: x\r\n\r\ny\r\n.", "250 ")
	messages := inboxes.received()
	if len(messages) != 1 {
		t.Fatal(messages)
	}
	env := messages[0].env
	if env.Helo != "evil????host?" || env.RemoteIP != netip.MustParseAddr("127.0.0.1") || env.TLS || !env.ReceivedAt.Equal(testClock) {
		t.Errorf("envelope %+v", env)
	}
	if env.ID == "" || !strings.HasSuffix(answer, " "+env.ID) {
		t.Errorf("answer %q does not name %q", answer, env.ID)
	}
	want := "Return-Path: <a@b.test>\r\nReceived: from evil????host? ([127.0.0.1])\r\n\tby mx.test with ESMTP id " + env.ID +
		"\r\n\tfor <m@inbox.test>;\r\n\tSat, 21 Nov 2026 10:11:12 +0000\r\nSubject: x\r\n\r\ny\r\n"
	if messages[0].raw != want {
		t.Errorf("raw\n%q\nwant\n%q", messages[0].raw, want)
	}
}

// Bodies around the sizes at which buffers change arrive unchanged, and messages do not mix.
func TestBodySizes(t *testing.T) {
	inboxes := &house{}
	s, addr := serve(t, Options{}, inboxes)
	c := greeted(t, addr)
	var want []string
	for i, size := range []int{0, 100, firstBody, 16 << 10, pooledBody - 600, pooledBody, 300_000, 50, 3 << 20} {
		body := strings.Repeat(string(rune('a'+i))+strings.Repeat("x", 99)+"\r\n", size/102)
		want = append(want, body)
		c.ask(fmt.Sprintf("MAIL FROM:<> SIZE=%d", size*(i%2)), "250 ")
		c.ask("RCPT TO:<m@inbox.test>", "250 ")
		c.ask("DATA", "354 ")
		c.ask(body+".", "250 ")
	}
	for i, m := range inboxes.received() {
		if m.body() != want[i] {
			t.Errorf("mail %d: %d octets instead of %d, or other ones", i, len(m.body()), len(want[i]))
		}
	}
	if st := s.Stats(); st.MailsAccepted != uint64(len(want)) || st.BytesReceived < st.MailBytesAccepted/2 || st.MailBytesAccepted < 3<<20 {
		t.Errorf("stats %+v", st)
	}
}

// Refusals are counted under their reasons, and every reason exists.
func TestStats(t *testing.T) {
	inboxes := &house{}
	s, addr := serve(t, Options{}, inboxes)
	c := greeted(t, addr)
	c.ask("MAIL FROM:<>", "250 ")
	for _, rcpt := range []string{"nobody@x.test", "full@inbox.test", "disk@inbox.test", "bug@inbox.test", "m%x@inbox.test"} {
		c.write("RCPT TO:<" + rcpt + ">\r\n")
		c.line()
	}
	c.ask("BDAT", "501 ")
	if got := c.line(); got != "EOF" {
		t.Fatal(got)
	}
	st := s.Stats()
	for reason, n := range st.RejectionsByReason {
		want := uint64(0)
		switch reason {
		case "no_inbox", "inbox_full", "storage_full", "unavailable", "address", "protocol":
			want = 1
		}
		if n != want {
			t.Errorf("%s: %d, want %d", reason, n, want)
		}
	}
	if st.Connections != 1 || st.OpenConnections != 0 || len(st.RejectionsByReason) != len(refusalReasons) {
		t.Errorf("stats %+v", st)
	}
}

// An error without a kind is logged once, with its cause. The peer never sees the cause.
func TestErrorsStayInside(t *testing.T) {
	var log logBuffer
	_, addr := serve(t, Options{Logger: logTo(&log)}, &house{})
	c := inData(t, addr, "late-bug@inbox.test")
	if got := c.ask(".", "451 "); strings.Contains(got, "secret") {
		t.Error("the peer was told", got)
	}
	if n := strings.Count(log.String(), "secret cause"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, log.String())
	}
}
