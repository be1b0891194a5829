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
	"testing/synctest"
	"time"
)

// paced makes a conn over a pipe, in a bubble with its own clock.
func paced(t *testing.T, test func(t *testing.T, c *conn, peer net.Conn)) {
	synctest.Test(t, func(t *testing.T) {
		mine, peer := net.Pipe()
		c := &conn{Conn: mine, release: func(*conn) {}}
		test(t, c, peer)
		c.Close()
		peer.Close()
		time.Sleep(time.Hour) // of the bubble's clock: whoever still sleeps sees the end
	})
}

// readAll reads until an error and returns how long that took.
func readAll(c *conn) (n int, took time.Duration, err error) {
	began := time.Now()
	for buf := make([]byte, 4096); ; {
		got, err := c.Read(buf)
		if n += got; err != nil {
			return n, time.Since(began), err
		}
	}
}

func TestASilentConnectionEnds(t *testing.T) {
	paced(t, func(t *testing.T, c *conn, _ net.Conn) {
		if _, took, err := readAll(c); !errors.Is(err, os.ErrDeadlineExceeded) || took != progressWindow {
			t.Errorf("after %v: %v", took, err)
		}
	})
}

// TestADribbleIsNoProgress: a byte every few seconds does not hold a connection.
func TestADribbleIsNoProgress(t *testing.T) {
	paced(t, func(t *testing.T, c *conn, peer net.Conn) {
		go func() {
			for {
				if _, err := peer.Write([]byte("x")); err != nil {
					return
				}
				time.Sleep(2 * time.Second)
			}
		}()
		if _, took, err := readAll(c); !errors.Is(err, os.ErrDeadlineExceeded) || took != progressWindow {
			t.Errorf("after %v: %v", took, err)
		}
	})
}

// TestASlowBodyMayTakeItsTime: while it makes progress.
func TestASlowBodyMayTakeItsTime(t *testing.T) {
	paced(t, func(t *testing.T, c *conn, peer net.Conn) {
		go func() {
			for range 20 {
				peer.Write(make([]byte, minProgress))
				time.Sleep(progressWindow - time.Second)
			}
			peer.Close()
		}()
		if n, took, err := readAll(c); err != io.EOF || n != 20*minProgress || took < 3*time.Minute {
			t.Errorf("%d bytes in %v: %v", n, took, err)
		}
	})
}

// TestIdleAndProgressTakeTurns follows the deadlines as fasthttp sets them.
func TestIdleAndProgressTakeTurns(t *testing.T) {
	paced(t, func(t *testing.T, c *conn, peer net.Conn) {
		buf := make([]byte, 16)
		for range 3 {
			c.SetReadDeadline(time.Now().Add(idleTimeout))
			go func() {
				time.Sleep(idleTimeout - deadlineSlack - time.Second)
				peer.Write([]byte("request"))
			}()
			if n, err := c.Read(buf); n != 7 || err != nil {
				t.Fatalf("idle: %d, %v", n, err)
			}
			c.SetReadDeadline(time.Time{})
		}
		if _, took, err := readAll(c); !errors.Is(err, os.ErrDeadlineExceeded) || took != progressWindow {
			t.Errorf("in a request: %v, %v", took, err)
		}
	})
}

// TestAnIdleConnectionEnds, the slack of the armed deadline included.
func TestAnIdleConnectionEnds(t *testing.T) {
	paced(t, func(t *testing.T, c *conn, _ net.Conn) {
		c.SetReadDeadline(time.Now().Add(idleTimeout))
		time.Sleep(deadlineSlack - time.Millisecond)
		c.SetReadDeadline(time.Now().Add(idleTimeout))
		if _, took, err := readAll(c); !errors.Is(err, os.ErrDeadlineExceeded) || took > idleTimeout || took < idleTimeout-deadlineSlack {
			t.Errorf("after %v: %v", took, err)
		}
	})
}

// TestAPeerThatStopsReadingIsLeft while one that reads slowly is served.
func TestAPeerThatStopsReadingIsLeft(t *testing.T) {
	paced(t, func(t *testing.T, c *conn, peer net.Conn) {
		go func() {
			for range 9 {
				io.ReadFull(peer, make([]byte, writePiece))
				time.Sleep(writeWindow - deadlineSlack - time.Second)
			}
		}()
		began := time.Now()
		n, err := c.Write(make([]byte, 12*writePiece))
		if !errors.Is(err, os.ErrDeadlineExceeded) || n < 8*writePiece || n > 10*writePiece || time.Since(began) < 8*(writeWindow-deadlineSlack-time.Second) {
			t.Errorf("%d bytes in %v: %v", n, time.Since(began), err)
		}
	})
}

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
	ctx, cancel := context.WithTimeout(context.Background(), progressWindow/2)
	defer cancel()
	if err := w.server.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}
