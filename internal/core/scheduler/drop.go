package scheduler

import (
	"slices"
	"time"
)

// DropEntries forgets the entries in a part of the index that another owner works on from now on.
// None of them may have an attempt, or be handed out to be deferred. Nothing of the part may be
// reported afterwards.
func (q *WorkQueue[K]) DropEntries(now time.Time, of func(K) bool) {
	q.callTime = now
	q.keepDue(func(m *entry[K]) bool { return !of(m.key) })
	for _, l := range q.destinationSet.byName {
		l.jobs = q.withoutJobs(l.jobs, of)
		q.noteHunger(l)
		q.listDestination(l)
	}
	for group, all := range q.deferredEntries.groups {
		q.deferredEntries.groups[group] = slices.DeleteFunc(all, func(d *Deferral[K]) bool {
			gone := of(d.Key)
			if gone {
				d.destinationQueue.deferredCount--
				q.noteHunger(d.destinationQueue)
				q.dropPart(d.entry)
			}
			return gone
		})
	}
}

// withoutJobs takes jobs out of a lane.
func (q *WorkQueue[K]) withoutJobs(jobs []*entry[K], of func(K) bool) []*entry[K] {
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
func (q *WorkQueue[K]) dropPart(m *entry[K]) {
	if m.partsLeft--; m.partsLeft == 0 {
		delete(q.entries, m.key)
	}
}

// keepDue keeps the waiting entries that keep selects, and forgets the rest.
func (q *WorkQueue[K]) keepDue(keep func(*entry[K]) bool) {
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
	q.dueEntries.items = kept
}

// sortedDue sorts the waiting entries. keepDue then sets their indexes.
func (q *WorkQueue[K]) sortedDue() []*entry[K] {
	slices.SortFunc(q.dueEntries.items, func(a, b *entry[K]) int { return a.dueTime.Compare(b.dueTime) }) // a sorted slice is also a heap
	return q.dueEntries.items
}

// RestartScan starts reading the index from its beginning, because entries came into it without a
// report. Entries that only wait for their time are found there again.
func (q *WorkQueue[K]) RestartScan(now time.Time) {
	q.callTime = now
	q.keepDue(func(m *entry[K]) bool { return m.isAstray || m.probeNext })
	q.drawIn(time.Time{})
}
