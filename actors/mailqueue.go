package actors

import (
	"container/heap"
	"context"
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
	doubting chan struct{} // one signs for a destination that may be dead
	callers  atomic.Int64  // sends that wait for their answer

	mu      sync.Mutex
	census  census
	mails   map[mailKey]*queuedMail
	due     mailHeap
	lanes   map[string]*lane
	turns   []*lane // those with something to do whose destinations answer
	mute    []*lane // and those that did not answer last time
	fresh   freshLanes
	aside   aside
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
	since   int64 // when it was accepted, in Unix milliseconds
	at      int32 // in the heap; -1 when not there
	left    int32 // jobs in lanes and with workers
	domains []string
	task    *task     // of its first worker on
	again   time.Time // when to go back to the heap; zero: not at all
	probes  bool      // its next attempt is made although a destination was silent, see wanted
	astray  bool      // its entry in the index is at another time: only memory knows when
}

// wanted reports that an operator wants it tried whatever is known of its destinations.
func (m *queuedMail) wanted() bool { return m.probes || m.task != nil && m.task.probes }

// mailCounts are for metrics.
type mailCounts struct {
	attempts, delivered, temporary, permanent, bounced atomic.Int64
}

// mailHeap is a min-heap by time.
type mailHeap []*queuedMail

func (h mailHeap) Len() int           { return len(h) }
func (h mailHeap) Less(i, j int) bool { return h[i].when.Before(h[j].when) }
func (h mailHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i]; h[i].at, h[j].at = int32(i), int32(j) }

// Push implements heap.Interface.
func (h *mailHeap) Push(x any) {
	m := x.(*queuedMail)
	m.at = int32(len(*h))
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
		sys: s, wake: make(chan struct{}, 1), stopping: make(chan struct{}), signing: newSigning(), doubting: make(chan struct{}, 1),
		census: census{}, mails: map[mailKey]*queuedMail{}, lanes: map[string]*lane{},
		queueWindow: queueWindow{bounds: usualBounds}, aside: aside{mails: map[string][]putOff{}},
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
			q.place(key, move)
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
		heap.Remove(&q.due, int(m.at))
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
	q.dispatch(now)
	q.beginPutOffs()
	wait := min(queueLook, q.nextScan(now))
	if len(q.due) > 0 {
		wait = min(wait, q.due[0].when.Sub(now))
	}
	return max(wait, time.Millisecond)
}

// ready hands a mail to the lanes of its destinations.
func (q *mailQueue) ready(m *queuedMail) {
	if !m.astray && !m.probes && q.leave(m.when, m.domains) {
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
	m.left = int32(len(roads))
	for road := range roads {
		q.lane(road).add(q, m)
	}
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
	q.settle(m)
	q.nudge()
}

// settle has a mail that no lane and no worker has any more wait for its next time, or drops it.
func (q *mailQueue) settle(m *queuedMail) {
	if m.again.IsZero() {
		delete(q.mails, m.mailKey)
		return
	}
	m.when, m.again = m.again, time.Time{}
	q.await(m)
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
	for _, l := range q.lanes {
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
