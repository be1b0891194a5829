package scheduler

import (
	"slices"
	"time"
)

// Drop forgets the entries in a part of the index that another owner works on from now on. None of
// them may have an attempt, or be handed out to be deferred. Nothing of the part may be reported
// afterwards.
func (q *Line[K]) Drop(now time.Time, of func(K) bool) {
	q.now = now
	q.keepDue(func(m *entry[K]) bool { return !of(m.key) })
	for _, l := range q.lanes.byName {
		l.jobs = q.without(l.jobs, of)
		q.noteHunger(l)
		q.enlist(l)
	}
	for group, all := range q.aside.groups {
		q.aside.groups[group] = slices.DeleteFunc(all, func(d *Deferral[K]) bool {
			gone := of(d.Key)
			if gone {
				d.lane.deferred--
				q.noteHunger(d.lane)
				q.dropPart(d.entry)
			}
			return gone
		})
	}
}

// without takes jobs out of a lane.
func (q *Line[K]) without(jobs []*entry[K], of func(K) bool) []*entry[K] {
	jobs = slices.DeleteFunc(jobs, func(m *entry[K]) bool {
		gone := of(m.key)
		if gone {
			q.dropPart(m)
		}
		return gone
	})
	if len(jobs) == 0 {
		return nil
	}
	return jobs
}

// dropPart drops an entry with the last of its parts.
func (q *Line[K]) dropPart(m *entry[K]) {
	if m.left--; m.left == 0 {
		delete(q.entries, m.key)
	}
}

// keepDue keeps the waiting entries that keep selects, and forgets the rest.
func (q *Line[K]) keepDue(keep func(*entry[K]) bool) {
	all := q.sortedDue()
	kept := all[:0]
	for _, m := range all {
		if keep(m) {
			m.at = int32(len(kept))
			kept = append(kept, m)
		} else {
			delete(q.entries, m.key)
		}
	}
	clear(all[len(kept):])
	q.due.items = kept
}

// sortedDue sorts the waiting entries. keepDue then sets their indexes.
func (q *Line[K]) sortedDue() []*entry[K] {
	slices.SortFunc(q.due.items, func(a, b *entry[K]) int { return a.when.Compare(b.when) }) // a sorted slice is also a heap
	return q.due.items
}

// Anew starts reading the index from its beginning, because entries came into it without a report.
// Entries that only wait for their time are found there again.
func (q *Line[K]) Anew(now time.Time) {
	q.now = now
	q.keepDue(func(m *entry[K]) bool { return m.astray || m.probes })
	q.drawIn(time.Time{})
}
