package actors

import (
	"container/heap"
	"slices"
	"time"

	"inboxd/internal/inbox"
)

// queueWindow ties the mails in memory to the due index by one promise: every entry up to
// horizon is in memory, but for those of lanes that have left some there (ADR 0019). So a
// queue of any length holds memory for what can be worked on soon. The queue's mu guards it.
type queueWindow struct {
	bounds  bounds
	horizon time.Time
	whole   bool             // horizon is the end of the index
	resume  inbox.QueueEntry // where the next scan begins
	reading bool             // a page is being read: what it may miss is kept
	drawn   int              // times that horizon drew in
	hungry  bool             // a lane has room for what it left in the index
	scanned int              // entries read since the scan turned back
	turned  time.Time        // when that was
	pause   bool             // the index could not be read
}

// bounds of a window, about 300 bytes a mail.
type bounds struct {
	page    int
	dueLow  int // fewer wait for their time: read on
	dueMost int // more do: the later half is left to the index
	share   int // jobs of a lane in memory
	lane    int // of one whose destination answers, as long as there is room
	room    int // mails in memory: no lane gets more than its share any more
	all     int // nothing that is told is kept any more
}

var usualBounds = bounds{page: 2048, dueLow: 2048, dueMost: 8192, share: 16, lane: 8192, room: 50_000, all: 250_000}

// scanCost is how long to wait for each entry that the last scan read before the next one
// turns back: ten times what reading it costs.
const scanCost = 30 * time.Microsecond

// queuePause is how long to wait after a scan that failed.
const queuePause = time.Second

// place puts a mail where it will be found at its time. Beyond the horizon that is the index
// alone, unless it is due: what comes in now must not wait for the end of a scan. When memory
// is full, the horizon draws in.
func (q *mailQueue) place(key mailKey, to inbox.Queued) {
	m, when, domains := q.mails[key], to.To, to.Domains
	switch {
	case m == nil && !q.whole && !q.reading && when.After(q.horizon) && when.After(q.sys.now()):
	case m == nil && len(q.mails) >= q.bounds.all:
		q.drawIn(when)
	case m == nil:
		q.enter(&queuedMail{mailKey: key, when: when, since: to.Since.UnixMilli()}, domains)
	case m.at < 0:
		m.again, m.domains, m.astray = when, q.shared(domains), false
	default:
		m.when, m.domains, m.astray = when, q.shared(domains), false
		heap.Fix(&q.due, int(m.at))
	}
}

// enter takes a mail into memory unless it is due and its lane left others behind.
func (q *mailQueue) enter(m *queuedMail, domains []string) {
	if !m.astray && !m.when.After(q.sys.now()) && q.leave(m.when, domains) {
		return
	}
	m.domains = q.shared(domains)
	q.mails[m.mailKey] = m
	q.await(m)
}

// await has a mail wait in memory for its time.
func (q *mailQueue) await(m *queuedMail) {
	heap.Push(&q.due, m)
	if len(q.due) > q.bounds.dueMost {
		q.shed()
	}
}

// shed leaves the later half of what waits for its time to the index.
func (q *mailQueue) shed() {
	slices.SortFunc(q.due, func(a, b *queuedMail) int { return a.when.Compare(b.when) }) // sorted is a heap too
	cut := q.due[len(q.due)/2].when
	kept := q.due[:0]
	for _, m := range q.due {
		if m.when.Before(cut) || m.astray {
			m.at = int32(len(kept))
			kept = append(kept, m)
		} else {
			delete(q.mails, m.mailKey)
		}
	}
	clear(q.due[len(kept):])
	q.due = kept
	q.drawIn(cut)
}

// drawIn gives up the promise for when and all later times.
func (q *mailQueue) drawIn(when time.Time) {
	q.drawn++
	if q.whole || !when.After(q.horizon) {
		q.whole, q.horizon, q.resume = false, when.Add(-time.Millisecond), inbox.QueueEntry{At: when}
	}
}

// leave reports that a mail which is due stays in the index, because enough others wait in
// memory for the one destination it has.
func (q *mailQueue) leave(when time.Time, domains []string) bool {
	if len(domains) != 1 {
		return false
	}
	l := q.lanes[q.sys.road(domains[0])]
	if l == nil || l.left.IsZero() && l.held() < l.most(q) {
		return false
	}
	q.leaveTo(l, when)
	return true
}

// leaveTo notes that a mail of the lane is in the index alone.
func (q *mailQueue) leaveTo(l *lane, when time.Time) {
	if l.left.IsZero() || when.Before(l.left) {
		l.left = when
	}
	q.hungry = q.hungry || l.hungry(q)
}

// most is how many jobs the lane may have in memory. One whose destination does not answer
// works on few.
func (l *lane) most(q *mailQueue) int {
	if (l.temper == answering || q.sys.OneRoad != "") && len(q.mails) < q.bounds.room {
		return q.bounds.lane
	}
	return q.bounds.share
}

// hungry reports that the lane has room for much of what it left in the index.
func (l *lane) hungry(q *mailQueue) bool {
	return !l.left.IsZero() && l.held() <= l.most(q)/4
}

// left returns the lane that left the earliest mail in the index, nil when none did.
func (q *mailQueue) left() (first *lane) {
	for _, l := range q.lanes {
		if !l.left.IsZero() && (first == nil || l.left.Before(first.left)) {
			first = l
		}
	}
	return first
}

// turnBack has the index read again from the first mail that a lane left there, so that all
// lanes get what they have room for. That is a walk over all that is due, so it costs a tenth
// of the time at most, and one that is under way ends first.
func (q *mailQueue) turnBack(now time.Time) {
	if !q.hungry || q.wanting() || q.nextTurn().After(now) {
		return
	}
	first := q.left()
	q.hungry, q.scanned, q.turned = false, 0, now
	if first == nil {
		return
	}
	q.drawIn(first.left)
	for _, l := range q.lanes {
		l.left = time.Time{}
	}
}

func (q *mailQueue) nextTurn() time.Time {
	return q.turned.Add(time.Duration(q.scanned) * scanCost)
}

// wanting reports whether more of the index should be read now.
func (q *mailQueue) wanting() bool {
	return !q.whole && len(q.due) < q.bounds.dueLow && len(q.mails) < q.bounds.all
}

// nextScan is how long to wait for the next look at the index.
func (q *mailQueue) nextScan(now time.Time) time.Duration {
	switch {
	case q.pause:
		return queuePause
	case q.wanting():
		return 0
	case q.hungry:
		return q.nextTurn().Sub(now)
	}
	return queueLook
}

// refill reads a page of the index where memory does not hold all of it and has room: one,
// so that what comes in meanwhile is not kept waiting for the others.
func (q *mailQueue) refill() {
	q.mu.Lock()
	q.turnBack(q.sys.now())
	from, drawn := q.resume, q.drawn
	q.reading = q.wanting()
	wanted := q.reading
	q.mu.Unlock()
	if !wanted {
		return
	}
	page, more, err := q.sys.store.MailQueue(from, q.bounds.page)
	if err != nil {
		q.sys.Logger.Error("the mail queue could not be read", "err", err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pause = err != nil
	if q.reading = false; drawn == q.drawn {
		q.take(page, more || err != nil)
	}
}

// take puts a page of the index in memory. A mail that was told meanwhile is known better.
// A lease of a mail that has no worker here is of an attempt that was interrupted.
func (q *mailQueue) take(page []inbox.QueueEntry, more bool) {
	if len(page) > 0 {
		q.resume = page[len(page)-1]
		q.horizon = q.resume.At
	}
	q.whole = !more
	q.scanned += len(page)
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
	q.enter(&queuedMail{mailKey: key, when: e.At, since: e.Since.UnixMilli(), astray: e.Leased}, e.Domains)
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
