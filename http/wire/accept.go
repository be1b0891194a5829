package wire

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"
)

// listener wraps Accept: it survives a lack of file descriptors, which would end fasthttp's
// Serve, and makes every connection one of ours.
type listener struct {
	net.Listener
	wire *Wire
}

// connSet is the open connections of all listeners.
type connSet struct {
	mu   sync.Mutex // guards open
	open map[*conn]struct{}
}

// add reports false when most are open already.
func (cs *connSet) add(c *conn, most int) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if len(cs.open) >= most {
		return false
	}
	cs.open[c] = struct{}{}
	return true
}

func (cs *connSet) remove(c *conn) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	delete(cs.open, c)
}

// silent returns those that never sent a byte. fasthttp takes them for busy.
func (cs *connSet) silent() (out []*conn) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for c := range cs.open {
		if !c.spoke.Load() {
			out = append(out, c)
		}
	}
	return out
}

// hurry bounds what streams still write, also what they are writing now.
func (cs *connSet) hurry(until time.Time) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	for c := range cs.open {
		if c.streaming.Load() {
			c.Conn.SetWriteDeadline(until)
		}
	}
}

const maxAcceptPause = time.Second

// Accept returns the next connection. While the process is out of descriptors it waits and
// tries again; the log says so once per shortage.
func (l *listener) Accept() (net.Conn, error) {
	pause := time.Duration(0)
	for {
		c, err := l.Listener.Accept()
		switch {
		case err != nil && !passing(err):
			return nil, err
		case err != nil:
			if pause == 0 {
				l.wire.opts.Logger.Warn("http: connections can't be accepted for now", "err", err)
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

// passing tells a shortage, or a peer that left while it queued, from the end of a listener.
func passing(err error) bool {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// admit returns nil when the connection was refused because too many are open.
func (l *listener) admit(nc net.Conn) *conn {
	w := l.wire
	c := &conn{Conn: nc, number: w.ids.conns.Add(1), release: w.conns.remove, wire: w}
	if w.conns.add(c, w.opts.MaxConns) {
		return c
	}
	w.refuseConn(c)
	return nil
}

const crowded = `{"detail":"Too many connections are open, try again soon"}`

// refuseConn answers without reading, where that can't hold up Accept: the response
// fits any socket buffer, but under TLS it would take a handshake.
func (w *Wire) refuseConn(c *conn) {
	if _, plain := c.Conn.(*net.TCPConn); plain {
		fmt.Fprintf(c, "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Type: application/json\r\n"+
			"X-Content-Type-Options: nosniff\r\nX-Request-Id: %s\r\nContent-Length: %d\r\n\r\n%s", w.ids.append(nil, c.number, 0), len(crowded), crowded)
	}
	c.Close()
}
