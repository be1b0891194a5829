package wire

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"inboxd/internal/core/account"
)

// paced makes a conn over a pipe, in a synctest bubble with its own clock.
func paced(t *testing.T, test func(t *testing.T, c *deadlineConn, peer net.Conn)) {
	synctest.Test(t, func(t *testing.T) {
		mine, peer := net.Pipe()
		c := &deadlineConn{Conn: mine, releaseConn: func(*deadlineConn) {}}
		test(t, c, peer)
		c.Close()
		peer.Close()
		time.Sleep(time.Hour) // of the bubble's clock: lets sleeping goroutines notice the close
	})
}

// readAll reads until an error and returns the duration.
func readAll(c *deadlineConn) (n int, took time.Duration, err error) {
	began := time.Now()
	for buf := make([]byte, 4096); ; {
		got, err := c.Read(buf)
		if n += got; err != nil {
			return n, time.Since(began), err
		}
	}
}

func TestASilentConnectionEnds(t *testing.T) {
	paced(t, func(t *testing.T, c *deadlineConn, _ net.Conn) {
		if _, took, err := readAll(c); !errors.Is(err, os.ErrDeadlineExceeded) || took != progressStep {
			t.Errorf("after %v: %v", took, err)
		}
	})
}

// TestADribbleIsNoProgress: a byte every few seconds does not keep a connection open.
func TestADribbleIsNoProgress(t *testing.T) {
	paced(t, func(t *testing.T, c *deadlineConn, peer net.Conn) {
		go func() {
			for {
				if _, err := peer.Write([]byte("x")); err != nil {
					return
				}
				time.Sleep(2 * time.Second)
			}
		}()
		if _, took, err := readAll(c); !errors.Is(err, os.ErrDeadlineExceeded) || took != progressStep {
			t.Errorf("after %v: %v", took, err)
		}
	})
}

// TestASlowBodyMayTakeItsTime: a slow body is accepted while it makes progress.
func TestASlowBodyMayTakeItsTime(t *testing.T) {
	paced(t, func(t *testing.T, c *deadlineConn, peer net.Conn) {
		go func() {
			for range 20 {
				peer.Write(make([]byte, minProgress))
				time.Sleep(progressStep - time.Second)
			}
			peer.Close()
		}()
		if n, took, err := readAll(c); err != io.EOF || n != 20*minProgress || took < 3*time.Minute {
			t.Errorf("%d bytes in %v: %v", n, took, err)
		}
	})
}

// TestWhoHoldsMuchMustBringMuch: a trickling body is cut off however much of it has arrived. A body
// whose rate is proportional to its memory is not.
func TestWhoHoldsMuchMustBringMuch(t *testing.T) {
	for name, c := range map[string]struct {
		bytes int // in each progressStep
		whole bool
	}{"a drip": {minProgress, false}, "in proportion": {4<<20/heldSteps + 1, true}} {
		paced(t, func(t *testing.T, own *deadlineConn, peer net.Conn) {
			const size, sent = 4 << 20, 3 << 20
			b := bodyReader{conn: own, bodyAllowance: BodyAllowance{MaxBytes: size}, budgetCharge: NewBudget(2 * size).NewCharge(account.ID{})}
			go func() {
				peer.Write(make([]byte, sent))
				for left := size - sent; left > 0; left -= c.bytes {
					time.Sleep(progressStep - time.Millisecond)
					if _, err := peer.Write(make([]byte, min(left, c.bytes))); err != nil {
						return
					}
				}
			}()
			began := time.Now()
			err := b.readBody(io.LimitReader(own, size), size)
			if c.whole != (err == nil) || !c.whole && (!errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) > 3*progressStep) {
				t.Errorf("%s: %d bytes after %v: %v", name, len(b.buf), time.Since(began), err)
			}
		})
	}
}

// TestIdleAndProgressTakeTurns checks the deadlines in the order in which fasthttp sets them.
func TestIdleAndProgressTakeTurns(t *testing.T) {
	paced(t, func(t *testing.T, c *deadlineConn, peer net.Conn) {
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
		if _, took, err := readAll(c); !errors.Is(err, os.ErrDeadlineExceeded) || took != progressStep {
			t.Errorf("in a request: %v, %v", took, err)
		}
	})
}

// TestAnIdleConnectionEnds, including the slack of the armed deadline.
func TestAnIdleConnectionEnds(t *testing.T) {
	paced(t, func(t *testing.T, c *deadlineConn, _ net.Conn) {
		c.SetReadDeadline(time.Now().Add(idleTimeout))
		time.Sleep(deadlineSlack - time.Millisecond)
		c.SetReadDeadline(time.Now().Add(idleTimeout))
		if _, took, err := readAll(c); !errors.Is(err, os.ErrDeadlineExceeded) || took > idleTimeout || took < idleTimeout-deadlineSlack {
			t.Errorf("after %v: %v", took, err)
		}
	})
}

// TestAPeerThatStopsReadingIsLeft: it is disconnected, while a slow reader is served.
func TestAPeerThatStopsReadingIsLeft(t *testing.T) {
	paced(t, func(t *testing.T, c *deadlineConn, peer net.Conn) {
		go func() {
			for range 9 {
				io.ReadFull(peer, make([]byte, writePiece))
				time.Sleep(writeTimeout - deadlineSlack - time.Second)
			}
		}()
		began := time.Now()
		n, err := c.Write(make([]byte, 12*writePiece))
		if !errors.Is(err, os.ErrDeadlineExceeded) || n < 8*writePiece || n > 10*writePiece || time.Since(began) < 8*(writeTimeout-deadlineSlack-time.Second) {
			t.Errorf("%d bytes in %v: %v", n, time.Since(began), err)
		}
	})
}

// TestALargeAnswerMustGoOn: a response held in memory has a shorter timeout, which replaces a
// deadline armed for another one.
func TestALargeAnswerMustGoOn(t *testing.T) {
	paced(t, func(t *testing.T, c *deadlineConn, peer net.Conn) {
		go io.ReadFull(peer, make([]byte, 10+2*writePiece))
		c.Write(make([]byte, 10))
		c.pieceBytes = 1
		began := time.Now()
		n, err := c.Write(make([]byte, 12*writePiece))
		if !errors.Is(err, os.ErrDeadlineExceeded) || n != 2*writePiece || time.Since(began) > writeTimeout/2 {
			t.Errorf("%d bytes in %v: %v", n, time.Since(began), err)
		}
	})
}

// half is a pipe whose writing side can be closed, like TCP's.
type half struct{ net.Conn }

func (half) CloseWrite() error { return nil }

// TestOnlySoManyStrangersLinger: a refused client may still send for a second, but only a few at a
// time. While all places are taken, further connections are closed immediately; later ones find
// free places.
func TestOnlySoManyStrangersLinger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		places := cap(lingerStranger.places)
		lasted := func() time.Duration {
			mine, peer := net.Pipe()
			go io.Copy(peer, bytes.NewReader(make([]byte, lingerStranger.maxBytes+1)))
			c, began := &deadlineConn{Conn: half{mine}, releaseConn: func(*deadlineConn) {}}, time.Now()
			c.refusalLinger.Store(lingerStranger)
			c.Close()
			peer.Close()
			return time.Since(began)
		}
		for range places {
			go lasted()
		}
		synctest.Wait()
		if d := lasted(); d != 0 {
			t.Errorf("one more than %d stayed for %v", places, d)
		}
		time.Sleep(lingerStranger.maxStay)
		synctest.Wait()
		if d := lasted(); d != lingerStranger.maxStay {
			t.Errorf("once they are gone one stayed for %v", d)
		}
	})
}
