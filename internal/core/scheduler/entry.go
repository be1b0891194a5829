package scheduler

import (
	"slices"
	"time"
)

// entry is an entry in memory. It waits for its time (at >= 0), or its parts are in lanes, in
// attempts or deferred.
type entry[K comparable] struct {
	key   K
	when  time.Time
	since int64 // Unix milliseconds
	lanes []string
	again time.Time // its next time; zero: it leaves memory
	at    int32     // index in due; -1 if not there
	left  int32     // unfinished parts: one for each lane

	probes  bool // its next attempt is made whatever the health of its destinations
	begun   bool // a part of it has begun
	probing bool // the attempts of all its parts are made whatever the health of their destinations
	astray  bool // its time in the index is another: only memory knows when
}

// wanted reports whether it is to be attempted whatever the health of its destinations.
func (m *entry[K]) wanted() bool { return m.probes || m.begun && m.probing }

// Moved reports that the entry moved in the index, or left it. A lease is not a move.
func (q *Line[K]) Moved(now time.Time, e Entry[K]) {
	q.now = now
	m := q.entries[e.Key]
	switch {
	case e.At.IsZero():
		q.forget(m)
	case m == nil && q.isBeyond(e.At):
	case m == nil && len(q.entries) >= q.Window.All:
		q.drawIn(e.At)
	case m == nil:
		q.enter(&entry[K]{key: e.Key, when: e.At, since: e.Since.UnixMilli()}, e.Lanes)
	case m.at < 0:
		m.again, m.lanes, m.astray = e.At, q.lanes.shared(e.Lanes), false
	default:
		m.when, m.lanes, m.astray = e.At, q.lanes.shared(e.Lanes), false
		q.due.fix(int(m.at))
	}
}

// forget drops an entry that left the index. If it has an attempt, it is dropped when that ends.
func (q *Line[K]) forget(m *entry[K]) {
	switch {
	case m == nil:
	case m.at < 0:
		m.again = time.Time{}
	default:
		q.due.remove(int(m.at))
		delete(q.entries, m.key)
	}
}

// Probe makes the next attempt of an entry whatever the health of its destinations, wherever the
// entry waits.
func (q *Line[K]) Probe(now time.Time, e Entry[K]) {
	q.now = now
	m := q.entries[e.Key]
	if m == nil {
		m = &entry[K]{key: e.Key, when: e.At, since: e.Since.UnixMilli(), lanes: q.lanes.shared(e.Lanes), astray: true}
		q.entries[e.Key] = m
		q.await(m)
	}
	m.probes = true
}

// Interrupted takes up an entry that an earlier run left leased, wherever it is in the index.
func (q *Line[K]) Interrupted(now time.Time, e Entry[K]) {
	q.now = now
	q.load(e)
}

// load takes an entry of the index into memory. If it is in memory already, memory is newer.
func (q *Line[K]) load(e Entry[K]) {
	if q.entries[e.Key] != nil {
		return
	}
	if e.Leased {
		e.At = q.now
	}
	q.enter(&entry[K]{key: e.Key, when: e.At, since: e.Since.UnixMilli(), astray: e.Leased}, e.Lanes)
}

// enter takes an entry into memory unless it is due and its lane already left others in the index.
func (q *Line[K]) enter(m *entry[K], lanes []string) {
	if !m.astray && !m.when.After(q.now) && q.leave(m.when, lanes) {
		return
	}
	m.lanes = q.lanes.shared(lanes)
	q.entries[m.key] = m
	q.await(m)
}

// await makes an entry wait in memory for its time.
func (q *Line[K]) await(m *entry[K]) {
	q.due.add(m)
	if q.due.Len() > q.Window.DueMost {
		q.shed()
	}
}

// settle makes an entry without work in progress wait for its next time, or drops it.
func (q *Line[K]) settle(m *entry[K]) {
	if m.begun, m.left = false, 0; m.again.IsZero() {
		delete(q.entries, m.key)
		return
	}
	m.when, m.again = m.again, time.Time{}
	q.await(m)
}

// enterLanes hands a due entry to the lanes of its destinations. An entry without destinations goes
// to a lane without a name, and its worker handles the case.
func (q *Line[K]) enterLanes(m *entry[K]) {
	if !m.astray && !m.probes && q.leave(m.when, m.lanes) {
		delete(q.entries, m.key)
		return
	}
	lanes := m.lanes
	if len(lanes) == 0 {
		lanes = []string{""}
	}
	m.left = int32(len(lanes))
	for _, name := range lanes {
		l := q.lanes.get(name, q.now)
		if len(lanes) == 1 && q.overflows(l) && !m.wanted() {
			q.deferOne(l, m)
			continue
		}
		q.enqueue(l, m)
	}
}

// enqueue adds an entry to a lane. A wanted entry goes first.
func (q *Line[K]) enqueue(l *lane[K], m *entry[K]) {
	if len(l.jobs) == 0 {
		l.since = time.UnixMilli(m.since)
	}
	if m.wanted() {
		l.jobs = slices.Insert(l.jobs, 0, m)
	} else {
		l.jobs = append(l.jobs, m)
	}
	q.enlist(l)
}
