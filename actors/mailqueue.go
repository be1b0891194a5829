package actors

import (
	"container/heap"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"inboxd/internal/delivery"
	"inboxd/internal/inbox"
)

// mailQueue is the delivery supervisor. The queue itself is the store's due index; in memory
// is a window of it (queuewindow.go): a heap of what waits for its time, and for every
// destination a lane of what waits for a worker. Owners tell it of each committed move, so
// that a scan is needed only at the start and where memory did not hold all.
//
// mu guards all fields below it; nothing blocks under it, and no other lock is taken there.
type mailQueue struct {
	sys      *System
	ctx      context.Context // of attempts; over when a stop gives up waiting
	giveUp   context.CancelFunc
	wake     chan struct{}
	stopping chan struct{}
	work     sync.WaitGroup
	counts   mailCounts
	signing  chan struct{}
	callers  atomic.Int64 // sends that wait for their answer

	mu      sync.Mutex
	census  census
	mails   map[mailKey]*queuedMail
	due     mailHeap
	lanes   map[string]*lane
	turns   []*lane // lanes with something to do
	turn    int     // whose turn it is
	fresh   []*lane // of destinations that never answered, the newest last
	running int
	strange int    // running at destinations that never answered yet
	deaf    int    // running at destinations that did not answer last time
	hanging int    // attempts that wait for a silent server, not counted as running
	hung    int64  // bytes of their mails
	hangers []*job // those attempts, the longest first
	queueWindow
	stopped bool
}

const (
	// queueLook is how often the index is looked at although nothing seems due.
	queueLook = 30 * time.Second
	// againAfter is when a mail is taken up again whose attempt could not even begin.
	againAfter = 15 * time.Second
)

type mailKey struct {
	address string
	id      int64
}

// queuedMail is one entry in memory: in the heap (at >= 0), or in lanes and with workers.
type queuedMail struct {
	mailKey
	when    time.Time
	at      int // in the heap; -1 when not there
	domains []string
	task    *task     // of its first worker on
	left    int       // jobs in lanes and with workers
	again   time.Time // when to go back to the heap; zero: not at all
	probes  bool      // its next attempt is made although a destination was silent
	astray  bool      // its entry in the index is at another time: only memory knows when
}

// mailCounts are for metrics.
type mailCounts struct {
	attempts, delivered, temporary, permanent, bounced atomic.Int64
}

// mailHeap is a min-heap by time.
type mailHeap []*queuedMail

func (h mailHeap) Len() int           { return len(h) }
func (h mailHeap) Less(i, j int) bool { return h[i].when.Before(h[j].when) }
func (h mailHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i]; h[i].at, h[j].at = i, j }

// Push implements heap.Interface.
func (h *mailHeap) Push(x any) {
	m := x.(*queuedMail)
	m.at = len(*h)
	*h = append(*h, m)
}

// Pop implements heap.Interface.
func (h *mailHeap) Pop() any {
	old := *h
	m := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	m.at = -1
	return m
}

func newMailQueue(s *System) *mailQueue {
	q := &mailQueue{
		sys: s, wake: make(chan struct{}, 1), stopping: make(chan struct{}), signing: newSigning(),
		census: census{}, mails: map[mailKey]*queuedMail{}, lanes: map[string]*lane{},
		queueWindow: queueWindow{bounds: usualBounds},
	}
	q.ctx, q.giveUp = context.WithCancel(context.Background())
	return q
}

// run drives the queue until stop.
func (q *mailQueue) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-q.stopping:
			return
		case <-timer.C:
		case <-q.wake:
		}
		q.refill()
		timer.Reset(q.step())
	}
}

// stop lets attempts under way finish within patience and then breaks them off: they are
// taken up at the next start.
func (q *mailQueue) stop(patience time.Duration) {
	q.mu.Lock()
	q.stopped = true
	q.mu.Unlock()
	close(q.stopping)
	late := time.AfterFunc(patience, q.giveUp)
	defer late.Stop()
	q.work.Wait()
	q.giveUp()
}

func (q *mailQueue) nudge() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// told takes the moves of a commit. Owners call it after the commit and before they answer.
func (q *mailQueue) told(address string, moves []inbox.Queued) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, move := range moves {
		key := mailKey{address, move.ID}
		q.census.note(move)
		switch {
		case move.To.IsZero():
			q.forget(key)
		case !move.Leased: // a lease is this process's own
			q.place(key, move.To, move.Domains)
		}
	}
	q.nudge()
}

// forget drops a mail that left the queue; one with a worker is that worker's to drop.
func (q *mailQueue) forget(key mailKey) {
	m := q.mails[key]
	switch {
	case m == nil:
	case m.at < 0:
		m.again = time.Time{}
	default:
		heap.Remove(&q.due, m.at)
		delete(q.mails, key)
	}
}

// step moves what is due to its lanes, starts workers, and returns how long to sleep.
func (q *mailQueue) step() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.sys.now()
	for len(q.due) > 0 && !q.due[0].when.After(now) {
		q.ready(heap.Pop(&q.due).(*queuedMail))
	}
	wait := min(q.dispatch(now), q.nextScan(now))
	if len(q.due) > 0 {
		wait = min(wait, q.due[0].when.Sub(now))
	}
	return max(wait, time.Millisecond)
}

// ready hands a mail to the lanes of its destinations.
func (q *mailQueue) ready(m *queuedMail) {
	if !m.astray && q.leave(m.when, m.domains) {
		delete(q.mails, m.mailKey)
		return
	}
	roads := map[string]bool{}
	for _, d := range m.domains {
		roads[q.sys.road(d)] = true
	}
	if len(roads) == 0 {
		roads[""] = true // an entry without domains: the worker finds out
	}
	m.left = len(roads)
	for road := range roads {
		l := q.lane(road)
		if m.probes {
			l.deafTo = time.Time{}
		}
		l.add(q, m)
	}
	m.probes = false
}

// finished takes back a worker's job and, with the last one of a mail, the mail.
func (q *mailQueue) finished(j *job, answer answerOf) {
	q.mu.Lock()
	defer q.mu.Unlock()
	j.patience.Stop()
	j.over = true
	j.lane.release(q, j, answer)
	m := j.mail
	if m.left--; m.left > 0 {
		return
	}
	if t := m.task; m.again.IsZero() && !t.again.IsZero() {
		m.again, m.astray = t.again, true
	}
	m.task = nil
	if m.again.IsZero() {
		delete(q.mails, m.mailKey)
	} else {
		m.when, m.again = m.again, time.Time{}
		q.await(m)
	}
	q.nudge()
}

// QueueStats is a picture of the mail queue.
type QueueStats struct {
	Depth        int           // mails that are not settled
	Oldest       time.Duration // since the first of them was accepted, to the minute
	Waiting      int           // those in memory
	Running      int           // attempts under way, those that hang too
	Destinations int           // with mail waiting or an attempt lately
	Lag          time.Duration // how long the oldest due mail has been waiting for a worker
	Whole        bool          // memory holds the whole queue; else the index holds more
	Attempts     int64
	Delivered    int64 // recipients
	Temporary    int64
	Permanent    int64
	Bounced      int64
}

func (q *mailQueue) stats() QueueStats {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := QueueStats{
		Waiting: len(q.mails), Running: q.running + q.hanging, Destinations: len(q.lanes), Whole: q.whole && q.left() == nil,
		Attempts: q.counts.attempts.Load(), Delivered: q.counts.delivered.Load(), Temporary: q.counts.temporary.Load(),
		Permanent: q.counts.permanent.Load(), Bounced: q.counts.bounced.Load(),
	}
	now := q.sys.now()
	s.Depth, s.Oldest = q.census.depth(now)
	for _, l := range slices.Concat(q.turns, q.fresh) {
		if len(l.jobs) > 0 {
			s.Lag = max(s.Lag, now.Sub(l.jobs[0].when))
		}
	}
	return s
}

// isTemporary reports that nothing but tries again can come of every report.
func isTemporary(reports []Handover) bool {
	for _, r := range reports {
		if r.Outcome != delivery.Temporary {
			return false
		}
	}
	return len(reports) > 0
}
