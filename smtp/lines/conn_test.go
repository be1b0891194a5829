package lines

import (
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// scripted is a connection that returns one line per read and records deadlines and writes. As many
// of its next reads as late says exceed their deadline.
type scripted struct {
	net.Conn
	reads, writes []time.Time
	written       []string
	late          int
}

func (c *scripted) Read(p []byte) (int, error) {
	if c.late > 0 {
		c.late--
		return 0, os.ErrDeadlineExceeded
	}
	return copy(p, "NOOP\r\n"), nil
}

func (c *scripted) Write(p []byte) (int, error) {
	c.written = append(c.written, string(p))
	return len(p), nil
}

func (c *scripted) SetReadDeadline(t time.Time) error {
	c.reads = append(c.reads, t)
	return nil
}

func (c *scripted) SetWriteDeadline(t time.Time) error {
	c.writes = append(c.writes, t)
	return nil
}

// A read waits until its own deadline, even if the deadline of an earlier read comes first or Wake
// interrupts it, and never longer.
func TestReadDeadlines(t *testing.T) {
	s, c := &SharedState{WriteTimeout: time.Hour}, &scripted{}
	conn := s.NewConn(c)
	now := time.Now()
	read := func(what string, in time.Duration, late int, want ...time.Duration) {
		t.Helper()
		c.late, c.reads = late, nil
		if _, err := conn.ReadLine(now.Add(in), false); err != nil {
			t.Error(what, err)
		}
		for i := range want {
			if len(c.reads) != len(want) || !c.reads[i].Equal(now.Add(want[i])) {
				t.Fatal(what, c.reads)
			}
		}
		if len(want) == 0 && len(c.reads) > 0 {
			t.Error(what, c.reads)
		}
	}
	read("first", time.Hour, 0, time.Hour)
	read("later", 2*time.Hour, 0)
	read("earlier", time.Minute, 0, time.Minute)
	read("later again", time.Hour, 0)
	read("after the earlier deadline", time.Hour, 1, time.Hour)
	read("woken twice", time.Hour, 2, time.Hour, time.Hour)
	c.late = 1
	if _, err := conn.ReadLine(now, false); err != os.ErrDeadlineExceeded {
		t.Error("too late:", err)
	}
}

// A write has at least its time and little more. Not every write sets a deadline.
func TestWriteDeadlines(t *testing.T) {
	s, c := &SharedState{WriteTimeout: time.Hour}, &scripted{}
	conn := s.NewConn(c)
	now := time.Now()
	for after := time.Duration(0); after < 5*time.Hour; after += time.Minute {
		if err := conn.limitWrite(now.Add(after)); err != nil {
			t.Fatal(err)
		}
		if left := c.writes[len(c.writes)-1].Sub(now.Add(after)); left < s.WriteTimeout || left > s.WriteTimeout*9/8 {
			t.Error("after", after, left, "are left")
		}
	}
	if n := len(c.writes); n > 5*9 {
		t.Error(n, "deadlines")
	}
}

// When the server drains, an idle connection ends and others stay.
func TestDraining(t *testing.T) {
	s := &SharedState{}
	s.IsDraining.Store(true)
	conn := s.NewConn(&scripted{})
	if _, err := conn.ReadLine(time.Now().Add(time.Hour), true); err != ErrDraining {
		t.Error(err)
	}
	if _, err := conn.ReadLine(time.Now().Add(time.Hour), false); err != nil {
		t.Error(err)
	}
}

// Replies are one write, before the next read or when there are many.
func TestReplies(t *testing.T) {
	s, c := &SharedState{WriteTimeout: time.Hour}, &scripted{}
	conn := s.NewConn(c)
	io.WriteString(&conn, "250-a\r\n")
	io.WriteString(&conn, "250 b\r\n")
	if len(c.written) != 0 {
		t.Error(c.written)
	}
	if err := conn.AwaitMore(time.Now().Add(time.Hour)); err != nil {
		t.Error(err)
	}
	if !slices.Equal(c.written, []string{"250-a\r\n250 b\r\n"}) {
		t.Errorf("%q", c.written)
	}
	for range 100 {
		io.WriteString(&conn, strings.Repeat("x", 99)+"\n")
	}
	if n := len(c.written); n != 2 {
		t.Error(n, "writes")
	}
}

// lastWords is a connection whose only read returns bytes together with the end, which is possible
// under TLS.
type lastWords struct{ net.Conn }

func (lastWords) Read(p []byte) (int, error)      { return copy(p, "x\r\n.\r\n"), io.EOF }
func (lastWords) SetReadDeadline(time.Time) error { return nil }

func TestBytesWithAnErrorAreDropped(t *testing.T) {
	conn := new(SharedState).NewConn(lastWords{})
	if line, err := conn.ReadLine(time.Time{}, false); !errors.Is(err, io.EOF) {
		t.Errorf("line %q, %v", line, err)
	}
}

func TestProgress(t *testing.T) {
	p := NewProgress(time.Hour, 3*time.Hour)
	first := p.NextDeadline
	if p.AddOctets(minProgress-1, 0); p.NextDeadline != first {
		t.Error("a span was prolonged without progress")
	}
	if p.AddOctets(1, 0); !p.NextDeadline.After(first) {
		t.Error("a span was not prolonged by progress")
	}
	first = p.NextDeadline
	if p.AddOctets(minProgress, 1<<20); p.NextDeadline != first {
		t.Error("a span was prolonged by too little for what the body holds")
	}
	if p.AddOctets(1<<20/heldProgress-minProgress, 1<<20); !p.NextDeadline.After(first) {
		t.Error("a span was not prolonged by progress in proportion")
	}
	p.spanLength = 4 * time.Hour
	if p.AddOctets(minProgress, 0); p.NextDeadline != p.finalDeadline {
		t.Error("a span ends after the transfer's time")
	}
}
