package smtp

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"unsafe"
)

// allLeft waits until every session has ended, so that all memory is given back.
func allLeft(s *Server) {
	for s.openCount() > 0 {
		<-s.sessionEnded
	}
}

const line70 = "0123456789012345678901234567890123456789012345678901234567890123456789\r\n"

// Bodies beyond the limit are deferred, small messages are not, and all memory is given back
// however a body ends.
func TestBodyMemory(t *testing.T) {
	inboxes := &house{}
	s, addr := serve(t, Options{BodyMemory: 6 << 20}, inboxes)
	large := strings.Repeat(line70, 5<<20/72)
	c := inData(t, addr, "m@inbox.test")
	c.write(large + ".\r\n")
	c.expect("451 4.3.2 ") // after all of it was read: the session continues
	if n := s.Stats().BodyBytes; n != 0 {
		t.Errorf("%d octets held after a refusal", n)
	}
	c.ask(fmt.Sprintf("MAIL FROM:<> SIZE=%d", 5<<20), "451 4.3.2 ") // before any of it is sent
	c.write(fmt.Sprintf("MAIL FROM:<>\r\nRCPT TO:<m@inbox.test>\r\nBDAT %d\r\n%s", len(large), large))
	c.expect("250 ")
	c.expect("250 ")
	c.expect("451 4.3.2 ")
	c.ask("BDAT 0 LAST", "451 4.3.2 ")

	medium := strings.Repeat(line70, 700<<10/72) // takes a sixth of the memory
	half := inData(t, addr, "m@inbox.test")
	half.write(medium)
	c.ask("MAIL FROM:<>", "250 ")
	c.ask("RCPT TO:<m@inbox.test>", "250 ")
	c.ask("DATA", "354 ")
	c.write(strings.Repeat(line70, 40<<10/72) + ".\r\n")
	c.expect("250 ")
	c.ask("MAIL FROM:<>", "250 ")
	c.ask("RCPT TO:<m@inbox.test>", "250 ")
	c.ask("DATA", "354 ")
	c.write(medium + ".\r\n")
	c.expect("250 ")
	half.conn.Close()
	c.ask("QUIT", "221 ")
	allLeft(s)
	if n := s.memoryBudget.totalHeld(); n != 0 {
		t.Errorf("%d octets held after all", n)
	}
	if got := inboxes.received(); len(got) != 2 || got[1].body() != medium {
		t.Errorf("%d mails", len(got))
	}
	if n := s.Stats().RejectionsByReason["overload"]; n != 4 {
		t.Errorf("%d put off", n)
	}
}

// A group that holds much memory leaves room for others: one address may hold half, and three leave
// at least a quarter for a fourth. Memory that is given back is available to all.
func TestShares(t *testing.T) {
	b := memoryBudget{maxOctets: 100, of: map[netip.Addr]int64{}}
	of := func(n byte) budgetShare { return budgetShare{&b, netip.AddrFrom4([4]byte{192, 0, 2, n})} }
	for i, c := range []struct {
		who  byte
		n    int64
		want bool
	}{
		{1, 50, true}, {1, 1, false}, {2, 26, false}, {2, 25, true}, {2, 1, false}, {1, 0, true},
		{3, 20, true}, {3, 6, false}, {4, 6, false}, {4, 5, true}, {5, 1, false},
	} {
		if s := of(c.who); s.canReserve(c.n) != c.want || s.reserveOctets(c.n) != c.want {
			t.Errorf("step %d: %+v", i, c)
		}
	}
	of(1).releaseOctets(50)
	if s := of(5); !s.reserveOctets(25) || s.reserveOctets(1) || b.totalHeld() != 75 || len(b.of) != 4 {
		t.Errorf("of a part given back: %d in all, %v", b.totalHeld(), b.of)
	}
}

// One address that fills the memory does not block messages from another.
func TestOneAddressLeavesRoom(t *testing.T) {
	inboxes := &house{}
	s, addr := serve(t, Options{BodyMemory: 20 << 20}, inboxes)
	part := strings.Repeat(line70, 3<<20/2/72) // has a buffer of 4 MiB
	for range 6 {
		inData(t, addr, "m@inbox.test").write(part)
	}
	for s.Stats().BytesReceived < uint64(6*len(part)) {
		runtime.Gosched()
	}
	other, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}).Dial("tcp", addr)
	if err != nil {
		t.Skip("no second address: ", err)
	}
	defer other.Close()
	c := &client{t: t, conn: other, in: bufio.NewReader(other)}
	c.expect("220 ")
	c.ask("HELO c.test", "250 ")
	c.ask("MAIL FROM:<>", "250 ")
	c.ask("RCPT TO:<n@inbox.test>", "250 ")
	c.ask("DATA", "354 ")
	c.write(part)
	c.ask(".", "250 ")
	if got := inboxes.received(); len(got) != 1 || got[0].body() != part {
		t.Errorf("%d mails", len(got))
	}
}

// addresses keeps references to messages, so that their memory is not reused.
type addresses struct {
	seen  map[*byte]bool
	large int // octets of the largest small message
}

func (*addresses) CheckRecipient(context.Context, string) error { return nil }

func (a *addresses) Receive(_ context.Context, _ Envelope, raw []byte) error {
	if len(raw) < firstBody {
		a.seen[unsafe.SliceData(raw)] = true
		a.large = max(a.large, cap(raw))
	}
	return nil
}

// Small messages reuse the same few buffers, which do not stay large after a large message.
func TestBuffersAreUsedAgain(t *testing.T) {
	a := &addresses{seen: map[*byte]bool{}}
	s, addr := serve(t, Options{}, a)
	c := greeted(t, addr)
	const messages = 100
	for n := range messages {
		for _, text := range []string{"small\r\n", strings.Repeat(line70, 2*pooledBody/72)}[:1+n%2] {
			c.ask("MAIL FROM:<>", "250 ")
			c.ask("RCPT TO:<m@inbox.test>", "250 ")
			c.ask("DATA", "354 ")
			c.write(text + ".\r\n")
			c.expect("250 ")
		}
	}
	c.ask("QUIT", "221 ")
	allLeft(s)
	// Every second message is followed by a large one, which takes the buffer along. The race
	// detector makes the pool drop a quarter of the others.
	if len(a.seen) > messages*9/10 || a.large > pooledBody {
		t.Errorf("%d mails had %d buffers, of up to %d octets", messages, len(a.seen), a.large)
	}
}

// A refused body holds no memory while its rest is read, and its buffer is returned once.
func TestRefusedBodiesHoldNothing(t *testing.T) {
	m := memoryBudget{maxOctets: 1 << 20, of: map[netip.Addr]int64{}}
	for n := range int64(50) {
		pooled := bodyBuffers.Get().(*[]byte)
		// A buffer that is returned to the pool, or one that is too large.
		b := messageBody{buf: (*pooled)[:0], pooledBuffer: pooled, maxOctets: (40 + n%2*60) << 10, budgetShare: budgetShare{memoryBudget: &m}}
		for b.refusalReply == nil {
			b.appendWire([]byte(line70))
		}
		if m.totalHeld() != 0 || b.buf != nil || b.refusalReply != replyTooLarge {
			t.Fatalf("%d octets are held, %d in the buffer", m.totalHeld(), cap(b.buf))
		}
		b.appendWire([]byte(strings.Repeat(line70, 200)))
		b.releaseBuffer()
		one, two := bodyBuffers.Get().(*[]byte), bodyBuffers.Get().(*[]byte)
		if one == two {
			t.Fatal("two mails have the same buffer")
		}
		bodyBuffers.Put(one)
	}
}

// holdsAll reads how much memory is held while a message is stored.
type holdsAll struct {
	server *Server
	held   int64
}

func (*holdsAll) CheckRecipient(context.Context, string) error { return nil }

func (h *holdsAll) Receive(_ context.Context, _ Envelope, raw []byte) error {
	h.held = h.server.memoryBudget.totalHeld()
	if int64(cap(raw)) > h.held {
		return fmt.Errorf("%d octets in hand, %d held", cap(raw), h.held)
	}
	return nil
}

// A message of 25 MB creates little more garbage than its own size, whether its size was announced
// or not, and is charged until it is stored.
func TestLargeBodyAllocates(t *testing.T) {
	large := strings.Repeat(line70, (25<<20-100)/72)
	for _, size := range []int{0, len(large)} {
		h := &holdsAll{}
		s, addr := serve(t, Options{}, h)
		h.server = s
		c := greeted(t, addr)
		c.ask(fmt.Sprintf("MAIL FROM:<> SIZE=%d", size), "250 ")
		c.ask("RCPT TO:<m@inbox.test>", "250 ")
		c.ask("DATA", "354 ")
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c.write(large)
		c.write(".\r\n")
		c.expect("250 ")
		runtime.ReadMemStats(&after)
		allocated := after.TotalAlloc - before.TotalAlloc - uint64(len(large)) // the client converts its string to bytes once
		if allocated > 34<<20 || h.held == 0 {
			t.Errorf("announced %d: %d octets allocated, %d held", size, allocated, h.held)
		}
		c.ask("QUIT", "221 ")
		allLeft(s)
		if n := s.memoryBudget.totalHeld(); n != 0 {
			t.Errorf("%d octets held", n)
		}
	}
}
