package drive

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"inboxd/bench/benchtest"
)

func TestMailLoadDeliversEveryCodeOnce(t *testing.T) {
	to := []string{"a@x.test", "b@x.test", "c@x.test"}
	f, addr := benchtest.Start(t, to...)
	load := MailLoad{Addr: addr, Sessions: 4, Messages: 30, Size: MailSize, To: to, First: 100}
	r, err := load.Run(t.Context())
	if err != nil || r.Count != 30 || r.Errors != 0 || r.PerSecond() <= 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	if n := r.Latency.h.TotalCount(); n != 30 {
		t.Errorf("%d latencies", n)
	}
	got := f.Codes()
	for i := range 30 {
		if got[load.Code(i)] != to[i%3] {
			t.Errorf("mail %d with %s is in %q, want %s", i, load.Code(i), got[load.Code(i)], to[i%3])
		}
	}
}

func TestMailLoadCountsRefusalsAndGoesOn(t *testing.T) {
	f, addr := benchtest.Start(t, "a@x.test")
	load := MailLoad{Addr: addr, Sessions: 1, Messages: 6, Size: MailSize, To: []string{"nobody@x.test", "a@x.test"}}
	r, err := load.Run(t.Context())
	if err != nil || r.Count != 3 || r.Errors != 3 || !strings.Contains(r.FirstError, "nobody@x.test: SMTP 550 5.1.1") {
		t.Fatalf("%+v, %v", r, err)
	}
	if n := len(f.Codes()); n != 3 {
		t.Errorf("%d messages arrived", n)
	}
}

// A server may refuse the only recipient and open DATA all the same (RFC 2920 section 3.1).
func TestRefusedEnvelopeWithOpenDataLeavesTheSessionUsable(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	go func() {
		defer server.Close()
		r := bufio.NewReader(server)
		for _, response := range []string{"250 ok", "550 5.1.1 no", "354 go", "554 5.5.1 no recipients", "250 reset"} {
			if _, err := r.ReadString('\n'); err != nil {
				return
			}
			_, _ = io.WriteString(server, response+"\r\n")
		}
	}()
	c := &SMTPConn{NC: client, in: bufio.NewReader(client)}
	err := c.Envelope("a@x.test", "b@x.test")
	if !IsReply(err) || err.Error() != "SMTP 550 5.1.1 no" {
		t.Errorf("error %v", err)
	}
}

func TestMailLoadWithRateKeepsIt(t *testing.T) {
	_, addr := benchtest.Start(t, "a@x.test")
	load := MailLoad{Addr: addr, Sessions: 2, Messages: 20, Size: MailSize, To: []string{"a@x.test"}, Rate: 200}
	r, err := load.Run(t.Context())
	if err != nil || r.Count != 20 {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := r.PerSecond(); got > 230 { // 20 messages at 200/s take at least 90 ms
		t.Errorf("%.0f messages a second, asked for 200", got)
	}
}

func TestMailLoadEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	addr := serveOne(t, func(c net.Conn) { // greets, and then never responses
		_, _ = io.WriteString(c, "220 x\r\n250-x\r\n250 PIPELINING\r\n")
		_, _ = io.ReadAtLeast(c, make([]byte, 4096), len("EHLO bench.example.test\r\nMAIL"))
		cancel()
		_, _ = io.Copy(io.Discard, c)
	})
	load := MailLoad{Addr: addr, Sessions: 1, Messages: 1, Size: MailSize, To: []string{"a@x.test"}}
	if _, err := load.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestDialSMTPWantsPipelining(t *testing.T) {
	addr := serveOne(t, func(c net.Conn) {
		_, _ = io.WriteString(c, "220-two\r\n220 lines\r\n250-x\r\n250 SIZE 100\r\n")
		_, _ = io.Copy(io.Discard, c)
	})
	if _, err := DialSMTP(t.Context(), addr); err == nil || !strings.Contains(err.Error(), "PIPELINING") {
		t.Errorf("error %v", err)
	}
}

func TestStepwiseMailsNeedNoPipelining(t *testing.T) {
	f, addr := benchtest.Start(t, "a@x.test")
	load := MailLoad{Addr: addr, Sessions: 2, Messages: 8, Size: MailSize, To: []string{"a@x.test", "nobody@x.test"}, Stepwise: true}
	r, err := load.Run(t.Context())
	if err != nil || r.Count != 4 || r.Errors != 4 || len(f.Codes()) != 4 {
		t.Errorf("%+v, %v; %d arrived", r, err, len(f.Codes()))
	}
	addr = serveOne(t, func(c net.Conn) { // reads a command only when it has answered the one before, and knows no extension
		r := bufio.NewReader(c)
		for _, response := range []string{"220 x", "250 x", "250 ok", "250 ok", "354 go"} {
			if r.Buffered() > 0 {
				return
			}
			_, _ = io.WriteString(c, response+"\r\n")
			if _, err := r.ReadString('\n'); err != nil {
				return
			}
		}
		for line := ""; line != ".\r\n"; {
			if line, err = r.ReadString('\n'); err != nil {
				return
			}
		}
		_, _ = io.WriteString(c, "250 taken\r\n")
		_, _ = io.Copy(io.Discard, c)
	})
	one := MailLoad{Addr: addr, Sessions: 1, Messages: 1, Size: MailSize, To: []string{"a@x.test"}, Stepwise: true}
	if r, err := one.Run(t.Context()); err != nil || r.Count != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}
