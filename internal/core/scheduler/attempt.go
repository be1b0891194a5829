package scheduler

import (
	"slices"
	"time"
)

// Attempt is an attempt of the part of an entry that goes to one destination. The exported fields
// do not change.
type Attempt[K comparable] struct {
	Key             K
	DestinationName string
	At              time.Time   // the entry's time in the index
	PartCount       int         // number of parts of the entry, if this is the first of them
	HealthAtStart   HealthState // of the destination when the attempt began
	MayAnswer       bool        // the destination answers, or may, because its entry is new
	Report          string      // not empty: report this for the entry without an attempt

	entry            *entry[K]
	destinationQueue *destinationQueue[K]
	startedAt        time.Time
	isConnecting     bool
	hasGreeted       bool
	heldBytes        int64 // bytes that it holds while it waits
	isHanging        bool
	hangCheckAt      time.Time // when it may count as hanging
	at               int       // index in checks; -1: not there
}

// startFirst begins the first entry of a destination.
func (q *WorkQueue[K]) startFirst(l *destinationQueue[K]) {
	m := popFront(&l.jobs)
	if !m.hasBegun {
		m.hasBegun, m.allProbing, m.probeNext = true, m.probeNext, false
	}
	a := &Attempt[K]{
		Key: m.key, DestinationName: l.name, At: m.dueTime, PartCount: int(m.partsLeft), HealthAtStart: l.healthState, entry: m, destinationQueue: l,
		startedAt: q.callTime, hangCheckAt: q.callTime.Add(q.HangAfter),
	}
	if q.TrustAll {
		a.HealthAtStart = HealthAnswering
	}
	a.MayAnswer = a.HealthAtStart == HealthAnswering || a.HealthAtStart == HealthUnproven && q.isNew(l)
	if l.isQuiet(q.callTime) && !m.isWanted() {
		a.Report = l.lastReport
	}
	q.noteHunger(l)
	l.runningCount++
	q.destinationSet.at[a.HealthAtStart]++
	q.hangingAttempts.pendingChecks.pushItem(a)
	q.nextReady.StartAttempts = append(q.nextReady.StartAttempts, a)
}

// AttemptResult is the result of an attempt.
type AttemptResult struct {
	HealthState HealthState // how its destination answered; HealthUnproven: not known
	Report      string      // of a silent destination, for the entries that are deferred
	NextTime    time.Time   // when to take the entry up again unless it is moved; zero: it left the index
}

// AttemptFinished ends an attempt. A change of the entry in the index was reported by EntryMoved
// before.
func (q *WorkQueue[K]) AttemptFinished(now time.Time, a *Attempt[K], r AttemptResult) {
	q.callTime = now
	q.releaseAttempt(a)
	l, m := a.destinationQueue, a.entry
	l.lastUse = now
	if r.HealthState != HealthUnproven {
		l.healthState, l.lastReport = r.HealthState, r.Report
	}
	if r.HealthState == HealthSilent {
		l.quietTo = now.Add(q.QuietPeriod)
	}
	q.listDestination(l)
	if m.nextTime.IsZero() && !r.NextTime.IsZero() {
		m.nextTime, m.isAstray = r.NextTime, true
	}
	if m.partsLeft--; m.partsLeft == 0 {
		q.waitOrDrop(m)
	}
}

// releaseAttempt frees the resources of an attempt.
func (q *WorkQueue[K]) releaseAttempt(a *Attempt[K]) {
	h := &q.hangingAttempts
	if a.at >= 0 {
		h.pendingChecks.removeAt(a.at)
	}
	a.destinationQueue.runningCount--
	if !a.isHanging {
		q.destinationSet.at[a.HealthAtStart]--
		return
	}
	h.n--
	h.heldBytes -= a.heldBytes
	if i := slices.Index(h.longestFirst, a); i >= 0 {
		h.longestFirst = slices.Delete(h.longestFirst, i, i+1)
	}
}

// hangingAttempts holds the attempts that gave up their worker slots, and those that may have to. It
// belongs to its WorkQueue.
type hangingAttempts[K comparable] struct {
	n             int
	heldBytes     int64
	longestFirst  []*Attempt[K]              // that may be broken off, the longest first
	pendingChecks priorityQueue[*Attempt[K]] // the others, by when they are checked
}

// AttemptConnecting reports that an attempt waits for its destination from now on, and holds bytes.
func (q *WorkQueue[K]) AttemptConnecting(a *Attempt[K], bytes int64) {
	a.isConnecting, a.heldBytes = true, max(bytes, 1)
}

// AttemptGreeted reports that the destination of an attempt responded: it is at work, or slow.
func (q *WorkQueue[K]) AttemptGreeted(a *Attempt[K]) { a.hasGreeted = true }

func (h *hangingAttempts[K]) untilCheck(now time.Time) time.Duration {
	if h.pendingChecks.Len() == 0 {
		return idleReadInterval
	}
	return h.pendingChecks.firstItem().hangCheckAt.Sub(now)
}

// checkHanging looks for attempts that hang.
func (q *WorkQueue[K]) checkHanging() {
	checks := &q.hangingAttempts.pendingChecks
	for checks.Len() > 0 && !checks.firstItem().hangCheckAt.After(q.callTime) {
		a := checks.popFirst()
		if again := q.slotTimeLimit(a); again > 0 {
			a.hangCheckAt = q.callTime.Add(again)
			checks.pushItem(a)
			continue
		}
		q.giveUpPlace(a)
	}
}

// slotTimeLimit returns how long an attempt keeps its slot; 0: it hangs. An attempt that is not
// connecting yet is at work, and one whose server responded is slow. Both keep their slots, so that
// no more entries than workers are delivered at a time.
func (q *WorkQueue[K]) slotTimeLimit(a *Attempt[K]) time.Duration {
	h := &q.hangingAttempts
	switch {
	case !a.isConnecting, a.hasGreeted && q.callTime.Before(a.startedAt.Add(q.SlowAfter)):
		return q.HangAfter
	case h.n < q.MostHanging && h.heldBytes+a.heldBytes <= q.HangingBytes:
		return 0
	case q.giveWay():
		return q.HangAfter / 10 // its slot is free in a moment
	}
	return q.HangAfter
}

// giveUpPlace frees the slot of an attempt that hangs.
func (q *WorkQueue[K]) giveUpPlace(a *Attempt[K]) {
	h := &q.hangingAttempts
	a.isHanging = true
	h.n++
	h.heldBytes += a.heldBytes
	at, _ := slices.BinarySearchFunc(h.longestFirst, a.startedAt, func(b *Attempt[K], since time.Time) int { return b.startedAt.Compare(since) })
	h.longestFirst = slices.Insert(h.longestFirst, at, a)
	q.destinationSet.at[a.HealthAtStart]--
	if l := a.destinationQueue; q.DoubtHanging && l.healthState == HealthAnswering {
		l.healthState = HealthUnproven
		q.listDestination(l)
	}
}

// giveWay breaks off the longest hanging attempt if others wait and all slots are in use. A server
// that has not greeted by then counts as silent. An attempt whose server responded is not broken
// off, because the server may have the entry already. It reports whether one was broken off.
func (q *WorkQueue[K]) giveWay() bool {
	h := &q.hangingAttempts
	before := q.callTime.Add(-q.GiveWayAfter)
	i := slices.IndexFunc(h.longestFirst, func(a *Attempt[K]) bool { return !a.hasGreeted && a.startedAt.Before(before) })
	if i < 0 || q.NeverGiveWay || !q.othersWait() {
		return false
	}
	q.nextReady.BreakOff = append(q.nextReady.BreakOff, h.longestFirst[i])
	h.longestFirst = slices.Delete(h.longestFirst, i, i+1)
	return true
}

// othersWait reports whether destinations wait that may be reachable. These are destinations that
// never answered, and those that answered before all workers were hanging. With one route there are
// no others.
func (q *WorkQueue[K]) othersWait() bool {
	full := q.destinationSet.runningCount() >= q.Workers
	return q.destinationSet.unproven.Len() > 0 || !q.TrustAll && full && len(q.destinationSet.answering) > 0
}
