package smtp

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// client is a plain SMTP peer that sends exactly what a test specifies.
type client struct {
	t    testing.TB
	conn net.Conn
	in   *bufio.Reader
}

func dial(t testing.TB, addr string) *client {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(time.Minute)) // a hanging test is a failed one
	return &client{t: t, conn: conn, in: bufio.NewReader(conn)}
}

// greeted returns a client that has sent EHLO.
func greeted(t testing.TB, addr string) *client {
	t.Helper()
	return dial(t, addr).greets()
}

// greets says EHLO.
func (c *client) greets() *client {
	c.t.Helper()
	c.expect("220 ")
	c.ask("EHLO c.test", "250 ")
	return c
}

// inData returns a client that may send a body to rcpt.
func inData(t testing.TB, addr, rcpt string) *client {
	t.Helper()
	return greeted(t, addr).begins(rcpt)
}

// begins has a message to rcpt up to its body.
func (c *client) begins(rcpt string) *client {
	c.t.Helper()
	c.ask("MAIL FROM:<a@b.test>", "250 ")
	c.ask("RCPT TO:<"+rcpt+">", "250 ")
	c.ask("DATA", "354 ")
	return c
}

// inBubble runs test on a virtual clock, together with a server with opts: no time passes while either
// side works, so that a timeout is over when it must be on the slowest machine as well.
func inBubble(t *testing.T, opts Options, in InboxReceiver, test func(t *testing.T, s *Server, dial func() *client)) {
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Minute) }) // who trickles finds out that it is over
		open, closes := context.WithCancel(context.Background())
		l := &pipes{make(chan net.Conn), open, closes}
		s := serveOn(t, l, opts, in)
		test(t, s, func() *client {
			mine, theirs := net.Pipe()
			t.Cleanup(func() { mine.Close() })
			l.conns <- addressed{theirs, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}}
			return &client{t: t, conn: mine, in: bufio.NewReader(readAhead(mine))}
		})
	})
}

// pipes is a listener that accepts what it is given.
type pipes struct {
	conns  chan net.Conn
	open   context.Context
	closes func()
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.open.Done():
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.closes(); return nil }
func (p *pipes) Addr() net.Addr { return nil }

// readAhead takes what comes from r at once, as the kernel does from a network: a pipe alone holds
// a reply back until somebody reads it.
func readAhead(r io.Reader) io.Reader {
	parts := make(chan []byte, 10_000)
	go func() {
		defer close(parts)
		for {
			part := make([]byte, 512)
			n, err := r.Read(part)
			if err != nil {
				return
			}
			parts <- part[:n]
		}
	}()
	return partsReader(parts)
}

type partsReader <-chan []byte

func (p partsReader) Read(into []byte) (int, error) {
	part, ok := <-p
	if !ok {
		return 0, io.EOF
	}
	return copy(into, part), nil // all of it: a bufio.Reader asks for more than 512
}

// write sends raw bytes. The server may have hung up already, which expect reports.
func (c *client) write(s string) { io.WriteString(c.conn, s) }

// ask sends a line and expects a reply.
func (c *client) ask(line, want string) string {
	c.t.Helper()
	c.write(line + "\r\n")
	return c.expect(want)
}

// line returns the next line of a reply, or "EOF" at the end.
func (c *client) line() string {
	c.t.Helper()
	line, err := c.in.ReadString('\n')
	var timeout net.Error
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		c.t.Fatal("no answer")
	case err != nil:
		return "EOF"
	}
	return strings.TrimSuffix(line, "\r\n")
}

// expect returns the last line of the next reply, which must begin with want.
func (c *client) expect(want string) string {
	c.t.Helper()
	for {
		line := c.line()
		if len(line) > 3 && line[3] == '-' {
			continue
		}
		if !strings.HasPrefix(line, want) {
			c.t.Fatalf("got %q, want %q", line, want)
		}
		return line
	}
}

// startTLS performs the handshake after the server's 220.
func (c *client) startTLS() error {
	conn := tls.Client(c.conn, &tls.Config{InsecureSkipVerify: true})
	if err := conn.Handshake(); err != nil {
		return err
	}
	c.conn, c.in = conn, bufio.NewReader(conn)
	return nil
}

// serverTLS returns a configuration with a self-signed certificate.
var serverTLS = sync.OnceValue(func() *tls.Config {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "mx.test"},
		NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(nil, template, template, public, private)
	if err != nil {
		panic(fmt.Sprint("self-signed certificate: ", err))
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: private}}}
})
