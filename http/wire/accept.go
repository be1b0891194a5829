package wire

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"

	"inboxd/internal/base/fault"
)

// connListener wraps Accept. It survives a shortage of file descriptors, which would end fasthttp's
// Serve, and wraps every connection in a conn.
type connListener struct {
	net.Listener
	wire *ConnServer
}

const maxAcceptPause = time.Second

// Accept returns the next connection. While the process is out of descriptors it waits and retries;
// this is logged once per shortage.
func (l *connListener) Accept() (net.Conn, error) {
	pause := time.Duration(0)
	for {
		c, err := l.Listener.Accept()
		switch {
		case err != nil && !isTemporary(err):
			return nil, err
		case err != nil:
			if pause == 0 {
				l.wire.opts.Logger.Warn("http: connections cannot be accepted", "err", err)
			}
			pause = min(max(2*pause, 5*time.Millisecond), maxAcceptPause)
			if !l.restFor(pause) {
				return nil, net.ErrClosed
			}
			continue
		}
		pause = 0
		if own := l.admitConn(c); own != nil {
			return own, nil
		}
	}
}

func (l *connListener) restFor(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-l.wire.stopCh:
		return false
	}
}

// isTemporary reports whether an error is temporary: a shortage, or a peer that left while it queued.
// Any other error means the end of the listener.
func isTemporary(err error) bool {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// admitConn returns nil if it refused the connection because too many are open.
func (l *connListener) admitConn(nc net.Conn) *deadlineConn {
	w := l.wire
	c := &deadlineConn{Conn: nc, connNumber: w.requestIDs.conns.Add(1), releaseConn: w.conns.removeConn, wire: w}
	if w.conns.addConn(c) {
		return c
	}
	w.refuseConn(c)
	return nil
}

const (
	crowdedDetail = "Too many connections are open, try again soon"
	crowdedBody   = `{"detail":"` + crowdedDetail + `","code":"` + string(fault.CodeUnavailable) + `"}`
)

// refuseConn responds without reading, if that cannot delay Accept. The response fits any socket
// buffer, but under TLS it would need a handshake, so TLS connections are just closed.
func (w *ConnServer) refuseConn(c *deadlineConn) {
	if _, plain := c.Conn.(*net.TCPConn); plain {
		w.writeCrowded(c)
	}
	c.Close()
}

// writeCrowded writes a response that fits any socket buffer, so it needs no deadline.
func (w *ConnServer) writeCrowded(c *deadlineConn) {
	secure := ""
	if w.opts.HTTPSOnly {
		secure = fmt.Sprintf("%s: %s\r\n", headerSecure, secureAlways)
	}
	fmt.Fprintf(c.Conn, "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Type: application/json\r\n"+
		"X-Content-Type-Options: nosniff\r\n%sX-Request-Id: %s\r\nContent-Length: %d\r\n\r\n%s", secure, w.requestIDs.appendID(nil, c.connNumber, 0), len(crowdedBody), crowdedBody)
}

// refuseProbe refuses a request on a connection beyond the limits, unless it is a health check.
// Such a connection is closed after its response in every case.
func (w *ConnServer) refuseProbe(c *fasthttp.RequestCtx) (refused bool) {
	if own, ok := c.Conn().(*deadlineConn); !ok || !own.isProbe {
		return false
	}
	c.SetConnectionClose()
	if path := string(c.Path()); path == "/healthz" || path == "/readyz" {
		return false
	}
	c.Response.Header.Set(fasthttp.HeaderRetryAfter, "1")
	w.opts.RefuseRequest(c, fasthttp.StatusServiceUnavailable, crowdedDetail)
	endRefused(c, lingerStranger)
	return true
}
