package http

import (
	"crypto/tls"
	"io"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"testing"

	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
)

// TestOverTLS: cmd may listen with TLS. After a long poll the connection must remain usable,
// although a read on it was interrupted.
func TestOverTLS(t *testing.T) {
	borrowed := httptest.NewTLSServer(nil) // for its certificate
	defer borrowed.Close()
	w := prepare(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.serve(tls.NewListener(ln, &tls.Config{Certificates: borrowed.TLS.Certificates}))
	w.signUp(alice)
	address, key := w.newInbox(alice, "own"), w.key(alice, account.ScopeFull)

	client := borrowed.Client()
	defer client.CloseIdleConnections()
	ask := func(query string) {
		req, _ := nethttp.NewRequest(methodGet, "https://"+w.addr+"/api/v1/inboxes/"+address+"/latest"+query, nil)
		req.Header.Set("X-API-Key", key)
		resp, err := client.Do(req)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 200 {
			t.Errorf("%s: status %d", query, resp.StatusCode)
		}
	}
	ask("")
	ask("?wait=1")
	ask("")
	go func() {
		w.awaitWaiters(1)
		w.deliver(address, inbox.Receive{Subject: "mail"})
	}()
	ask("?wait=60")
	ask("")
	if n := w.server.wire.Conns(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}
