package smtp

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unsafe"
)

// allLeft waits until every session has ended, so that what they held is given back.
func allLeft(s *Server) {
	for s.open() > 0 {
		<-s.gone
	}
}

const line70 = "0123456789012345678901234567890123456789012345678901234567890123456789\r\n"

// Bodies beyond the bound are put off, small mail is not, and everything is given back
// however a body ends.
func TestBodyMemory(t *testing.T) {
	inboxes := &house{}
	s, addr := serve(t, Options{BodyMemory: 3 << 20}, inboxes)
	large := strings.Repeat(line70, 5<<20/72)
	c := inData(t, addr, "m@inbox.test")
	c.write(large + ".\r\n")
	c.expect("451 4.3.2 ") // after all of it was read: the session goes on
	if n := s.Stats().BodyBytes; n != 0 {
		t.Errorf("%d octets held after a refusal", n)
	}
	c.ask(fmt.Sprintf("MAIL FROM:<> SIZE=%d", 5<<20), "451 4.3.2 ") // before any of it is sent
	c.write(fmt.Sprintf("MAIL FROM:<>\r\nRCPT TO:<m@inbox.test>\r\nBDAT %d\r\n%s", len(large), large))
	c.expect("250 ")
	c.expect("250 ")
	c.expect("451 4.3.2 ")
	c.ask("BDAT 0 LAST", "451 4.3.2 ")

	medium := strings.Repeat(line70, 700<<10/72) // takes a third of the memory
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
	if n := s.budget.held.Load(); n != 0 {
		t.Errorf("%d octets held after all", n)
	}
	if got := inboxes.received(); len(got) != 2 || got[1].body() != medium {
		t.Errorf("%d mails", len(got))
	}
	if n := s.Stats().RejectionsByReason["overload"]; n != 4 {
		t.Errorf("%d put off", n)
	}
}

// addresses keeps where mails lie, so that their memory is not given to others.
type addresses struct {
	seen  map[*byte]bool
	large int // octets of the widest small mail
}

func (*addresses) Accepts(context.Context, string) error { return nil }

func (a *addresses) Receive(_ context.Context, _ Envelope, raw []byte) error {
	if len(raw) < firstBody {
		a.seen[unsafe.SliceData(raw)] = true
		a.large = max(a.large, cap(raw))
	}
	return nil
}

// Small mails lie one after another in the same few buffers, which don't stay large after a
// large mail.
func TestBuffersAreUsedAgain(t *testing.T) {
	a := &addresses{seen: map[*byte]bool{}}
	s, addr := serve(t, Options{}, a)
	c := greeted(t, addr)
	const mails = 100
	for n := range mails {
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
	// Every second is followed by a large mail, which takes the buffer along; the race detector has
	// the pool forget a quarter of the others.
	if len(a.seen) > mails*9/10 || a.large > pooledBody {
		t.Errorf("%d mails had %d buffers, of up to %d octets", mails, len(a.seen), a.large)
	}
}

// What is refused holds nothing while its rest is read, and its buffer goes back once.
func TestRefusedBodiesHoldNothing(t *testing.T) {
	m := budget{limit: 1 << 20}
	for n := range int64(50) {
		pooled := bodyBuffers.Get().(*[]byte)
		b := body{buf: (*pooled)[:0], pooled: pooled, limit: (40 + n%2*60) << 10, budget: &m} // a buffer that goes back, or is too large
		for b.refusal == nil {
			b.add([]byte(line70))
		}
		if m.held.Load() != 0 || b.buf != nil || b.refusal != replyTooLarge {
			t.Fatalf("%d octets are held, %d in the buffer", m.held.Load(), cap(b.buf))
		}
		b.add([]byte(strings.Repeat(line70, 200)))
		b.free()
		one, two := bodyBuffers.Get().(*[]byte), bodyBuffers.Get().(*[]byte)
		if one == two {
			t.Fatal("two mails have the same buffer")
		}
		bodyBuffers.Put(one)
	}
}

// holdsAll asks how much is held while a mail is stored.
type holdsAll struct {
	server *Server
	held   int64
}

func (*holdsAll) Accepts(context.Context, string) error { return nil }

func (h *holdsAll) Receive(_ context.Context, _ Envelope, raw []byte) error {
	h.held = h.server.budget.held.Load()
	if int64(cap(raw)) > h.held {
		return fmt.Errorf("%d octets in hand, %d held", cap(raw), h.held)
	}
	return nil
}

// A mail of 25 MB makes little more garbage than its own size, whether it was announced or
// not, and is counted until it is stored.
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
		allocated := after.TotalAlloc - before.TotalAlloc - uint64(len(large)) // the client makes bytes of its string once
		if allocated > 34<<20 || h.held == 0 {
			t.Errorf("announced %d: %d octets allocated, %d held", size, allocated, h.held)
		}
		c.ask("QUIT", "221 ")
		allLeft(s)
		if n := s.budget.held.Load(); n != 0 {
			t.Errorf("%d octets held", n)
		}
	}
}
