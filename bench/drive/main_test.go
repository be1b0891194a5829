package drive

import (
	"net"
	"testing"

	"inboxd/bench/benchtest"
)

// serveOne has serve response the first connection to an address, and closes it then.
func serveOne(t *testing.T, serve func(net.Conn)) (addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		serve(c)
	}()
	return ln.Addr().String()
}

func TestMain(m *testing.M) { benchtest.Main(m) }
