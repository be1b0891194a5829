package main

import (
	"bufio"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"inboxd/internal/testutil/dnstest"
)

// hostile is a server on ip that handles each connection with do.
func hostile(t *testing.T, ip, port string, do func(conn net.Conn, in *bufio.Reader)) {
	t.Helper()
	ln, err := net.Listen("tcp", net.JoinHostPort(ip, port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				do(conn, bufio.NewReader(conn))
			}()
		}
	}()
}

// say writes until the other side has closed.
func say(conn net.Conn, text string) bool {
	_, err := fmt.Fprint(conn, text)
	return err == nil
}

// TestHostileServersAndNames sends messages to servers and names that misbehave in many ways, all
// at once. Each message reaches the correct status, and an honest server gets its message.
func TestHostileServersAndNames(t *testing.T) {
	far := receive(t, "127.0.0.1", "0", nil)
	hostile(t, "127.0.0.11", far.port, func(conn net.Conn, _ *bufio.Reader) { // a reply without end
		for say(conn, "220-"+strings.Repeat("x", 1000)+"\r\n") {
		}
	})
	hostile(t, "127.0.0.12", far.port, func(conn net.Conn, _ *bufio.Reader) { // one byte per second
		for say(conn, "2") {
			time.Sleep(time.Second)
		}
	})
	hostile(t, "127.0.0.13", far.port, func(conn net.Conn, in *bufio.Reader) { // disconnects after the dot
		say(conn, "220 hello\r\n")
		for line, err := in.ReadString('\n'); err == nil && line != ".\r\n"; line, err = in.ReadString('\n') {
			switch {
			case strings.HasPrefix(line, "DATA"):
				say(conn, "354 go on\r\n")
			case strings.HasPrefix(line, "EHLO"), strings.HasPrefix(line, "MAIL"), strings.HasPrefix(line, "RCPT"):
				say(conn, "250 ok\r\n")
			}
		}
	})
	hostile(t, "127.0.0.14", far.port, func(conn net.Conn, in *bufio.Reader) { // garbage instead of TLS, each time
		say(conn, "220 hello\r\n")
		for line, err := in.ReadString('\n'); err == nil; line, err = in.ReadString('\n') {
			switch {
			case strings.HasPrefix(line, "EHLO"):
				say(conn, "250-x\r\n250 STARTTLS\r\n")
			case strings.HasPrefix(line, "STARTTLS"):
				say(conn, "220 go on\r\n")
				_, _ = in.ReadByte() // the handshake begins
				say(conn, strings.Repeat("\x00\xffgarbage", 100))
				return
			default:
				say(conn, "451 4.3.0 only over TLS\r\n")
			}
		}
	})
	hostile(t, "127.0.0.15", far.port, func(conn net.Conn, _ *bufio.Reader) { say(conn, "HTTP/1.1 200 OK\r\n\r\n") })
	zone := []string{
		"far.test. 60 IN MX 10 mx.far.test.", "mx.far.test. 60 IN A 127.0.0.1", "implicit.test. 60 IN A 127.0.0.1", "text.test. 60 IN TXT hello",
		"internal.test. 60 IN MX 10 mx.internal.test.", "mx.internal.test. 60 IN A 10.0.0.1", "mx.internal.test. 60 IN A 169.254.169.254",
		"literal.test. 60 IN MX 10 127.0.0.1.", "loop.test. 60 IN MX 10 inbox.localhost.", "empty.test. 60 IN MX 10 mx.empty.test.", "mx.empty.test. 60 IN TXT x",
	}
	for name, ip := range map[string]string{"endless": "11", "drip": "12", "gone": "13", "tls": "14", "http": "15"} {
		zone = append(zone, fmt.Sprintf("%s.test. 60 IN MX 10 mx.%s.test.", name, name), fmt.Sprintf("mx.%s.test. 60 IN A 127.0.0.%s", name, ip))
	}
	names := dnstest.StartServer(t, zone...)
	honest := dnstest.StartServer(t, zone...)
	names.SetHandler(func(w dns.ResponseWriter, ask *dns.Msg) { // returns false data for some names, nothing for others
		switch q := ask.Question[0].Name; {
		case strings.Contains(q, "silentdns"):
		case strings.Contains(q, "servfail"):
			reply := new(dns.Msg)
			_ = w.WriteMsg(reply.SetRcode(ask, dns.RcodeServerFailure))
		case strings.Contains(q, "liar"):
			reply := new(dns.Msg)
			reply.SetReply(ask)
			reply.Question[0].Name = "far.test."
			rr, _ := dns.NewRR("far.test. 60 IN MX 10 mx.far.test.")
			reply.Answer = append(reply.Answer, rr)
			_ = w.WriteMsg(reply)
		default:
			honest.ServeDNS(w, ask)
		}
	})
	s := launch(t, filepath.Join(t.TempDir(), "data"), "--dns", names.Addr, "--mx-port", far.port, "--delivery-allow", "127.0.0.0/8", "--retry-schedule", "1h", "--log-level", "info")
	u := s.signUp(t, "me@example.test")
	address := u.inbox(t, "agent")
	type want struct{ status, says string }
	ids := map[string]int64{}
	wants := map[string]want{
		"endless": {"retrying", ""}, "gone": {"retrying", "could arrive twice"}, "tls": {"retrying", "only over TLS"}, "http": {"retrying", ""},
		"missing": {"failed", "does not exist"}, "text": {"failed", "does not exist or has no mail server"}, "implicit": {"sent", ""}, "far": {"sent", ""},
		"internal": {"retrying", "cannot be used"}, "literal": {"retrying", ""}, "loop": {"retrying", "its mail would loop"}, "empty": {"retrying", "has no address"},
		"servfail": {"retrying", "The DNS lookup of "}, "silentdns": {"retrying", "The DNS lookup of "}, "liar": {"retrying", "The DNS lookup of "},
	}
	drip := u.send(t, address, map[string]any{"to": "bob@drip.test", "body": "x"})
	for name := range wants {
		ids[name] = u.send(t, address, map[string]any{"to": "bob@" + name + ".test", "body": "x"})
	}
	for name, w := range wants {
		m := u.until(t, address, ids[name], w.status)
		if why, _ := m["send_error"].(string); !strings.Contains(why, w.says) || w.status != "sent" && why == "" {
			t.Errorf("%s: %s, want %q", name, why, w.says)
		} else {
			t.Logf("%s: %s %s", name, w.status, why)
		}
	}
	if m := u.message(t, address, drip); m["send_status"] != "queued" {
		t.Errorf("to the server of one byte a second: %v", m["send_status"])
	}
}
