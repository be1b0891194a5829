package wire

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
)

// listener wraps Accept. It survives a shortage of file descriptors, which would end fasthttp's
// Serve, and wraps every connection in a conn.
type listener struct {
	net.Listener
	wire *Wire
}

const maxAcceptPause = time.Second

// Accept returns the next connection. While the process is out of descriptors it waits and retries;
// this is logged once per shortage.
func (l *listener) Accept() (net.Conn, error) {
	pause := time.Duration(0)
	for {
		c, err := l.Listener.Accept()
		switch {
		case err != nil && !passing(err):
			return nil, err
		case err != nil:
			if pause == 0 {
				l.wire.opts.Logger.Warn("http: connections cannot be accepted", "err", err)
			}
			pause = min(max(2*pause, 5*time.Millisecond), maxAcceptPause)
			if !l.rest(pause) {
				return nil, net.ErrClosed
			}
			continue
		}
		pause = 0
		if own := l.admit(c); own != nil {
			return own, nil
		}
	}
}

func (l *listener) rest(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-l.wire.stopping:
		return false
	}
}

// passing reports whether an error is temporary: a shortage, or a peer that left while it queued.
// Any other error means the end of the listener.
func passing(err error) bool {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// admit returns nil if it refused the connection because too many are open.
func (l *listener) admit(nc net.Conn) *conn {
	w := l.wire
	c := &conn{Conn: nc, number: w.ids.conns.Add(1), release: w.conns.remove, wire: w}
	if w.conns.add(c) {
		return c
	}
	w.refuseConn(c)
	return nil
}

const (
	crowdedDetail = "Too many connections are open, try again soon"
	crowded       = `{"detail":"` + crowdedDetail + `"}`
)

// refuseConn responds without reading, if that cannot delay Accept. The response fits any socket
// buffer, but under TLS it would need a handshake, so TLS connections are just closed.
func (w *Wire) refuseConn(c *conn) {
	if _, plain := c.Conn.(*net.TCPConn); plain {
		w.writeCrowded(c)
	}
	c.Close()
}

// writeCrowded writes a response that fits any socket buffer, so it needs no deadline.
func (w *Wire) writeCrowded(c *conn) {
	secure := ""
	if w.opts.Secure {
		secure = fmt.Sprintf("%s: %s\r\n", headerSecure, secureAlways)
	}
	fmt.Fprintf(c.Conn, "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Type: application/json\r\n"+
		"X-Content-Type-Options: nosniff\r\n%sX-Request-Id: %s\r\nContent-Length: %d\r\n\r\n%s", secure, w.ids.append(nil, c.number, 0), len(crowded), crowded)
}

// refuseProbe refuses a request on a connection beyond the limits, unless it is a health check.
// Such a connection is closed after its response in every case.
func (w *Wire) refuseProbe(c *fasthttp.RequestCtx) (refused bool) {
	if own, ok := c.Conn().(*conn); !ok || !own.probe {
		return false
	}
	c.SetConnectionClose()
	if path := string(c.Path()); path == "/healthz" || path == "/readyz" {
		return false
	}
	c.Response.Header.Set(fasthttp.HeaderRetryAfter, "1")
	w.opts.Refuse(c, fasthttp.StatusServiceUnavailable, crowdedDetail)
	endRefused(c, lingerStranger)
	return true
}
