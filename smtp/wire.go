package smtp

import (
	"bytes"
	"errors"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxCommandLine = 4 << 10  // octets with the line end; RFC 5321 asks for 512, extensions for more
	inputSize      = 16 << 10 // octets read at once
	maxOutput      = 8 << 10  // octets of replies held back while input is waiting
)

var (
	errLongLine = errors.New("smtp: command line too long")
	errDraining = errors.New("smtp: shutting down")
)

// wire is one connection with buffers on both sides: lines and bytes in, replies out.
// Replies wait until the peer has nothing more for us to read, so that a reply of many
// lines, or the replies to a pipelined group, are one write. It knows nothing of SMTP.
type wire struct {
	net.Conn
	in   []byte // in[r:w] is unread
	r, w int
	out  []byte
	// after runs when out was sent: what the peer need not wait for. It may be nil.
	after func()

	until        time.Time // when the present wait for input ends; real time, as deadlines are
	readBy       time.Time // the deadline set for reads, see limitReads; zero: none that counts
	writeBy      time.Time // the deadline set for writes
	writeTimeout time.Duration
	idle         bool // nothing would be lost by leaving now
	draining     *atomic.Bool
	read         *atomic.Uint64 // counts octets
	deliveries   *atomic.Int32  // of the server, that run now
}

func (w *wire) unread() []byte { return w.in[w.r:w.w] }

// crowd is how many deliveries make a session let others run before it looks for input. Its
// peer needs a moment for the next command anyway, so that this often saves the read that
// finds nothing, the parking and the wake-up: a third more mails a second with 32 sessions
// on two cores. Alone it only wakes another thread, that then looks for work in vain: a
// quarter fewer mails with one session.
const crowd = 2

// fill sends what is due and waits for more input until w.until. Bytes that come together
// with an error are dropped.
func (w *wire) fill() error {
	w.makeRoom()
	for {
		// The deadline stands before the look at draining, so that the other order in
		// wake finds either this read or the flag. A TLS handshake may run in flush.
		if err := w.limitReads(); err != nil {
			return err
		}
		if err := w.flush(); err != nil {
			return err
		}
		if w.idle && w.draining.Load() {
			return errDraining
		}
		if w.deliveries.Load() >= crowd {
			runtime.Gosched()
		}
		n, err := w.Conn.Read(w.in[w.w:])
		if err == nil {
			w.w += n
			w.read.Add(uint64(n))
			return nil
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) || !time.Now().Before(w.until) {
			return err
		}
		w.readBy = time.Time{}
	}
}

// limitReads makes reads end by w.until, or before: fill goes on after a deadline that came
// too early. So a new command or part of a body rarely costs setting one.
func (w *wire) limitReads() error {
	if !w.readBy.IsZero() && !w.until.Before(w.readBy) {
		return nil
	}
	w.readBy = w.until
	return w.SetReadDeadline(w.until)
}

func (w *wire) makeRoom() {
	switch {
	case w.in == nil:
		w.in = inputs.Get().(*[inputSize]byte)[:]
	case w.r == w.w:
		w.r, w.w = 0, 0
	case w.w == len(w.in):
		w.w = copy(w.in, w.unread())
		w.r = 0
	}
}

// inputs are for reuse: most peers send one mail and leave.
var inputs = sync.Pool{New: func() any { return new([inputSize]byte) }}

// forget gives the input up, which nothing may read afterwards.
func (w *wire) forget() {
	if w.in != nil {
		scribble(w.in)
		inputs.Put((*[inputSize]byte)(w.in))
	}
	w.in, w.r, w.w = nil, 0, 0
}

// line returns the next line with its LF; it is valid until the next fill.
func (w *wire) line() ([]byte, error) {
	for seen := 0; ; {
		if i := bytes.IndexByte(w.unread()[seen:], '\n'); i >= 0 && seen+i < maxCommandLine {
			line := w.unread()[:seen+i+1]
			w.r += len(line)
			return line, nil
		}
		if seen = w.w - w.r; seen >= maxCommandLine {
			return nil, errLongLine
		}
		if err := w.fill(); err != nil {
			return nil, err
		}
	}
}

// wake interrupts a read, so that an idle session sees that the server drains. Any
// goroutine may call it.
func (w *wire) wake() { w.SetReadDeadline(time.Unix(1, 0)) }

// flush sends the replies held back.
func (w *wire) flush() error {
	if len(w.out) == 0 {
		return nil
	}
	if err := w.limitWrite(time.Now()); err != nil {
		return err
	}
	_, err := w.Conn.Write(w.out)
	w.out = w.out[:0]
	if w.after != nil {
		w.after()
	}
	return err
}

// limitWrite gives a write at least writeTimeout and at most an eighth more, so that not
// every reply costs setting a deadline.
func (w *wire) limitWrite(now time.Time) error {
	if w.writeBy.Sub(now) >= w.writeTimeout {
		return nil
	}
	w.writeBy = now.Add(w.writeTimeout + w.writeTimeout/8)
	return w.SetWriteDeadline(w.writeBy)
}

// pace bounds the time of a body: so many octets in every window, and the whole by end.
type pace struct {
	window time.Duration
	end    time.Time
	until  time.Time
	octets int
}

// minProgress is what a window must bring, in octets. A peer slower than that is not
// sending mail.
const minProgress = 1 << 10

func newPace(window, whole time.Duration) pace {
	now := time.Now()
	p := pace{window: window, end: now.Add(whole)}
	p.restart(now)
	return p
}

func (p *pace) moved(n int) {
	if p.octets += n; p.octets >= minProgress {
		p.restart(time.Now())
	}
}

func (p *pace) restart(now time.Time) {
	p.octets = 0
	if p.until = now.Add(p.window); p.until.After(p.end) {
		p.until = p.end
	}
}
