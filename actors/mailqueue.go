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
// is its beginning: a heap of what waits for its time, and for every destination a lane of
// what waits for a worker. Owners tell it of each committed move, so that a scan is needed
// only at the start and where memory did not hold all.
//
// horizon is the promise that ties both together: every entry up to it is in memory. mu
// guards all fields below it; nothing blocks under it, and no other lock is taken there.
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
	horizon time.Time
	whole   bool             // horizon is the end of the index
	resume  inbox.QueueEntry // where the next scan begins
	reading bool             // a scan is under way: what it may miss is kept
	drawn   int              // times that the horizon drew in
	stopped bool
}

// Bounds of the queue in memory, about 300 bytes a mail.
const (
	queuePage   = 4096
	queueWindow = 100_000 // a scan loads so many
	queueMost   = 250_000 // beyond it, what is told is left to a later scan
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

// place puts a mail where it will be found at its time. Beyond the horizon that is the index
// alone; when memory is full, the horizon draws in.
func (q *mailQueue) place(key mailKey, when time.Time, domains []string) {
	m := q.mails[key]
	switch {
	case m == nil && !q.whole && !q.reading && when.After(q.horizon):
	case m == nil && len(q.mails) >= queueMost:
		q.whole, q.horizon = false, when.Add(-time.Millisecond)
		q.resume = inbox.QueueEntry{At: when}
		q.drawn++
	case m == nil:
		m = &queuedMail{mailKey: key, when: when, domains: q.shared(domains)}
		q.mails[key] = m
		heap.Push(&q.due, m)
	case m.at < 0:
		m.again, m.domains = when, q.shared(domains)
	default:
		m.when, m.domains = when, q.shared(domains)
		heap.Fix(&q.due, m.at)
	}
}

// shared copies the names of domains, as the lanes hold them where they do.
func (q *mailQueue) shared(domains []string) []string {
	out := slices.Clone(domains)
	for i, d := range out {
		if l := q.lanes[d]; l != nil {
			out[i] = l.name
		}
	}
	return out
}

// refill reads on in the index where memory does not hold all of it and has room.
func (q *mailQueue) refill() {
	for {
		q.mu.Lock()
		from, drawn := q.resume, q.drawn
		q.reading = !q.whole && len(q.mails) < queueWindow
		wanted := q.reading
		q.mu.Unlock()
		if !wanted {
			return
		}
		page, more, err := q.sys.store.MailQueue(from, queuePage)
		if err != nil {
			q.sys.Logger.Error("the mail queue could not be read", "err", err)
		}
		q.mu.Lock()
		q.take(page, more || err != nil || drawn != q.drawn)
		q.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// take puts a page of the index in memory. A mail that was told meanwhile is known better.
// A lease of a mail that has no worker here is of an attempt that was interrupted.
func (q *mailQueue) take(page []inbox.QueueEntry, more bool) {
	q.reading = false
	if len(page) > 0 {
		q.resume = page[len(page)-1]
		q.horizon = q.resume.At
	}
	q.whole = q.whole || !more
	for _, e := range page {
		q.load(e)
	}
}

// load puts an entry of the index in memory.
func (q *mailQueue) load(e inbox.QueueEntry) {
	key := mailKey{e.Address, e.ID}
	if q.mails[key] != nil {
		return
	}
	if e.Leased {
		e.At = q.sys.now()
	}
	m := &queuedMail{mailKey: key, when: e.At, domains: q.shared(e.Domains)}
	q.mails[key] = m
	heap.Push(&q.due, m)
}

// step moves what is due to its lanes, starts workers, and returns how long to sleep.
func (q *mailQueue) step() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.sys.now()
	for len(q.due) > 0 && !q.due[0].when.After(now) {
		q.ready(heap.Pop(&q.due).(*queuedMail))
	}
	wait := q.dispatch(now)
	if len(q.due) > 0 {
		wait = min(wait, q.due[0].when.Sub(now))
	}
	return max(wait, time.Millisecond)
}

// ready hands a mail to the lanes of its destinations.
func (q *mailQueue) ready(m *queuedMail) {
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
		m.again = t.again
	}
	m.task = nil
	if m.again.IsZero() {
		delete(q.mails, m.mailKey)
	} else {
		m.when, m.again = m.again, time.Time{}
		heap.Push(&q.due, m)
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
		Waiting: len(q.mails), Running: q.running + q.hanging, Destinations: len(q.lanes), Whole: q.whole,
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
