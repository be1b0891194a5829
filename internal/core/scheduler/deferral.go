package scheduler

import "time"

// Deferral is an entry of a silent destination that is deferred without an attempt. Most entries of an
// index full of dead destinations need only this, and it needs no worker.
type Deferral[K comparable] struct {
	Key             K
	DestinationName string
	At              time.Time // the entry's time in the index
	Report          string    // from the destination's last attempt

	entry            *entry[K]
	destinationQueue *destinationQueue[K]
}

// deferredEntries holds the entries to be deferred. It belongs to its WorkQueue.
type deferredEntries[K comparable] struct {
	groups     map[string][]*Deferral[K]
	groupOrder []string // the groups, in order of arrival
}

// defersFull reports whether entries that do not fit into the destination are deferred.
func (q *WorkQueue[K]) defersFull(l *destinationQueue[K]) bool {
	return q.DeferFull && l.healthState == HealthSilent
}

// isOverflowing reports whether an entry for the destination is to be deferred because the
// destination is full.
func (q *WorkQueue[K]) isOverflowing(l *destinationQueue[K]) bool {
	return q.defersFull(l) && len(l.jobs) >= q.maxHeld(l)
}

// deferWaiting takes all entries out of the destination that wait only for it.
func (q *WorkQueue[K]) deferWaiting(l *destinationQueue[K]) {
	kept := l.jobs[:0]
	for _, m := range l.jobs {
		if m.isWanted() || m.partsLeft > 1 || m.hasBegun {
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

func (q *WorkQueue[K]) deferOne(l *destinationQueue[K], m *entry[K]) {
	l.deferredCount++
	group := q.GroupOf(m.key)
	if len(q.deferredEntries.groups[group]) == 0 {
		q.deferredEntries.groupOrder = append(q.deferredEntries.groupOrder, group)
	}
	q.deferredEntries.groups[group] = append(q.deferredEntries.groups[group], &Deferral[K]{Key: m.key, DestinationName: l.name, At: m.dueTime, entry: m, destinationQueue: l})
}

// Deferrals takes up to most entries of one group that are to be deferred, and reports whether the
// group has more. It returns none when nothing is left. Each entry ends with EntryDeferred. Entries
// that are to be attempted after all go back to their destination: call Step then too.
func (q *WorkQueue[K]) Deferrals(now time.Time, most int) (some []*Deferral[K], more bool) {
	q.callTime = now
	for len(some) == 0 && len(q.deferredEntries.groupOrder) > 0 {
		var taken []*Deferral[K]
		taken, more = q.deferredEntries.takeGroup(most)
		for _, d := range taken {
			if d.entry.isWanted() || d.destinationQueue.healthState == HealthAnswering {
				d.destinationQueue.deferredCount--
				q.enqueue(d.destinationQueue, d.entry)
				continue
			}
			d.Report = d.destinationQueue.lastReport
			some = append(some, d)
		}
	}
	return some, more
}

// takeGroup takes some entries of the group whose turn it is.
func (a *deferredEntries[K]) takeGroup(most int) (some []*Deferral[K], more bool) {
	group := a.groupOrder[0]
	all := a.groups[group]
	some = all[:min(len(all), most)]
	a.groups[group] = all[len(some):]
	if more = len(some) < len(all); !more {
		delete(a.groups, group)
		a.groupOrder = a.groupOrder[1:]
	}
	return some, more
}

// EntryDeferred reports the new time of a deferred entry in the index, zero if it was removed. A move
// that was reported takes precedence.
func (q *WorkQueue[K]) EntryDeferred(now time.Time, d *Deferral[K], at time.Time) {
	q.undoDeferral(now, d)
	if d.entry.nextTime.IsZero() {
		d.entry.nextTime = at
	}
	q.waitOrDrop(d.entry)
}

// NotDeferred reports that an entry is in the index as it was. It is found there again, or taken up
// after a while if only memory knows its time.
func (q *WorkQueue[K]) NotDeferred(now time.Time, d *Deferral[K], after time.Duration) {
	q.undoDeferral(now, d)
	switch m := d.entry; {
	case !m.nextTime.IsZero():
	case m.isAstray:
		m.nextTime = now.Add(after)
	default:
		q.leaveTo(d.destinationQueue, m.dueTime)
	}
	q.waitOrDrop(d.entry)
}

func (q *WorkQueue[K]) undoDeferral(now time.Time, d *Deferral[K]) {
	q.callTime = now
	d.destinationQueue.deferredCount--
	d.destinationQueue.lastUse = now
	q.noteHunger(d.destinationQueue)
}
