package scheduler

import "time"

// Deferral is an entry of a silent lane that is deferred without an attempt. Most entries of an
// index full of dead destinations need only this, and it needs no worker.
type Deferral[K comparable] struct {
	Key    K
	Lane   string
	At     time.Time // the entry's time in the index
	Report string    // from the lane's last attempt

	entry *entry[K]
	lane  *lane[K]
}

// aside holds the entries to be deferred. It belongs to its Line.
type aside[K comparable] struct {
	groups map[string][]*Deferral[K]
	turns  []string // the groups, in order of arrival
}

// defersFull reports whether entries that do not fit into the lane are deferred.
func (q *Line[K]) defersFull(l *lane[K]) bool { return q.DeferFull && l.temper == Silent }

// overflows reports whether an entry for the lane is to be deferred because the lane is full.
func (q *Line[K]) overflows(l *lane[K]) bool { return q.defersFull(l) && len(l.jobs) >= q.most(l) }

// deferWaiting takes all entries out of the lane that wait only for it.
func (q *Line[K]) deferWaiting(l *lane[K]) {
	kept := l.jobs[:0]
	for _, m := range l.jobs {
		if m.wanted() || m.left > 1 || m.begun {
			kept = append(kept, m)
			continue
		}
		q.deferOne(l, m)
	}
	clear(l.jobs[len(kept):])
	if l.jobs = kept; len(kept) == 0 {
		l.jobs = nil
	}
}

func (q *Line[K]) deferOne(l *lane[K], m *entry[K]) {
	l.deferred++
	group := q.Group(m.key)
	if len(q.aside.groups[group]) == 0 {
		q.aside.turns = append(q.aside.turns, group)
	}
	q.aside.groups[group] = append(q.aside.groups[group], &Deferral[K]{Key: m.key, Lane: l.name, At: m.when, entry: m, lane: l})
}

// Deferrals takes up to most entries of one group that are to be deferred, and reports whether the
// group has more. It returns none when nothing is left. Each entry ends with Deferred. Entries that
// are to be attempted after all go back to their lane: call Step then too.
func (q *Line[K]) Deferrals(now time.Time, most int) (some []*Deferral[K], more bool) {
	q.now = now
	for len(some) == 0 && len(q.aside.turns) > 0 {
		var taken []*Deferral[K]
		taken, more = q.aside.take(most)
		for _, d := range taken {
			if d.entry.wanted() || d.lane.temper == Answering {
				d.lane.deferred--
				q.enqueue(d.lane, d.entry)
				continue
			}
			d.Report = d.lane.report
			some = append(some, d)
		}
	}
	return some, more
}

// take takes some entries of the group whose turn it is.
func (a *aside[K]) take(most int) (some []*Deferral[K], more bool) {
	group := a.turns[0]
	all := a.groups[group]
	some = all[:min(len(all), most)]
	a.groups[group] = all[len(some):]
	if more = len(some) < len(all); !more {
		delete(a.groups, group)
		a.turns = a.turns[1:]
	}
	return some, more
}

// Deferred reports the new time of a deferred entry in the index, zero if it was removed. A move
// that was reported takes precedence.
func (q *Line[K]) Deferred(now time.Time, d *Deferral[K], at time.Time) {
	q.undo(now, d)
	if d.entry.again.IsZero() {
		d.entry.again = at
	}
	q.settle(d.entry)
}

// NotDeferred reports that an entry is in the index as it was. It is found there again, or taken up
// after a while if only memory knows its time.
func (q *Line[K]) NotDeferred(now time.Time, d *Deferral[K], after time.Duration) {
	q.undo(now, d)
	switch m := d.entry; {
	case !m.again.IsZero():
	case m.astray:
		m.again = now.Add(after)
	default:
		q.leaveTo(d.lane, m.when)
	}
	q.settle(d.entry)
}

func (q *Line[K]) undo(now time.Time, d *Deferral[K]) {
	q.now = now
	d.lane.deferred--
	d.lane.lastUse = now
	q.noteHunger(d.lane)
}
