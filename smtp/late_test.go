package smtp

import (
	"bufio"
	"context"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"inboxd/internal/fault"
)

// stuckHouse is a house whose disk stands still until leave, or is full as well.
type stuckHouse struct {
	house
	full atomic.Bool
	asks chan struct{} // if not nil, Accepts waits for its end, but not for n@inbox.test
}

func (h *stuckHouse) Accepts(ctx context.Context, rcpt string) error {
	if h.asks != nil && rcpt != "n@inbox.test" {
		<-h.asks
	}
	if h.full.Load() {
		return fault.New(fault.StorageFull, "disk")
	}
	return h.house.Accepts(ctx, rcpt)
}

func newStuckHouse() *stuckHouse {
	return &stuckHouse{house: house{enter: make(chan struct{}), leave: make(chan struct{})}}
}

// TestAnswerOfStuckDelivery holds when a peer is answered whose mail is in the middle of a
// commit: in virtual time, from the final dot on.
func TestAnswerOfStuckDelivery(t *testing.T) {
	for _, c := range []struct {
		name       string
		full, free time.Duration // when the disk is full, when Deliver comes back; 0: at no time
		want       string
		from, to   time.Duration
	}{
		{"full at once", 1, 0, "452 4.3.1 ", lateFull, lateFull + lateLook},
		{"full later", 20 * time.Second, 0, "452 4.3.1 ", 20 * time.Second, 20*time.Second + lateLook},
		{"stands still", 0, 0, "451 4.3.0 ", lateEnd, lateEnd + lateLook},
		{"slow", 0, lateEnd - time.Millisecond, "250 2.0.0 ", lateEnd - time.Millisecond, lateEnd - time.Millisecond},
		{"full for a moment", 1, lateFull - time.Millisecond, "250 2.0.0 ", lateFull - time.Millisecond, lateFull - time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newStuckHouse()
				_, peer := h.meet(t)
				peer.envelope("m@inbox.test")
				go func() {
					<-h.enter
					if c.free > 0 {
						time.AfterFunc(c.free, func() { close(h.leave) })
					}
					if c.full > 0 {
						time.AfterFunc(c.full, func() { h.full.Store(true) })
					}
				}()
				began := time.Now()
				peer.ask("x\r\n.", c.want)
				if took := time.Since(began); took < c.from || took > c.to {
					t.Errorf("answered after %v", took)
				}
				if c.free > 0 {
					peer.ask("QUIT", "221 ")
					return
				}
				close(h.leave)
				if line := peer.line(); line != "EOF" {
					t.Errorf("then %q", line)
				}
			})
		})
	}
}

// meet starts a session of a peer that has said HELO. It belongs to the bubble of synctest.
func (h *stuckHouse) meet(t *testing.T) (*Server, *client) {
	s := New(Options{}, h)
	s.start.Do(s.startProtocol)
	ours, theirs := net.Pipe()
	t.Cleanup(func() {
		theirs.Close()
		s.Shutdown(context.Background())
	})
	go s.meet(ours, false)
	peer := &client{t: t, conn: theirs, in: bufio.NewReader(theirs)}
	peer.expect("220 ")
	peer.ask("HELO c.test", "250 ")
	return s, peer
}

func (c *client) envelope(rcpt string) {
	c.t.Helper()
	c.ask("MAIL FROM:<a@b.test>", "250 ")
	c.ask("RCPT TO:<"+rcpt+">", "250 ")
	c.ask("DATA", "354 ")
}

// TestAnswerWhileTheDiskIsAsked holds that whoever asks a disk that does not answer holds
// nobody up, and that what he learns in the end is for no other mail.
func TestAnswerWhileTheDiskIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newStuckHouse()
		s, peer := h.meet(t)
		peer.envelope("m@inbox.test")
		h.asks = make(chan struct{})
		go func() {
			<-h.enter
			time.Sleep(lateFull + lateLook)
			h.leave <- struct{}{}
		}()
		peer.ask("x\r\n.", "250 ")
		peer.envelope("n@inbox.test")
		peer.write("y\r\n.\r\n")
		<-h.enter
		h.full.Store(true)
		close(h.asks)
		synctest.Wait()
		h.full.Store(false)
		h.leave <- struct{}{}
		peer.expect("250 ")

		peer.envelope("late-busy@inbox.test") // when the disk is back, that is refused
		h.asks = make(chan struct{})
		go func() { <-h.enter }()
		began := time.Now()
		peer.ask("z\r\n.", "451 ")
		if took := time.Since(began); took < lateEnd || took > lateEnd+lateLook {
			t.Errorf("answered after %v", took)
		}
		h.full.Store(true)
		close(h.asks)
		synctest.Wait()
		close(h.leave)
		synctest.Wait() // told once, counted and logged once
		if n := s.Stats().RejectionsByReason; n["unavailable"] != 1 || n["storage_full"] != 0 {
			t.Errorf("refusals: %v", n)
		}
	})
}

// TestStuckSessionEnds holds that a peer that was answered by another goroutine hears the
// replies held back before it and nothing after it, and that its session leaves when the
// disk comes back.
func TestStuckSessionEnds(t *testing.T) {
	for _, under := range []string{"TCP", "TLS"} {
		t.Run(under, func(t *testing.T) {
			h := newStuckHouse()
			s, addr := serve(t, Options{TLSConfig: serverTLS()}, h)
			peer := greeted(t, addr)
			if under == "TLS" {
				peer.ask("STARTTLS", "220 ")
				if err := peer.startTLS(); err != nil {
					t.Fatal(err)
				}
				peer.ask("EHLO c.test", "250 ")
			}
			peer.write("MAIL FROM:<a@b.test>\r\nRCPT TO:<m@inbox.test>\r\nBDAT 3\r\nx\r\nBDAT 3 LAST\r\ny\r\nNOOP\r\n")
			<-h.enter
			h.full.Store(true)
			for _, want := range []string{"250 2.1.0", "250 2.1.5", "250 2.0.0", "452 4.3.1"} {
				if line := peer.line(); !strings.HasPrefix(line, want[:3]) {
					t.Fatalf("got %q, want %q", line, want)
				}
			}
			if rest, err := io.ReadAll(peer.in); len(rest) > 0 || err != nil {
				t.Errorf("then %q, %v", rest, err)
			}
			close(h.leave)
			for s.open() > 0 {
				<-s.gone
			}
			if got := bodies(h.delivered()); len(got) != 1 || got[0] != "x\r\ny\r\n" {
				t.Errorf("stored: %q", got)
			}
		})
	}
}
