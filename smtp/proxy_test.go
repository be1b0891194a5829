package smtp

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// headerV2 returns a header of version 2.
func headerV2(command, family byte, rest string) string {
	return proxyV2 + string([]byte{0x20 | command, family, byte(len(rest) >> 8), byte(len(rest))}) + rest
}

var ipv4 = string([]byte{192, 0, 2, 7, 198, 51, 100, 1, 0, 1, 0, 25})
var ipv6 = string(netip.MustParseAddr("2001:db8::7").AsSlice()) + strings.Repeat("\x00", 20)

func TestProxyHeader(t *testing.T) {
	for header, want := range map[string]string{
		"PROXY TCP4 192.0.2.7 198.51.100.1 1 25\r\n":           "192.0.2.7",
		"PROXY TCP6 2001:db8::7 2001:db8::1 1 25\r\n":          "2001:db8::7",
		"PROXY TCP6 ::ffff:192.0.2.7 ::1 1 25\r\n":             "192.0.2.7",
		"PROXY UNKNOWN\r\n":                                    "own",
		"PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n":                "own",
		headerV2(1, 0x11, ipv4):                                "192.0.2.7",
		headerV2(1, 0x11, ipv4+"\x03\x00\x04\x00\x00\x00\x00"): "192.0.2.7",
		headerV2(1, 0x21, ipv6):                                "2001:db8::7",
		headerV2(0, 0x00, ""):                                  "own",
		headerV2(0, 0x11, ipv4):                                "own",
		headerV2(1, 0x31, strings.Repeat("x", 216)):            "own",
		headerV2(1, 0x11, ipv4[:11]):                           "bad",
		headerV2(1, 0x21, ipv4):                                "bad",
		headerV2(2, 0x11, ipv4):                                "bad",
		proxyV2 + "\x11\x11\x00\x0c" + ipv4:                    "bad",
		proxyV2 + "\x21\x11\xff\xff" + ipv4:                    "bad",
		"PROXY TCP4 192.0.2.7 198.51.100.1 1\r\n":              "bad",
		"PROXY TCP4 192.0.2.7 198.51.100.1 1 25 x\r\n":         "bad",
		"PROXY TCP4 2001:db8::7 2001:db8::1 1 25\r\n":          "bad",
		"PROXY TCP6 192.0.2.7 198.51.100.1 1 25\r\n":           "bad",
		"PROXY TCP6 fe80::1%eth0 ::1 1 25\r\n":                 "bad",
		"PROXY TCP4 192.0.2.7 198.51.100.1 1 25\nEHLO x\r\n":   "bad",
		"PROXY UDP4 192.0.2.7 198.51.100.1 1 25\r\n":           "bad",
		"PROXY TCP4 " + strings.Repeat("1", 200) + "\r\n":      "bad",
		"proxy TCP4 192.0.2.7 198.51.100.1 1 25\r\n":           "bad",
		"EHLO c.test\r\nMAIL FROM:<>\r\n":                      "bad",
		"":                                                     "bad",
		"PROXY TCP4 192.0.2.7":                                 "bad",
		proxyV2:                                                "bad",
	} {
		r := strings.NewReader(header + "rest")
		if want == "bad" {
			r = strings.NewReader(header)
		}
		addr, err := readProxyHeader(r)
		got := "bad"
		if err == nil {
			if got = addr.String(); !addr.IsValid() {
				got = "own"
			}
			if left, _ := io.ReadAll(r); string(left) != "rest" {
				t.Errorf("%q: left %q", header, left)
			}
		}
		if got != want {
			t.Errorf("%q: %s, want %s", header, got, want)
		}
	}
}

func FuzzProxyHeader(f *testing.F) {
	for _, s := range []string{"PROXY TCP4 192.0.2.7 198.51.100.1 1 25\r\n", "PROXY UNKNOWN\r\n", headerV2(1, 0x11, ipv4), headerV2(1, 0x21, ipv6), headerV2(0, 0, "")} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		r := bytes.NewReader(wire)
		addr, err := readProxyHeader(r)
		used := len(wire) - r.Len()
		if err != nil && addr.IsValid() || used > len(proxyV2)+4+maxProxyV2 {
			t.Fatalf("%v, %v after %d octets", addr, err, used)
		}
		if addr.IsValid() && (addr.Zone() != "" || addr.Is4In6()) {
			t.Fatalf("address %v", addr)
		}
		if err == nil { // with one octet less it is never a header
			if _, err := readProxyHeader(bytes.NewReader(wire[:used-1])); !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("%q without its last octet: %v", wire[:used], err)
			}
		}
	})
}

// behind returns a client behind a trusted load balancer.
func behind(t *testing.T, addr, header string) *client {
	t.Helper()
	c := dial(t, addr)
	c.write(header)
	return c
}

func TestProxyProtocol(t *testing.T) {
	inboxes := &house{}
	s, addr := serve(t, Options{ProxyProtocol: loopback, MaxConnsPerIP: 1}, inboxes)
	const from7, from8 = "PROXY TCP4 192.0.2.7 198.51.100.1 1 25\r\n", "PROXY TCP4 192.0.2.8 198.51.100.1 1 25\r\n"
	c := behind(t, addr, from7+"EHLO c.test\r\n")
	c.expect("220 ")
	c.expect("250 ")
	behind(t, addr, headerV2(1, 0x11, ipv4)).expect("421 4.7.0 ") // the limit applies to the client
	behind(t, addr, from8).expect("220 ")
	c.ask("MAIL FROM:<>", "250 ")
	c.ask("RCPT TO:<m@inbox.test>", "250 ")
	c.ask("DATA", "354 ")
	c.ask("x\r\n.", "250 ")
	messages := inboxes.received()
	if len(messages) != 1 || messages[0].env.RemoteIP != netip.MustParseAddr("192.0.2.7") || !strings.Contains(messages[0].raw, "Received: from c.test ([192.0.2.7])") {
		t.Errorf("%+v", messages)
	}
	for _, header := range []string{"EHLO c.test\r\nMAIL FROM:<>\r\n", "PROXY TCP4 nonsense nonsense 1 2\r\n"} {
		if got := behind(t, addr, header).line(); got != "EOF" {
			t.Errorf("%q: %s", header, got)
		}
	}
	if st := s.Stats(); st.RefusedConnections != 3 {
		t.Errorf("stats %+v", st)
	}
}

// A header counts only if it comes from a trusted peer. From others it is an unknown command.
func TestProxyHeaderOfAStranger(t *testing.T) {
	inboxes := &house{}
	_, addr := serve(t, Options{ProxyProtocol: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}, inboxes)
	c := behind(t, addr, "PROXY TCP4 192.0.2.7 198.51.100.1 1 25\r\n")
	c.expect("220 ")
	c.expect("501 ")
	c.ask("EHLO c.test", "250 ")
	c.ask("MAIL FROM:<>", "250 ")
	c.ask("RCPT TO:<m@inbox.test>", "250 ")
	c.ask("DATA", "354 ")
	c.ask("x\r\n.", "250 ")
	if m := inboxes.received(); len(m) != 1 || !m[0].env.RemoteIP.IsLoopback() {
		t.Errorf("%+v", m)
	}
	c = behind(t, addr, headerV2(1, 0x11, ipv4))
	c.expect("220 ")
	c.expect("50")
}

// The header precedes the TLS handshake.
func TestProxyProtocolUnderTLS(t *testing.T) {
	inboxes := &house{}
	s, _ := serve(t, Options{ProxyProtocol: loopback, TLSConfig: serverTLS()}, inboxes)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go s.ServeTLS(l)
	c := behind(t, l.Addr().String(), headerV2(1, 0x21, ipv6))
	if err := c.startTLS(); err != nil {
		t.Fatal(err)
	}
	c.expect("220 ")
	c.ask("HELO c.test", "250 ")
	c.write("MAIL FROM:<>\r\nRCPT TO:<m@inbox.test>\r\nBDAT 1 LAST\r\nx")
	for range 3 {
		c.expect("250 ")
	}
	if m := inboxes.received(); len(m) != 1 || !m[0].env.TLS || m[0].env.RemoteIP != netip.MustParseAddr("2001:db8::7") {
		t.Errorf("%+v", m)
	}
}

// A silent connection of a load balancer takes a place, but not for long.
func TestSilentBehindProxy(t *testing.T) {
	opts := Options{ProxyProtocol: loopback, MaxConns: 1}
	inBubble(t, opts, &house{}, func(t *testing.T, s *Server, dial func() *client) {
		silent := dial()
		synctest.Wait() // it has its place
		dial().expect("421 4.7.0 ")
		began := time.Now()
		if got, after := silent.line(), time.Since(began); got != "EOF" || after != 30*time.Second {
			t.Error(got, "after", after)
		}
		c := dial()
		c.write("PROXY UNKNOWN\r\n")
		c.expect("220 ")
	})
}
