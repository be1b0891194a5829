package smtp

import (
	"bufio"
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestPushback(t *testing.T) {
	start := time.Unix(1000, 0)
	p := pushback{storingCount: new(atomic.Int32)}
	at := func(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }
	expect := func(seconds float64, want bool) {
		t.Helper()
		if got := p.acceptsMessages(at(seconds)); got != want {
			t.Errorf("after %v s: open %v", seconds, got)
		}
	}
	begin := func(n int, seconds float64) {
		for range n {
			p.beginStore(at(seconds))
		}
	}
	begin(2*pushbackQueue, 0)
	begin(1, 6.5)
	p.endStore(at(0), at(7)) // slow, but with a fast one at the same time: a burst
	p.endStore(at(6.5), at(7.2))
	expect(8.1, true)
	p.endStore(at(0), at(8.2))
	expect(9.2, false) // none was fast
	expect(10.1, false)
	p.endStore(at(8), at(10.2)) // fast
	expect(11.2, true)
	expect(15, true)
	expect(16.3, false) // nothing has ended for a long time
	for range 2*pushbackQueue - 3 {
		p.endStore(at(0), at(16.4))
	}
	expect(16.5, true) // the remaining messages are not a queue
	begin(2*pushbackQueue, 16.6)
	expect(16.7, false)
	expect(17.5, false)
	expect(18.6, true) // nothing slow ended in the last span
}

// slowHouse stores one message after the other.
type slowHouse struct {
	turn   chan struct{}
	each   time.Duration
	stored atomic.Int64
}

func (h *slowHouse) CheckRecipient(context.Context, string) error { return nil }

func (h *slowHouse) Receive(ctx context.Context, _ Envelope, _ []byte) error {
	h.turn <- struct{}{}
	defer func() { <-h.turn }()
	time.Sleep(h.each)
	h.stored.Add(1)
	return nil
}

// sender submits messages without end. When deferred, it waits and tries again.
func sender(s *Server, until time.Time, deferred *atomic.Int64) {
	ours, theirs := net.Pipe()
	s.admitConnection(ours, false)
	defer theirs.Close()
	in := bufio.NewReader(theirs)
	reply := func() string {
		line, err := in.ReadString('\n')
		for err == nil && len(line) > 3 && line[3] == '-' {
			line, err = in.ReadString('\n')
		}
		if err != nil {
			panic("a session ended early") // a loop without waiting would stop virtual time
		}
		return line
	}
	reply()
	io.WriteString(theirs, "HELO c.test\r\n")
	for reply(); time.Now().Before(until); {
		io.WriteString(theirs, "MAIL FROM:<a@b.test>\r\n")
		if strings.HasPrefix(reply(), "451 4.3.2 ") {
			deferred.Add(1)
			time.Sleep(3 * time.Second)
			continue
		}
		io.WriteString(theirs, "RCPT TO:<m@inbox.test>\r\nBDAT 1 LAST\r\nx")
		reply()
		reply()
	}
}

// TestOverload checks, in virtual time, that far more senders than can be served do not reduce the
// throughput, that each accepted message is stored in bounded time, and that no message is deferred
// ten seconds after the rush.
func TestOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		house := &slowHouse{turn: make(chan struct{}, 1), each: 10 * time.Millisecond}
		s := New(Options{MaxConnsPerIP: 1000}, house)
		s.startOnce.Do(s.startProtocol)
		var deferred atomic.Int64
		load := func(senders int, length time.Duration) (perSecond float64) {
			before, until := house.stored.Load(), time.Now().Add(length)
			var all sync.WaitGroup
			for range senders {
				all.Go(func() { sender(s, until, &deferred) })
			}
			time.Sleep(length)
			perSecond = float64(house.stored.Load()-before) / length.Seconds()
			all.Wait()
			return perSecond
		}
		peak := load(50, 10*time.Second)
		if n := deferred.Load(); n != 0 || peak < 90 {
			t.Errorf("without overload: %d put off, %v mails a second", n, peak)
		}
		rush := load(900, 30*time.Second)
		if rush < 0.8*peak || deferred.Load() == 0 {
			t.Errorf("in the rush: %v mails a second, %v at the peak; %d put off", rush, peak, deferred.Load())
		}
		load(50, 10*time.Second)
		deferred.Store(0)
		if again := load(50, 10*time.Second); deferred.Load() != 0 || again < 0.9*peak {
			t.Errorf("ten seconds after the rush: %d put off, %v mails a second", deferred.Load(), again)
		}
		s.Shutdown(t.Context())
	})
}
