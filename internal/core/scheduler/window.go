package scheduler

import "time"

// indexWindow connects the entries in memory to the index by one invariant: every entry up to
// horizon is in memory, except those of destinations that left some in the index. So an index of any
// length needs memory only for what can be worked on soon (ADR 0019). It belongs to its WorkQueue.
type indexWindow[K comparable] struct {
	horizon      time.Time
	isWhole      bool           // horizon is the end of the index
	resumeAt     PageRequest[K] // where the next read begins
	isReading    bool           // a page is being read: entries that it may miss stay in memory
	pageStale    bool           // horizon moved back during the read: the page is useless
	wantsRescan  bool           // a destination has room for what it left in the index
	scannedCount int            // entries read since the scan started over
	scanStarted  time.Time      // when that was
	pausedUntil  time.Time      // nothing is read until then, because a read failed
}

// PageRequest is a page to be read: up to Limit entries in the order of the index, from a time on, or
// after one entry.
type PageRequest[K comparable] struct {
	From     time.Time // zero: the beginning
	Key      K         // of the entry at From after which the page begins
	AfterKey bool      // Key is set
	Limit    int
}

// scanCost is the pause for each entry that the last scan read, before the next scan starts over.
// It is ten times the cost of reading an entry.
const scanCost = 30 * time.Microsecond

// isBeyond reports whether an entry that is not in memory is found in the index when its time
// comes. A due entry is not beyond: new entries must not wait for the end of a scan.
func (q *WorkQueue[K]) isBeyond(when time.Time) bool {
	w := &q.window
	return !w.isWhole && !w.isReading && when.After(w.horizon) && when.After(q.callTime)
}

// shedWaiting leaves the later half of the waiting entries to the index.
func (q *WorkQueue[K]) shedWaiting() {
	all := q.sortedDue()
	cut := all[len(all)/2].dueTime
	q.keepDue(func(m *entry[K]) bool { return m.dueTime.Before(cut) || m.isAstray })
	q.drawIn(cut)
}

// drawIn moves the horizon back to before when.
func (q *WorkQueue[K]) drawIn(when time.Time) {
	w := &q.window
	w.pageStale = true
	if w.isWhole || !when.After(w.horizon) {
		w.isWhole, w.horizon, w.resumeAt = false, when.Add(-time.Millisecond), PageRequest[K]{From: when}
	}
}

// leaveInIndex reports whether a due entry stays in the index, because enough others wait in memory for
// its only destination.
func (q *WorkQueue[K]) leaveInIndex(when time.Time, destinations []string) bool {
	if len(destinations) != 1 {
		return false
	}
	l := q.destinationSet.byName[destinations[0]]
	switch {
	case l == nil, q.defersFull(l):
		return false
	case l.firstLeftAt.IsZero() && l.heldCount() < q.maxHeld(l):
		return false
	}
	q.leaveTo(l, when)
	return true
}

// leaveTo records that an entry of the destination is only in the index.
func (q *WorkQueue[K]) leaveTo(l *destinationQueue[K], when time.Time) {
	if l.firstLeftAt.IsZero() || when.Before(l.firstLeftAt) {
		l.firstLeftAt = when
	}
	q.noteHunger(l)
}

// maxHeld is how many entries the destination may have in memory. A destination whose destination
// does not answer needs few.
func (q *WorkQueue[K]) maxHeld(l *destinationQueue[K]) int {
	most := q.Window.MaxUnanswering
	if q.isTrusted(l) {
		most = q.Window.MaxAnswering
	}
	if len(q.entries) >= q.Window.CrowdedAbove {
		most = min(most, q.Window.MaxCrowded)
	}
	return most
}

// noteHunger records that the destination has room for much of what it left in the index.
func (q *WorkQueue[K]) noteHunger(l *destinationQueue[K]) {
	if !l.firstLeftAt.IsZero() && l.heldCount() <= q.maxHeld(l)/4 {
		q.window.wantsRescan = true
	}
}

// turnBack starts reading the index again at the first entry that a destination left there, so that all
// destinations get what they have room for. Such a scan reads all due entries. So scans take at most a
// tenth of the time, and a scan in progress ends first.
func (q *WorkQueue[K]) turnBack() {
	w := &q.window
	if !w.wantsRescan || q.isWanting() || w.nextTurn().After(q.callTime) {
		return
	}
	first := q.destinationSet.earliestLeft()
	w.wantsRescan, w.scannedCount, w.scanStarted = false, 0, q.callTime
	if first == nil {
		return
	}
	q.drawIn(first.firstLeftAt)
	for _, l := range q.destinationSet.byName {
		l.firstLeftAt = time.Time{}
	}
}

func (w *indexWindow[K]) nextTurn() time.Time {
	return w.scanStarted.Add(time.Duration(w.scannedCount) * scanCost)
}

// isWanting reports whether more of the index should be read.
func (q *WorkQueue[K]) isWanting() bool {
	return !q.window.isWhole && q.dueEntries.Len() < q.Window.DueLow && len(q.entries) < q.Window.MaxEntries
}

// nextRead returns the page to be read now. It is only one page, so that new entries do not wait for
// the others.
func (q *WorkQueue[K]) nextRead() *PageRequest[K] {
	w := &q.window
	if w.isReading || !q.isWanting() || w.pausedUntil.After(q.callTime) {
		return nil
	}
	w.isReading, w.pageStale = true, false
	page := w.resumeAt
	page.Limit = q.Window.PageSize
	return &page
}

// untilRead returns how long to wait before the index is read again.
func (q *WorkQueue[K]) untilRead() time.Duration {
	w := &q.window
	switch {
	case w.isReading:
	case w.pausedUntil.After(q.callTime):
		return w.pausedUntil.Sub(q.callTime)
	case w.wantsRescan && !q.isWanting():
		return w.nextTurn().Sub(q.callTime)
	}
	return idleReadInterval
}

// AddPage takes the page that Step asked for, and whether more follows it.
func (q *WorkQueue[K]) AddPage(now time.Time, page []Entry[K], more bool) {
	q.callTime = now
	w := &q.window
	w.isReading = false
	if w.pageStale {
		return
	}
	if len(page) > 0 {
		last := page[len(page)-1]
		w.resumeAt, w.horizon = PageRequest[K]{From: last.At, Key: last.Key, AfterKey: true}, last.At
	}
	w.isWhole = !more
	w.scannedCount += len(page)
	for _, e := range page {
		q.loadEntry(e)
	}
}

// NoPage reports that the page could not be read. Step asks for it again after a pause.
func (q *WorkQueue[K]) NoPage(now time.Time) {
	q.window.isReading, q.window.pausedUntil = false, now.Add(readRetryPause)
}
