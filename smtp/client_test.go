package smtp

import (
	"bufio"
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
	conn.SetDeadline(time.Now().Add(20 * time.Second)) // a test that hangs fails
	return &client{t: t, conn: conn, in: bufio.NewReader(conn)}
}

// greeted returns a client that has sent EHLO.
func greeted(t testing.TB, addr string) *client {
	t.Helper()
	c := dial(t, addr)
	c.expect("220 ")
	c.ask("EHLO c.test", "250 ")
	return c
}

// inData returns a client that may send a body to rcpt.
func inData(t testing.TB, addr, rcpt string) *client {
	t.Helper()
	c := greeted(t, addr)
	c.ask("MAIL FROM:<a@b.test>", "250 ")
	c.ask("RCPT TO:<"+rcpt+">", "250 ")
	c.ask("DATA", "354 ")
	return c
}

// write sends raw bytes. If the server has already closed the connection, expect fails later.
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
