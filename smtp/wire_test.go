package smtp

import (
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"
)

// clocked is a connection that gives a line a read and keeps the deadlines it is given. Its
// next read comes too late for the deadline when late says so.
type clocked struct {
	net.Conn
	reads, writes []time.Time
	late          int
}

func (c *clocked) Read(p []byte) (int, error) {
	if c.late > 0 {
		c.late--
		return 0, os.ErrDeadlineExceeded
	}
	return copy(p, "NOOP\r\n"), nil
}

func (c *clocked) Write(p []byte) (int, error) { return len(p), nil }

func (c *clocked) SetReadDeadline(t time.Time) error {
	c.reads = append(c.reads, t)
	return nil
}

func (c *clocked) SetWriteDeadline(t time.Time) error {
	c.writes = append(c.writes, t)
	return nil
}

func clockedWire() (*wire, *clocked) {
	c := &clocked{}
	return &wire{Conn: c, writeTimeout: time.Hour, draining: new(atomic.Bool), read: new(atomic.Uint64), deliveries: new(atomic.Int32)}, c
}

// A read waits until its own time, though the deadline that an earlier one set comes before;
// and never longer.
func TestReadDeadlines(t *testing.T) {
	w, c := clockedWire()
	now := time.Now()
	read := func(in time.Duration) {
		w.until = now.Add(in)
		if _, err := w.line(); err != nil {
			t.Error(in, err)
		}
	}
	expect := func(what string, in ...time.Duration) {
		same := len(in) == len(c.reads)
		for i := 0; same && i < len(in); i++ {
			same = c.reads[i].Equal(now.Add(in[i]))
		}
		if !same {
			t.Errorf("%s: %v", what, c.reads)
		}
		c.reads = nil
	}
	for i := range 10 {
		read(time.Hour + time.Duration(i))
	}
	expect("later and later", time.Hour)
	read(time.Minute)
	expect("earlier", time.Minute)
	read(time.Hour)
	expect("later again")
	c.late = 1
	read(time.Hour)
	expect("after the earlier deadline", time.Hour)
	c.late = 1
	w.until = now
	if _, err := w.line(); err != os.ErrDeadlineExceeded {
		t.Error("too late:", err)
	}
}

// A write has at least its time, and little more; not each sets a deadline.
func TestWriteDeadlines(t *testing.T) {
	w, c := clockedWire()
	now := time.Now()
	write := func(after time.Duration) (left time.Duration) {
		if err := w.limitWrite(now.Add(after)); err != nil {
			t.Fatal(err)
		}
		return c.writes[len(c.writes)-1].Sub(now.Add(after))
	}
	for after := time.Duration(0); after < 5*time.Hour; after += time.Minute {
		if left := write(after); left < w.writeTimeout || left > w.writeTimeout*9/8 {
			t.Error("after", after, left, "are left")
		}
	}
	if n := len(c.writes); n > 5*9 {
		t.Error(n, "deadlines")
	}
}
