package http

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"inboxd/internal/webhook"
)

const (
	postIdle        = 30 * time.Second // of a kept connection
	postIdleInAll   = 1024
	postIdlePerHost = 32
)

// postConn is a connection to a receiver. One goroutine at a time uses it.
type postConn struct {
	net.Conn          // in TLS, when the scheme says so
	tcp      net.Conn // beneath it
	host     string   // scheme, host and port
	old      *time.Timer
}

// connect returns a kept connection or opens one. That is done aside, for it needs a deep
// stack: the goroutine that waits for the answer would carry it along.
func (p *Poster) connect(ctx context.Context, u *url.URL) (*postConn, error) {
	at := net.JoinHostPort(u.Hostname(), portOf(u))
	host := u.Scheme + "://" + at
	if c := p.kept.take(host); c != nil {
		return c, nil
	}
	type opened struct {
		conn *postConn
		err  error
	}
	done := make(chan opened, 1)
	go func() {
		tcp, err := p.dialer.DialContext(ctx, "tcp", at)
		if err != nil {
			done <- opened{nil, err}
			return
		}
		c := &postConn{Conn: tcp, tcp: tcp, host: host}
		if u.Scheme == "https" {
			secure := tls.Client(tcp, &tls.Config{ServerName: u.Hostname(), NextProtos: []string{"http/1.1"}})
			if err = secure.HandshakeContext(ctx); err != nil {
				tcp.Close()
			}
			c.Conn = secure
		}
		done <- opened{c, err}
	}()
	got := <-done // ctx ends it
	return got.conn, got.err
}

// interrupt ends whatever reads or writes.
func (c *postConn) interrupt() { c.tcp.SetDeadline(time.Unix(1, 0)) }

// posted is what travels. u has been checked and holds nothing that ends a line.
func posted(u *url.URL, headers []webhook.Header, body []byte) []byte {
	b := make([]byte, 0, 1024+len(body))
	b = append(append(append(b, "POST "...), u.RequestURI()...), " HTTP/1.1"...)
	b = appendField(b, "Host", u.Host)
	b = appendField(b, "Content-Length", strconv.Itoa(len(body)))
	for _, h := range headers { // spelled as specified
		b = appendField(b, h.Name, h.Value)
	}
	return append(append(b, "\r\n\r\n"...), body...)
}

// appendField ends the line before.
func appendField(b []byte, name, value string) []byte {
	return append(append(append(append(b, "\r\n"...), name...), ": "...), value...)
}

// keptConns holds connections that wait for the next request to their hosts.
type keptConns struct {
	mu     sync.Mutex
	idle   map[string][]*postConn // by host; the last one used at the end
	count  int
	closed bool
}

// put keeps c for a while; false when there is no room.
func (k *keptConns) put(c *postConn) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed || k.count >= postIdleInAll || len(k.idle[c.host]) >= postIdlePerHost {
		return false
	}
	k.idle[c.host] = append(k.idle[c.host], c)
	k.count++
	c.old = time.AfterFunc(postIdle, func() {
		if k.remove(c) {
			c.Close()
		}
	})
	return true
}

// take returns a connection to host that is still open, nil when there is none.
func (k *keptConns) take(host string) *postConn {
	for {
		k.mu.Lock()
		all := k.idle[host]
		if len(all) == 0 {
			k.mu.Unlock()
			return nil
		}
		c := all[len(all)-1]
		k.drop(c, len(all)-1)
		k.mu.Unlock()
		c.old.Stop()
		if c.quiet() {
			return c
		}
		c.Close()
	}
}

// remove takes c out, and reports whether it was there.
func (k *keptConns) remove(c *postConn) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, one := range k.idle[c.host] {
		if one == c {
			k.drop(c, i)
			return true
		}
	}
	return false
}

// drop is called under mu.
func (k *keptConns) drop(c *postConn, i int) {
	if k.idle[c.host] = slices.Delete(k.idle[c.host], i, i+1); len(k.idle[c.host]) == 0 {
		delete(k.idle, c.host)
	}
	k.count--
}

func (k *keptConns) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, all := range k.idle {
		for _, c := range all {
			c.old.Stop()
			c.Close()
		}
	}
	clear(k.idle)
	k.count, k.closed = 0, true
}

// quiet reports that the receiver has neither closed the connection nor said anything that
// nobody asked for. It does not wait.
func (c *postConn) quiet() bool {
	raw, err := c.tcp.(syscall.Conn).SyscallConn()
	if err != nil {
		return false
	}
	var read error
	err = raw.Read(func(fd uintptr) bool {
		var b [1]byte
		_, read = syscall.Read(int(fd), b[:])
		return true
	})
	return err == nil && errors.Is(read, syscall.EAGAIN)
}
