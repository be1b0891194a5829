package scheduler

import "time"

// window ties the entries in memory to the index by one promise: every entry up to horizon is
// in memory, but for those of lanes that have left some in the index. So an index of any length
// holds memory for what can be worked on soon (ADR 0019). It belongs to its Line.
type window[K comparable] struct {
	horizon time.Time
	whole   bool      // horizon is the end of the index
	resume  Read[K]   // where the next read begins
	reading bool      // a page is being read: what it may miss is kept
	stale   bool      // horizon drew in meanwhile: it is of no use
	hungry  bool      // a lane has room for what it left in the index
	scanned int       // entries read since the scan turned back
	turned  time.Time // when that was
	paused  time.Time // until then nothing is read: the index could not be
}

// Read is a page to be read: up to Limit entries in the order of the index, from the first at
// a time on, or behind one entry.
type Read[K comparable] struct {
	From   time.Time // zero: the beginning
	Key    K         // of the entry at From behind which the page begins
	Behind bool      // there is one
	Limit  int
}

// scanCost is how long to wait for each entry that the last scan read before the next one
// turns back: ten times what reading it costs.
const scanCost = 30 * time.Microsecond

// isBeyond reports that an entry which is not in memory is found there when its time comes.
// What is due is not: what comes in now must not wait for the end of a scan.
func (q *Line[K]) isBeyond(when time.Time) bool {
	w := &q.window
	return !w.whole && !w.reading && when.After(w.horizon) && when.After(q.now)
}

// shed leaves the later half of what waits for its time to the index.
func (q *Line[K]) shed() {
	all := q.sortedDue()
	cut := all[len(all)/2].when
	q.keepDue(func(m *entry[K]) bool { return m.when.Before(cut) || m.astray })
	q.drawIn(cut)
}

// drawIn gives up the promise for when and all later times.
func (q *Line[K]) drawIn(when time.Time) {
	w := &q.window
	w.stale = true
	if w.whole || !when.After(w.horizon) {
		w.whole, w.horizon, w.resume = false, when.Add(-time.Millisecond), Read[K]{From: when}
	}
}

// leave reports that an entry which is due stays in the index, because enough others wait in
// memory for the one destination it has.
func (q *Line[K]) leave(when time.Time, lanes []string) bool {
	if len(lanes) != 1 {
		return false
	}
	l := q.lanes.byName[lanes[0]]
	switch {
	case l == nil, q.defersFull(l):
		return false
	case l.left.IsZero() && l.held() < q.most(l):
		return false
	}
	q.leaveTo(l, when)
	return true
}

// leaveTo notes that an entry of the lane is in the index alone.
func (q *Line[K]) leaveTo(l *lane[K], when time.Time) {
	if l.left.IsZero() || when.Before(l.left) {
		l.left = when
	}
	q.noteHunger(l)
}

// most is how many entries the lane may have in memory. One whose destination does not answer
// works on few.
func (q *Line[K]) most(l *lane[K]) int {
	most := q.Window.Share
	if q.trusts(l) {
		most = q.Window.Answering
	}
	if len(q.entries) >= q.Window.Room {
		most = min(most, q.Window.Least)
	}
	return most
}

// noteHunger notes that the lane has room for much of what it left in the index.
func (q *Line[K]) noteHunger(l *lane[K]) {
	if !l.left.IsZero() && l.held() <= q.most(l)/4 {
		q.window.hungry = true
	}
}

// turnBack has the index read again from the first entry that a lane left there, so that all
// lanes get what they have room for. That is a walk over all that is due, so it costs a tenth
// of the time at most, and one that is under way ends first.
func (q *Line[K]) turnBack() {
	w := &q.window
	if !w.hungry || q.isWanting() || w.nextTurn().After(q.now) {
		return
	}
	first := q.lanes.earliestLeft()
	w.hungry, w.scanned, w.turned = false, 0, q.now
	if first == nil {
		return
	}
	q.drawIn(first.left)
	for _, l := range q.lanes.byName {
		l.left = time.Time{}
	}
}

func (w *window[K]) nextTurn() time.Time {
	return w.turned.Add(time.Duration(w.scanned) * scanCost)
}

// isWanting reports that more of the index should be read.
func (q *Line[K]) isWanting() bool {
	return !q.window.whole && q.due.Len() < q.Window.DueLow && len(q.entries) < q.Window.All
}

// read is the page to be read now: one, so that what comes in meanwhile is not kept waiting
// for the others.
func (q *Line[K]) read() *Read[K] {
	w := &q.window
	if w.reading || !q.isWanting() || w.paused.After(q.now) {
		return nil
	}
	w.reading, w.stale = true, false
	page := w.resume
	page.Limit = q.Window.Page
	return &page
}

// untilRead is how long to wait for the next look at the index.
func (q *Line[K]) untilRead() time.Duration {
	w := &q.window
	switch {
	case w.reading:
	case w.paused.After(q.now):
		return w.paused.Sub(q.now)
	case w.hungry && !q.isWanting():
		return w.nextTurn().Sub(q.now)
	}
	return look
}

// Page takes the page that Step asked for, and whether more follows it.
func (q *Line[K]) Page(now time.Time, page []Entry[K], more bool) {
	q.now = now
	w := &q.window
	w.reading = false
	if w.stale {
		return
	}
	if len(page) > 0 {
		last := page[len(page)-1]
		w.resume, w.horizon = Read[K]{From: last.At, Key: last.Key, Behind: true}, last.At
	}
	w.whole = !more
	w.scanned += len(page)
	for _, e := range page {
		q.load(e)
	}
}

// NoPage says that the page could not be read. It is asked for again in a while.
func (q *Line[K]) NoPage(now time.Time) { q.window.reading, q.window.paused = false, now.Add(pause) }
