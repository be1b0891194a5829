package http

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// shortage is a listener that fails with err a few times before it accepts.
type shortage struct {
	net.Listener
	err  error
	left atomic.Int32
}

func (l *shortage) Accept() (net.Conn, error) {
	if l.left.Add(-1) >= 0 {
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", l.err)}
	}
	return l.Listener.Accept()
}

func TestAcceptOutlastsAShortage(t *testing.T) {
	for _, err := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ECONNABORTED} {
		w := prepare(t)
		ln, listenErr := net.Listen("tcp", "127.0.0.1:0")
		if listenErr != nil {
			t.Fatal(listenErr)
		}
		short := &shortage{Listener: ln, err: err}
		short.left.Store(4)
		w.serve(short)
		w.expect(200, w.call(get, "/healthz", "", ""))
		if n := strings.Count(w.log.String(), "can't be accepted"); n != 1 {
			t.Errorf("%v: %d lines in the log", err, n)
		}
	}
}

func TestServeEndsWithItsListener(t *testing.T) {
	w := prepare(t)
	broken := &shortage{err: syscall.EINVAL}
	broken.left.Store(1)
	if err := w.server.Serve(broken); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("Serve: %v", err)
	}
}

func TestTooManyConnectionsAreRefused(t *testing.T) {
	w := start(t, func(o *Options) { o.MaxConns = 3 })
	var open []net.Conn
	for range 3 {
		c, err := net.Dial("tcp", w.addr)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
		io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	c, err := net.Dial("tcp", w.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	got, err := io.ReadAll(c)
	if s := string(got); err != nil || !strings.HasPrefix(s, "HTTP/1.1 503 ") || !strings.HasSuffix(s, `try again soon"}`) || !strings.Contains(s, "X-Request-Id: ") {
		t.Errorf("%v\n%s", err, got)
	}
	for _, c := range open {
		c.Close()
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		if r, err := w.try(get, "/healthz", "", ""); err == nil && r.status == 200 {
			return
		} else if time.Now().After(deadline) {
			t.Fatalf("no place became free: %v %v", r, err)
		}
	}
}

// TestShutdownGivesUpAtItsDeadline: a request that hangs does not hold the process.
func TestShutdownGivesUpAtItsDeadline(t *testing.T) {
	entered := make(chan struct{})
	release := make(chan struct{})
	w := start(t, func(o *Options) {
		o.Ready = func() error { close(entered); <-release; return nil }
	})
	got := w.waiting("/readyz", "")
	<-entered
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if err := w.server.Shutdown(over); err == nil {
		t.Error("Shutdown says that nothing was in flight")
	}
	if w.server.base.Err() == nil {
		t.Error("requests in flight were not told")
	}
	close(release)
	w.answer(got)
}

// TestShutdownDoesNotWaitForTheSilent: a connection that was opened ahead of need, and one
// between two requests, end at once.
func TestShutdownDoesNotWaitForTheSilent(t *testing.T) {
	w := start(t)
	silent, err := net.Dial("tcp", w.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	w.expect(200, w.call(get, "/healthz", "", "")) // the silent one was accepted before
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := w.server.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}
