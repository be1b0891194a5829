package wire

import (
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// TestACrowdHasNoMoreSocketsThanPlaces: new connections arrive faster than the goroutines of
// earlier ones can notice that they lost their place.
func TestACrowdHasNoMoreSocketsThanPlaces(t *testing.T) {
	for name, secure := range map[string]bool{"plain": false, "TLS": true} {
		t.Run(name, func(t *testing.T) {
			w := &ConnServer{requestIDs: newRequestIDs(), conns: newConnSet(4, nil)}
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			var peers []net.Conn
			for i := range 4 * ProbePlaces {
				peer, err := net.Dial("tcp", listener.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer peer.Close()
				socket, err := listener.Accept()
				if err != nil {
					t.Fatal(err)
				}
				defer socket.Close()
				c := &deadlineConn{Conn: socket, wire: w}
				if secure {
					c.Conn = tls.Server(socket, &tls.Config{})
				}
				if !w.conns.addConn(c) {
					t.Fatalf("connection %d has no place", i)
				}
				peers = append(peers, peer)
			}
			for i, peer := range peers {
				loses, patience := i >= 1 && i < len(peers)-ProbePlaces, 20*time.Millisecond // one client may have a quarter of 4 places
				if loses {
					patience = 20 * time.Second
				}
				peer.SetReadDeadline(time.Now().Add(patience))
				said, err := io.ReadAll(peer)
				if ended := err == nil; ended != loses {
					t.Errorf("connection %d: %q, %v", i, said, err)
				}
				if loses && !secure && !strings.HasSuffix(string(said), `{"detail":"`+crowdedDetail+`","code":"unavailable"}`) {
					t.Errorf("connection %d got %q", i, said)
				}
			}
		})
	}
}
