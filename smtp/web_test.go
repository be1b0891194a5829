package smtp

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
)

// past is a connection whose greeting was read, like that of a client that reads nothing until it
// has sent its request.
func past(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err == nil {
		_, err = bufio.NewReader(conn).ReadString('\n') // the only line sent so far
	}
	return conn, err
}

// If a web page posts a message, nothing of it is stored.
func TestPostOfAWebPage(t *testing.T) {
	inboxes := &house{}
	s, addr := serve(t, Options{}, inboxes)
	web := &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return past(ctx, addr) },
	}}
	const mail = "HELO c.test\r\nMAIL FROM:<a@b.test>\r\nRCPT TO:<m@inbox.test>\r\nDATA\r\nx\r\n.\r\nQUIT\r\n"
	if answer, err := web.Post("http://"+addr+"/", "text/plain", strings.NewReader(mail)); err == nil {
		t.Error("answered in HTTP:", answer.Status)
	}
	allLeft(s)
	if got := inboxes.received(); len(got) > 0 {
		t.Errorf("stored %q", bodies(got))
	}
	if n := s.Stats().RejectionsByReason["protocol"]; n != 1 {
		t.Errorf("%d commands were refused", n)
	}
}

// A TLS handshake on a plain port is cut off at its first record, without a wait.
func TestHandshakeOnAPlainPort(t *testing.T) {
	s, addr := serve(t, Options{TLSConfig: serverTLS()}, &house{})
	plain, err := past(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	err = tls.Client(plain, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(t.Context())
	if !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Error("the handshake ended with", err)
	}
	plain.Close()
	allLeft(s)
}
