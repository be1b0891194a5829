package scheduler

import (
	"slices"
	"time"
)

// entry is an entry in memory. It waits for its time (at >= 0), or its parts are in destinations, in
// attempts or deferred.
type entry[K comparable] struct {
	key              K
	dueTime          time.Time
	acceptedMillis   int64 // Unix milliseconds
	destinationNames []string
	nextTime         time.Time // its next time; zero: it leaves memory
	at               int32     // index in due; -1 if not there
	partsLeft        int32     // unfinished parts: one for each destination

	probeNext  bool // its next attempt is made whatever the health of its destinations
	hasBegun   bool // a part of it has begun
	allProbing bool // the attempts of all its parts are made whatever the health of their destinations
	isAstray   bool // its time in the index is another: only memory knows when
}

// isWanted reports whether it is to be attempted whatever the health of its destinations.
func (m *entry[K]) isWanted() bool { return m.probeNext || m.hasBegun && m.allProbing }

// EntryMoved reports that the entry moved in the index, or left it. A lease is not a move.
func (q *WorkQueue[K]) EntryMoved(now time.Time, e Entry[K]) {
	q.callTime = now
	m := q.entries[e.Key]
	switch {
	case e.At.IsZero():
		q.forgetEntry(m)
	case m == nil && q.isBeyond(e.At):
	case m == nil && len(q.entries) >= q.Window.MaxEntries:
		q.drawIn(e.At)
	case m == nil:
		q.admitEntry(&entry[K]{key: e.Key, dueTime: e.At, acceptedMillis: e.AcceptedAt.UnixMilli()}, e.DestinationNames)
	case m.at < 0:
		m.nextTime, m.destinationNames, m.isAstray = e.At, q.destinationSet.shareNames(e.DestinationNames), false
	default:
		m.dueTime, m.destinationNames, m.isAstray = e.At, q.destinationSet.shareNames(e.DestinationNames), false
		q.dueEntries.fixAt(int(m.at))
	}
}

// forgetEntry drops an entry that left the index. If it has an attempt, it is dropped when that ends.
func (q *WorkQueue[K]) forgetEntry(m *entry[K]) {
	switch {
	case m == nil:
	case m.at < 0:
		m.nextTime = time.Time{}
	default:
		q.dueEntries.removeAt(int(m.at))
		delete(q.entries, m.key)
	}
}

// ProbeEntry makes the next attempt of an entry whatever the health of its destinations, wherever the
// entry waits.
func (q *WorkQueue[K]) ProbeEntry(now time.Time, e Entry[K]) {
	q.callTime = now
	m := q.entries[e.Key]
	if m == nil {
		m = &entry[K]{key: e.Key, dueTime: e.At, acceptedMillis: e.AcceptedAt.UnixMilli(), destinationNames: q.destinationSet.shareNames(e.DestinationNames), isAstray: true}
		q.entries[e.Key] = m
		q.awaitTime(m)
	}
	m.probeNext = true
}

// AddInterrupted takes up an entry that an earlier run left leased, wherever it is in the index.
func (q *WorkQueue[K]) AddInterrupted(now time.Time, e Entry[K]) {
	q.callTime = now
	q.loadEntry(e)
}

// loadEntry takes an entry of the index into memory. If it is in memory already, memory is newer.
func (q *WorkQueue[K]) loadEntry(e Entry[K]) {
	if q.entries[e.Key] != nil {
		return
	}
	if e.WasLeased {
		e.At = q.callTime
	}
	q.admitEntry(&entry[K]{key: e.Key, dueTime: e.At, acceptedMillis: e.AcceptedAt.UnixMilli(), isAstray: e.WasLeased}, e.DestinationNames)
}

// admitEntry takes an entry into memory unless it is due and its destination already left others in
// the index.
func (q *WorkQueue[K]) admitEntry(m *entry[K], destinations []string) {
	if !m.isAstray && !m.dueTime.After(q.callTime) && q.leaveInIndex(m.dueTime, destinations) {
		return
	}
	m.destinationNames = q.destinationSet.shareNames(destinations)
	q.entries[m.key] = m
	q.awaitTime(m)
}

// awaitTime makes an entry wait in memory for its time.
func (q *WorkQueue[K]) awaitTime(m *entry[K]) {
	q.dueEntries.pushItem(m)
	if q.dueEntries.Len() > q.Window.DueMost {
		q.shedWaiting()
	}
}

// waitOrDrop makes an entry without work in progress wait for its next time, or drops it.
func (q *WorkQueue[K]) waitOrDrop(m *entry[K]) {
	if m.hasBegun, m.partsLeft = false, 0; m.nextTime.IsZero() {
		delete(q.entries, m.key)
		return
	}
	m.dueTime, m.nextTime = m.nextTime, time.Time{}
	q.awaitTime(m)
}

// enterDestinations hands a due entry to its destinations. An entry without
// destinations goes to the destination without a name, and its worker handles the case.
func (q *WorkQueue[K]) enterDestinations(m *entry[K]) {
	if !m.isAstray && !m.probeNext && q.leaveInIndex(m.dueTime, m.destinationNames) {
		delete(q.entries, m.key)
		return
	}
	destinations := m.destinationNames
	if len(destinations) == 0 {
		destinations = []string{""}
	}
	m.partsLeft = int32(len(destinations))
	for _, name := range destinations {
		l := q.destinationSet.getOrAdd(name, q.callTime)
		if len(destinations) == 1 && q.isOverflowing(l) && !m.isWanted() {
			q.deferOne(l, m)
			continue
		}
		q.enqueue(l, m)
	}
}

// enqueue adds an entry to a destination. A wanted entry goes first.
func (q *WorkQueue[K]) enqueue(l *destinationQueue[K], m *entry[K]) {
	if len(l.jobs) == 0 {
		l.firstAcceptedAt = time.UnixMilli(m.acceptedMillis)
	}
	if m.isWanted() {
		l.jobs = slices.Insert(l.jobs, 0, m)
	} else {
		l.jobs = append(l.jobs, m)
	}
	q.listDestination(l)
}
