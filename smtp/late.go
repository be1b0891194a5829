package smtp

import (
	"log/slog"
	"sync"
	"time"

	"inboxd/internal/fault"
)

// How long a peer waits for its mail to be stored. Deliver has no such bounds, for its
// caller's goroutine may be in the middle of a commit, and a disk that is full or stands
// still does not come back from one.
const (
	lateLook = 250 * time.Millisecond // between two looks at those who wait
	lateFull = 500 * time.Millisecond // then a full disk is told (specification, Faults: 452 within a second)
	lateEnd  = 40 * time.Second       // then anybody is: all look-ups about a mail take 10 s
)

// wait is the delivery that a session waits for. Another goroutine may answer for it.
type wait struct {
	mu sync.Mutex
	awaited
	asked bool // somebody finds out whether the disk is full
	told  bool // the peer has its answer, and no other will come
}

// awaited is one delivery.
type awaited struct {
	since time.Time // zero: there is none
	rcpt  string    // the first
}

func (w *wait) begin(a awaited) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.awaited = a
}

// end reports that the peer was answered meanwhile.
func (w *wait) end() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.awaited = awaited{}
	return w.told
}

// overdue returns the delivery if somebody should look after it: this is the caller's part
// now. It does not wait itself: whoever holds mu has just begun, ended or answered.
func (w *wait) overdue(now time.Time) (a awaited, ok bool) {
	if !w.mu.TryLock() {
		return a, false
	}
	defer w.mu.Unlock()
	took := now.Sub(w.since)
	if w.since.IsZero() || w.told || took < lateFull || w.asked && took < lateEnd {
		return a, false
	}
	w.asked = true
	return w.awaited, true
}

// lookAfter answers for sessions whose delivery takes too long, until Shutdown ends.
func (s *Server) lookAfter() {
	tick := time.NewTicker(lateLook)
	defer tick.Stop()
	for {
		select {
		case <-s.closed:
			return
		case now := <-tick.C:
			if s.gate.running.Load() > 0 {
				s.lookAt(now)
			}
		}
	}
}

func (s *Server) lookAt(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for session := range s.live {
		if a, ok := session.wait.overdue(now); ok {
			go session.late(a, now.Sub(a.since) >= lateEnd) // may ask the disk, and writes to the peer
		}
	}
}

// late answers for a delivery if the disk is full or the time over, and ends what the session
// can say: it comes back when the disk does. The mail may be stored all the same; the peer
// repeats it, and who has it knows it again.
func (s *session) late(a awaited, over bool) {
	err := error(fault.New(fault.Unavailable, "The storage takes too long"))
	if !over {
		err = s.srv.inboxes.Accepts(s.srv.ctx, a.rcpt)
	}
	s.wait.mu.Lock()
	defer s.wait.mu.Unlock()
	s.wait.asked = false
	if s.wait.told || s.wait.awaited != a || !over && !fault.Is(err, fault.StorageFull) {
		return
	}
	s.wait.told = true
	r := replyTo(err)
	s.srv.stats.reject(r)
	s.srv.logSometimes(slog.LevelWarn, "mail deferred", slog.String("inbox", a.rcpt), slog.Any("err", err))
	_ = s.SetWriteDeadline(time.Now().Add(s.writeTimeout))
	_, _ = s.Conn.Write(appendReply(append([]byte{}, s.out...), r)) // who has gone needs no answer
	if half, ok := s.Conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	s.kill()
}
