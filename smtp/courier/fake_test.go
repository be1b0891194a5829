package courier

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"inboxd/internal/base/netguard"
)

// fakeDNS resolves by name. Names without an entry do not exist; lookups of names in broken fail.
type fakeDNS struct {
	mx     map[string][]*net.MX
	ip     map[string][]string
	txt    map[string][]string
	broken map[string]bool

	mu    sync.Mutex
	asked []string
}

func (d *fakeDNS) ask(name string) (string, error) {
	name = strings.TrimSuffix(name, ".")
	d.mu.Lock()
	d.asked = append(d.asked, name)
	d.mu.Unlock()
	if d.broken[name] {
		return name, &net.DNSError{Err: "server failure", Name: name, IsTemporary: true}
	}
	return name, nil
}

func found[T any](list []T, name string, err error) ([]T, error) {
	if err == nil && len(list) == 0 {
		err = &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	return list, err
}

func (d *fakeDNS) LookupMX(_ context.Context, name string) ([]*net.MX, error) {
	name, err := d.ask(name)
	return found(d.mx[name], name, err)
}

func (d *fakeDNS) LookupTXT(_ context.Context, name string) ([]string, error) {
	name, err := d.ask(name)
	return found(d.txt[name], name, err)
}

func (d *fakeDNS) LookupIPAddr(_ context.Context, name string) ([]net.IPAddr, error) {
	name, err := d.ask(name)
	var list []net.IPAddr
	for _, ip := range d.ip[name] {
		list = append(list, net.IPAddr{IP: net.ParseIP(ip)})
	}
	return found(list, name, err)
}

// fakeMX is a mail server with a script.
type fakeMX struct {
	greeting string
	ext      []string
	replies  map[string]string                        // by the start of the command; "." is the end of the message
	answer   func(command string) string              // takes precedence over replies; "" to use those
	takeOver func(conn net.Conn, command string) bool // true: it has handled the connection
	tls      *tls.Config

	port      int
	mu        sync.Mutex
	lines     []string // commands, in order
	mailCount []string
	conns     int
}

// start listens on ip until the test ends; port 0 picks a free one.
func (m *fakeMX) start(t testing.TB, ip string, port int) *fakeMX {
	t.Helper()
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.ParseIP(ip), Port: port})
	if err != nil {
		t.Fatal(err)
	}
	m.port = l.Addr().(*net.TCPAddr).Port
	var all sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			m.mu.Lock()
			m.conns++
			m.mu.Unlock()
			all.Go(func() {
				defer context.AfterFunc(ctx, func() { conn.Close() })()
				defer conn.Close()
				m.serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		stop()
		all.Wait()
	})
	return m
}

func (m *fakeMX) serve(conn net.Conn) {
	if m.takeOver != nil && m.takeOver(conn, "") {
		return
	}
	greeting := m.greeting
	if greeting == "" {
		greeting = "220 mx.test"
	}
	io.WriteString(conn, greeting+"\r\n")
	r := bufio.NewReader(conn)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		command := strings.TrimRight(line, "\r\n")
		m.mu.Lock()
		m.lines = append(m.lines, command)
		m.mu.Unlock()
		if m.takeOver != nil && m.takeOver(conn, command) {
			return
		}
		reply := m.replyTo(command)
		if command == "STARTTLS" && strings.HasPrefix(reply, "220") {
			io.WriteString(conn, reply+"\r\n")
			secure := tls.Server(conn, m.tls)
			if secure.Handshake() != nil {
				return
			}
			conn, r = secure, bufio.NewReader(secure)
			continue
		}
		if _, err := io.WriteString(conn, reply+"\r\n"); err != nil || command == "QUIT" {
			return
		}
		if strings.HasPrefix(reply, "354") && !m.receive(conn, r) {
			return
		}
	}
}

func (m *fakeMX) replyTo(command string) string {
	if m.answer != nil {
		if reply := m.answer(command); reply != "" {
			return reply
		}
	}
	for start, reply := range m.replies {
		if strings.HasPrefix(command, start) && start != "." {
			return reply
		}
	}
	switch verb, _, _ := strings.Cut(command, " "); verb {
	case "EHLO":
		return "250-" + strings.Join(append([]string{"mx.test"}, m.ext...), "\r\n250-") + "\r\n250 HELP"
	case "DATA":
		return "354 go on"
	case "STARTTLS":
		return "220 ready"
	}
	return "250 2.0.0 ok"
}

// receive reads a message and removes the stuffed dots.
func (m *fakeMX) receive(conn net.Conn, r *bufio.Reader) bool {
	var mail strings.Builder
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return false
		}
		if line == ".\r\n" {
			break
		}
		mail.WriteString(strings.TrimPrefix(line, "."))
	}
	m.mu.Lock()
	m.mailCount = append(m.mailCount, mail.String())
	m.mu.Unlock()
	if m.takeOver != nil && m.takeOver(conn, ".") {
		return false
	}
	reply := m.replies["."]
	if reply == "" {
		reply = "250 2.0.0 queued"
	}
	_, err := io.WriteString(conn, reply+"\r\n")
	return err == nil
}

func (m *fakeMX) said(start string) (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, line := range m.lines {
		if strings.HasPrefix(line, start) {
			n++
		}
	}
	return n
}

func (m *fakeMX) received() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.mailCount...)
}

func (m *fakeMX) connections() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.conns
}

// allowLoopback is the value of --delivery-allow in tests.
var allowLoopback = netguard.AddressPolicy{AllowedPrefixes: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}

// oneMX is a DNS in which x.example has one server, at 127.0.0.1.
func oneMX() *fakeDNS {
	return &fakeDNS{mx: map[string][]*net.MX{"x.example": {{Host: "mx.x.example.", Pref: 10}}}, ip: map[string][]string{"mx.x.example": {"127.0.0.1"}}}
}

// courier creates a Courier for a test, with short timeouts where opts has none.
func courier(t testing.TB, opts Options) *Courier {
	t.Helper()
	opts.HelloName = "us.example"
	if opts.AddressPolicy.AllowedPrefixes == nil {
		opts.AddressPolicy = allowLoopback
	}
	if opts.Timeouts == (Timeouts{}) {
		opts.Timeouts = Timeouts{WholeExchange: 20 * time.Second}
	}
	c := New(opts)
	t.Cleanup(c.Close)
	return c
}

const testMail = "Subject: s\r\n\r\nHello\r\n.\r\n..dots\r\n"

func toX(rcpts ...string) DeliveryRequest {
	return DeliveryRequest{Domain: "x.example", Rcpts: rcpts, Senders: slices.Repeat([]string{"me@us.example"}, len(rcpts)), Raw: []byte(testMail)}
}
