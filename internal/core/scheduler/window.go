package scheduler

import "time"

// window connects the entries in memory to the index by one invariant: every entry up to horizon is
// in memory, except those of lanes that left some in the index. So an index of any length needs
// memory only for what can be worked on soon (ADR 0019). It belongs to its Line.
type window[K comparable] struct {
	horizon time.Time
	whole   bool      // horizon is the end of the index
	resume  Read[K]   // where the next read begins
	reading bool      // a page is being read: entries that it may miss stay in memory
	stale   bool      // horizon moved back during the read: the page is useless
	hungry  bool      // a lane has room for what it left in the index
	scanned int       // entries read since the scan started over
	turned  time.Time // when that was
	paused  time.Time // nothing is read until then, because a read failed
}

// Read is a page to be read: up to Limit entries in the order of the index, from a time on, or
// after one entry.
type Read[K comparable] struct {
	From   time.Time // zero: the beginning
	Key    K         // of the entry at From after which the page begins
	Behind bool      // Key is set
	Limit  int
}

// scanCost is the pause for each entry that the last scan read, before the next scan starts over.
// It is ten times the cost of reading an entry.
const scanCost = 30 * time.Microsecond

// isBeyond reports whether an entry that is not in memory is found in the index when its time
// comes. A due entry is not beyond: new entries must not wait for the end of a scan.
func (q *Line[K]) isBeyond(when time.Time) bool {
	w := &q.window
	return !w.whole && !w.reading && when.After(w.horizon) && when.After(q.now)
}

// shed leaves the later half of the waiting entries to the index.
func (q *Line[K]) shed() {
	all := q.sortedDue()
	cut := all[len(all)/2].when
	q.keepDue(func(m *entry[K]) bool { return m.when.Before(cut) || m.astray })
	q.drawIn(cut)
}

// drawIn moves the horizon back to before when.
func (q *Line[K]) drawIn(when time.Time) {
	w := &q.window
	w.stale = true
	if w.whole || !when.After(w.horizon) {
		w.whole, w.horizon, w.resume = false, when.Add(-time.Millisecond), Read[K]{From: when}
	}
}

// leave reports whether a due entry stays in the index, because enough others wait in memory for
// its only destination.
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

// leaveTo records that an entry of the lane is only in the index.
func (q *Line[K]) leaveTo(l *lane[K], when time.Time) {
	if l.left.IsZero() || when.Before(l.left) {
		l.left = when
	}
	q.noteHunger(l)
}

// most is how many entries the lane may have in memory. A lane whose destination does not answer
// needs few.
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

// noteHunger records that the lane has room for much of what it left in the index.
func (q *Line[K]) noteHunger(l *lane[K]) {
	if !l.left.IsZero() && l.held() <= q.most(l)/4 {
		q.window.hungry = true
	}
}

// turnBack starts reading the index again at the first entry that a lane left there, so that all
// lanes get what they have room for. Such a scan reads all due entries. So scans take at most a
// tenth of the time, and a scan in progress ends first.
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

// isWanting reports whether more of the index should be read.
func (q *Line[K]) isWanting() bool {
	return !q.window.whole && q.due.Len() < q.Window.DueLow && len(q.entries) < q.Window.All
}

// read returns the page to be read now. It is only one page, so that new entries do not wait for
// the others.
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

// untilRead returns how long to wait before the index is read again.
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

// NoPage reports that the page could not be read. Step asks for it again after a pause.
func (q *Line[K]) NoPage(now time.Time) { q.window.reading, q.window.paused = false, now.Add(pause) }
