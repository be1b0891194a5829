package smtp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

func TestSilentPeer(t *testing.T) {
	inBubble(t, Options{}, &house{}, func(t *testing.T, s *Server, dial func() *client) {
		began := time.Now()
		c := dial()
		c.expect("220 ")
		c.expect("421 4.4.2 ")
		if got := c.line(); got != "EOF" {
			t.Error(got)
		}
		if n, after := s.Stats().Timeouts, time.Since(began); n != 1 || after != 30*time.Second {
			t.Error("timeouts", n, "after", after)
		}
	})
}

func TestSilenceAfterSTARTTLS(t *testing.T) {
	inBubble(t, Options{TLSConfig: serverTLS()}, &house{}, func(t *testing.T, _ *Server, dial func() *client) {
		c := dial()
		c.expect("220 ")
		c.ask("STARTTLS", "220 ")
		began := time.Now()
		if _, err := c.in.ReadByte(); err == nil {
			t.Error("something was said instead of a handshake")
		}
		if after := time.Since(began); after != 30*time.Second {
			t.Error("left after", after)
		}
	})
}

func TestIdlePeer(t *testing.T) {
	inBubble(t, Options{}, &house{}, func(t *testing.T, _ *Server, dial func() *client) {
		dial().greets().timesOut(5 * time.Minute)
	})
}

// timesOut expects a 421 that comes after so long, whatever is replied until then.
func (c *client) timesOut(after time.Duration) {
	c.t.Helper()
	began := time.Now()
	for line := ""; !strings.HasPrefix(line, "421 4.4.2 "); {
		if line = c.line(); line == "EOF" {
			c.t.Fatal("closed without a word")
		}
	}
	if took := time.Since(began); took != after {
		c.t.Errorf("timed out after %v, want %v", took, after)
	}
}

// trickle sends s repeatedly until the peer has closed the connection.
func (c *client) trickle(s string, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for range tick.C {
		if _, err := c.conn.Write([]byte(s)); err != nil {
			return
		}
	}
}

// Bytes that trickle in extend neither the time for a command nor that for a window of DATA.
func TestTrickle(t *testing.T) {
	inboxes := &house{}
	inBubble(t, Options{}, inboxes, func(t *testing.T, s *Server, dial func() *client) {
		c := dial().greets()
		go c.trickle("x", time.Second)
		c.timesOut(5 * time.Minute)

		c = dial().greets().begins("m@inbox.test")
		go c.trickle("x\r\n", time.Second)
		c.timesOut(30 * time.Second)

		c = dial().greets()
		c.ask("MAIL FROM:<>", "250 ")
		c.ask("RCPT TO:<m@inbox.test>", "250 ")
		c.write("BDAT 100000 LAST\r\n")
		go c.trickle("x", time.Second)
		c.timesOut(30 * time.Second)
		if n := s.Stats().RejectionsByReason["slow"]; n != 2 || len(inboxes.received()) != 0 {
			t.Error("slow bodies", n)
		}
	})
}

// A body that holds memory must make progress in proportion, also between chunks. A body that holds
// little memory has more time.
func TestTrickleOfALargeBody(t *testing.T) {
	inBubble(t, Options{}, &house{}, func(t *testing.T, _ *Server, dial func() *client) {
		large := strings.Repeat(line70, 3<<20/2/72) // has a buffer of 4 MiB
		c := dial().greets().begins("m@inbox.test")
		c.write(large)
		go c.trickle(strings.Repeat(line70, 2<<10/72), 2*time.Second)
		c.timesOut(30 * time.Second)

		chunked := func(first string) *client {
			c := dial().greets()
			c.write(fmt.Sprintf("MAIL FROM:<>\r\nRCPT TO:<m@inbox.test>\r\nBDAT %d\r\n%s", len(first), first))
			for range 3 {
				c.expect("250 ")
			}
			return c
		}
		small := chunked("x\r\n")
		c = chunked(large)
		go c.trickle("BDAT 3\r\nx\r\n", time.Second)
		c.timesOut(30 * time.Second)
		c = chunked(large)
		c.timesOut(30 * time.Second) // and when it says nothing
		small.write("BDAT 0 LAST\r\n")
		small.expect("250 ")
	})
}

// The time limit of the whole transfer applies to a peer that makes progress.
func TestTransferTimeout(t *testing.T) {
	inBubble(t, Options{TransferTimeout: 5 * time.Minute}, &house{}, func(t *testing.T, _ *Server, dial func() *client) {
		c := dial().greets().begins("m@inbox.test")
		go c.trickle(strings.Repeat("x", 1<<10)+"\r\n", 5*time.Second)
		c.timesOut(5 * time.Minute)
	})
}

func TestConnectionLimits(t *testing.T) {
	t.Run("all", func(t *testing.T) { testLimit(t, Options{MaxConns: 2}) })
	t.Run("of one IP", func(t *testing.T) { testLimit(t, Options{MaxConnsPerIP: 2}) })
}

func testLimit(t *testing.T, opts Options) {
	s, addr := serve(t, opts, &house{})
	first := greeted(t, addr)
	greeted(t, addr)
	third := dial(t, addr)
	third.expect("421 4.7.0 ")
	if got := third.line(); got != "EOF" {
		t.Error(got)
	}
	first.ask("QUIT", "221 ")
	if got := first.line(); got != "EOF" {
		t.Error(got)
	}
	greeted(t, addr)
	if st := s.Stats(); st.Connections != 3 || st.RefusedConnections != 1 || st.OpenConnections != 2 {
		t.Errorf("stats %+v", st)
	}
}

// A connection keeps its single place when it continues under TLS.
func TestLimitUnderTLS(t *testing.T) {
	s, addr := serve(t, Options{MaxConnsPerIP: 1, TLSConfig: serverTLS()}, &house{})
	c := greeted(t, addr)
	c.ask("STARTTLS", "220 ")
	if err := c.startTLS(); err != nil {
		t.Fatal(err)
	}
	c.ask("EHLO c.test", "250 ")
	dial(t, addr).expect("421 4.7.0 ")
	c.ask("QUIT", "221 ")
	if got := c.line(); got != "EOF" {
		t.Error(got)
	}
	greeted(t, addr)
	if st := s.Stats(); st.OpenConnections != 1 || st.Connections != 2 {
		t.Errorf("stats %+v", st)
	}
}

func TestPeerGroup(t *testing.T) {
	for in, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::",
	} {
		if got := (peer{netip.MustParseAddr(in)}).limitGroup(); got != netip.MustParseAddr(want) {
			t.Errorf("group of %s is %s", in, got)
		}
	}
	mapped := &net.TCPAddr{IP: net.ParseIP("::ffff:192.0.2.1"), Port: 1}
	if got := peerOf(addressed{nil, mapped}).limitGroup().String(); got != "192.0.2.1" {
		t.Error("a mapped address counts as", got)
	}
}

type addressed struct {
	net.Conn
	addr net.Addr
}

func (a addressed) RemoteAddr() net.Addr { return a.addr }

func TestImplicitTLS(t *testing.T) {
	inboxes := &house{}
	s, _ := serve(t, Options{TLSConfig: serverTLS()}, inboxes)
	l, err := tls.Listen("tcp", "127.0.0.1:0", serverTLS())
	if err != nil {
		t.Fatal(err)
	}
	go s.Serve(l)
	c := dial(t, l.Addr().String())
	if err := c.startTLS(); err != nil {
		t.Fatal(err)
	}
	c.expect("220 ")
	c.ask("STARTTLS", "503 ")
	c.ask("HELO c.test", "250 ")
	c.write("MAIL FROM:<>\r\nRCPT TO:<m@inbox.test>\r\nBDAT 1 LAST\r\nxQUIT\r\n")
	for range 3 {
		c.expect("250 ")
	}
	if messages := inboxes.received(); len(messages) != 1 || !messages[0].env.TLS {
		t.Error(messages)
	}
}

// A panic ends only its own session, is logged, and frees the session's place.
func TestPanic(t *testing.T) {
	log := &logBuffer{wrote: make(chan struct{}, 1)}
	s, addr := serve(t, Options{Logger: logTo(log)}, &house{})
	other := greeted(t, addr)
	for _, rcpt := range []string{"panic@inbox.test", "late-panic@inbox.test"} {
		c := greeted(t, addr)
		c.write("MAIL FROM:<>\r\nRCPT TO:<" + rcpt + ">\r\n")
		c.expect("250 ")
		if rcpt == "late-panic@inbox.test" {
			c.expect("250 ")
			c.write("BDAT 1 LAST\r\nx")
		}
		c.expect("421 ")
		if got := c.line(); got != "EOF" {
			t.Error(got)
		}
	}
	other.ask("NOOP", "250 ")
	if st := s.Stats(); st.OpenConnections != 1 {
		t.Errorf("stats %+v", st)
	}
	for _, text := range []string{"Accepts panics", "Receive panics"} {
		log.await(t, text) // go-smtp logs after it has closed the connection
	}
}

// poorListener first lacks descriptors, then returns one connection, then fails.
type poorListener struct {
	net.Listener
	failures atomic.Int32
}

func (l *poorListener) Accept() (net.Conn, error) {
	if l.failures.Add(-1) >= 0 {
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return l.Listener.Accept()
}

func TestOutOfDescriptors(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	poor := &poorListener{Listener: l}
	poor.failures.Store(4)
	s, _ := serve(t, Options{}, &house{})
	done := make(chan error, 1)
	go func() { done <- s.Serve(poor) }()
	greeted(t, l.Addr().String()).ask("QUIT", "221 ")
	l.Close()
	if err := <-done; !errors.Is(err, net.ErrClosed) {
		t.Error("Serve of a listener that failed for good:", err)
	}
}

func TestShutdown(t *testing.T) {
	inboxes := &house{}
	s, addr := serve(t, Options{}, inboxes)
	idle, silent, busy, reading := greeted(t, addr), dial(t, addr), greeted(t, addr), inData(t, addr, "m@inbox.test")
	silent.expect("220 ")
	busy.ask("MAIL FROM:<>", "250 ")
	done := make(chan error, 1)
	go func() { done <- s.Shutdown(context.Background()) }()
	idle.expect("421 4.3.2 ")
	silent.expect("421 4.3.2 ")
	if conn, err := net.Dial("tcp", addr); err == nil {
		conn.Close()
		t.Error("still accepting")
	}
	reading.ask("x\r\n.", "250 2.0.0 OK, stored")
	reading.expect("421 4.3.2 ")
	busy.ask("RCPT TO:<n@inbox.test>", "250 ")
	busy.ask("DATA", "354 ")
	select {
	case err := <-done:
		t.Fatal("did not wait:", err)
	default:
	}
	busy.write("y\r\n.\r\nMAIL FROM:<>\r\n") // the next transaction is too late
	busy.expect("250 2.0.0 OK, stored")
	busy.expect("421 4.3.2 ")
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n := len(inboxes.received()); n != 2 {
		t.Error(n, "mails")
	}
}

// When its time is over, Shutdown cancels running calls through their context, and no message is
// acknowledged that was not stored.
func TestShutdownGivesUp(t *testing.T) {
	inboxes := &house{enter: make(chan struct{}), leave: make(chan struct{})}
	s, addr := serve(t, Options{}, inboxes)
	c := inData(t, addr, "m@inbox.test")
	c.write("x\r\n.\r\n")
	<-inboxes.enter
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Shutdown(ctx) }()
	<-s.stopChan
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := c.line(); strings.HasPrefix(got, "250") {
		t.Error(got)
	}
	if n := len(inboxes.received()); n != 0 {
		t.Error(n, "mails")
	}
	if err := s.Shutdown(context.Background()); err != nil {
		t.Error("a second Shutdown:", err)
	}
}

// The 250 is not sent before Receive has returned.
func TestReplyWaitsForStoring(t *testing.T) {
	inboxes := &house{enter: make(chan struct{}), leave: make(chan struct{})}
	_, addr := serve(t, Options{}, inboxes)
	c := inData(t, addr, "m@inbox.test")
	c.write("x\r\n.\r\n")
	<-inboxes.enter
	c.conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if line, err := c.in.ReadString('\n'); err == nil {
		t.Fatal("answered early:", line)
	}
	c.conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	inboxes.leave <- struct{}{}
	c.expect("250 ")
}

// The 250 does not wait until the next pipelined message is stored, either.
func TestReplyIsNotHeldBack(t *testing.T) {
	inboxes := &house{enter: make(chan struct{}), leave: make(chan struct{})}
	_, addr := serve(t, Options{}, inboxes)
	c := inData(t, addr, "m@inbox.test")
	c.write("x\r\n.\r\nMAIL FROM:<>\r\nRCPT TO:<n@inbox.test>\r\nBDAT 1 LAST\r\ny")
	<-inboxes.enter
	inboxes.leave <- struct{}{}
	<-inboxes.enter
	c.expect("250 2.0.0 OK, stored")
	inboxes.leave <- struct{}{}
	c.expect("250 2.0.0 Roger")
	c.expect("250 2.0.0 ")
	c.expect("250 2.0.0 OK, stored")
}

// Many idle and incomplete connections do not slow down a message.
func TestSlowAndMany(t *testing.T) {
	inboxes := &house{}
	_, addr := serve(t, Options{MaxConnsPerIP: 1000}, inboxes)
	for i := range 200 {
		c := dial(t, addr)
		c.write([]string{"", "EHLO", "EHLO c.test\r\nMAIL FROM:<>\r\nRCPT TO:<m@inbox.test>\r\nDATA\r\nhalf"}[i%3])
	}
	for range 50 {
		begin := time.Now()
		inData(t, addr, "m@inbox.test").ask("x\r\n.", "250 ")
		if took := time.Since(begin); took > 10*time.Second { // a silent one has 30 s
			t.Error("a mail took", took)
		}
	}
	if n := len(inboxes.received()); n != 50 {
		t.Error(n, "mails")
	}
}

func BenchmarkMail(b *testing.B) {
	_, addr := serve(b, Options{}, discard{})
	body := strings.Repeat(strings.Repeat("x", 70)+"\r\n", 28) + ".\r\n"
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	b.RunParallel(func(p *testing.PB) {
		c := greeted(b, addr)
		for p.Next() {
			c.ask("MAIL FROM:<a@b.test>", "250 ")
			c.ask("RCPT TO:<m@inbox.test>", "250 ")
			c.ask("DATA", "354 ")
			c.write(body)
			c.expect("250 ")
		}
	})
}

type discard struct{}

func (discard) CheckRecipient(context.Context, string) error    { return nil }
func (discard) Receive(context.Context, Envelope, []byte) error { return nil }
