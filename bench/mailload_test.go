package bench

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
)

// startFake runs a fake in this process.
func startFake(t *testing.T, known ...string) (f *fake, smtpAddr string) {
	t.Helper()
	f = &fake{inboxes: map[string]*fakeInbox{}, changed: make(chan struct{})}
	if err := f.open(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	for _, address := range known {
		f.create(address, "k")
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go f.serveSMTP(c)
		}
	}()
	return f, ln.Addr().String()
}

func TestMailLoadDeliversEveryCodeOnce(t *testing.T) {
	to := []string{"a@x.test", "b@x.test", "c@x.test"}
	f, addr := startFake(t, to...)
	load := mailLoad{addr: addr, sessions: 4, mails: 30, size: mailSize, to: to, first: 100}
	r, err := load.run(t.Context())
	if err != nil || r.Count != 30 || r.Errors != 0 || r.perSecond() <= 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	if n := r.latency.h.TotalCount(); n != 30 {
		t.Errorf("%d latencies", n)
	}
	got := make(map[string]string)
	for address, in := range f.inboxes {
		for _, code := range in.codes {
			got[code] = address
		}
	}
	for i := range 30 {
		if got[load.code(i)] != to[i%3] {
			t.Errorf("mail %d with %s is in %q, want %s", i, load.code(i), got[load.code(i)], to[i%3])
		}
	}
}

func TestMailLoadCountsRefusalsAndGoesOn(t *testing.T) {
	f, addr := startFake(t, "a@x.test")
	load := mailLoad{addr: addr, sessions: 1, mails: 6, size: mailSize, to: []string{"nobody@x.test", "a@x.test"}}
	r, err := load.run(t.Context())
	if err != nil || r.Count != 3 || r.Errors != 3 || !strings.Contains(r.FirstError, "nobody@x.test: SMTP 550 5.1.1") {
		t.Fatalf("%+v, %v", r, err)
	}
	if n := len(f.inboxes["a@x.test"].codes); n != 3 {
		t.Errorf("%d mails arrived", n)
	}
}

// A server may refuse the only recipient and open DATA all the same (RFC 2920 section 3.1).
func TestRefusedEnvelopeWithOpenDataLeavesTheSessionUsable(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	go func() {
		defer server.Close()
		r := bufio.NewReader(server)
		for _, answer := range []string{"250 ok", "550 5.1.1 no", "354 go", "554 5.5.1 no recipients", "250 reset"} {
			if _, err := r.ReadString('\n'); err != nil {
				return
			}
			_, _ = io.WriteString(server, answer+"\r\n")
		}
	}()
	c := &smtpConn{nc: client, in: bufio.NewReader(client)}
	err := c.Envelope("a@x.test", "b@x.test")
	if !isReply(err) || err.Error() != "SMTP 550 5.1.1 no" {
		t.Errorf("error %v", err)
	}
}

func TestMailLoadWithRateKeepsIt(t *testing.T) {
	_, addr := startFake(t, "a@x.test")
	load := mailLoad{addr: addr, sessions: 2, mails: 20, size: mailSize, to: []string{"a@x.test"}, rate: 200}
	r, err := load.run(t.Context())
	if err != nil || r.Count != 20 {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := r.perSecond(); got > 230 { // 20 mails at 200/s take at least 90 ms
		t.Errorf("%.0f mails a second, asked for 200", got)
	}
}

func TestMailLoadEndsWithItsContext(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // greets, and then never answers
		c, err := ln.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = io.WriteString(c, "220 x\r\n250-x\r\n250 PIPELINING\r\n")
		_, _ = io.ReadAtLeast(c, make([]byte, 4096), len("EHLO bench.example.test\r\nMAIL"))
		cancel()
		_, _ = io.Copy(io.Discard, c)
	}()
	load := mailLoad{addr: ln.Addr().String(), sessions: 1, mails: 1, size: mailSize, to: []string{"a@x.test"}}
	if _, err := load.run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestDialSMTPWantsPipelining(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = io.WriteString(c, "220-two\r\n220 lines\r\n250-x\r\n250 SIZE 100\r\n")
		_, _ = io.Copy(io.Discard, c)
	}()
	if _, err := dialSMTP(t.Context(), ln.Addr().String()); err == nil || !strings.Contains(err.Error(), "PIPELINING") {
		t.Errorf("error %v", err)
	}
}
