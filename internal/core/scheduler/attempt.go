package scheduler

import (
	"slices"
	"time"
)

// Attempt is an attempt of the part of an entry that goes to one lane. The exported fields do not
// change.
type Attempt[K comparable] struct {
	Key     K
	Lane    string
	At      time.Time // the entry's time in the index
	Parts   int       // number of parts of the entry, if this is the first of them
	Temper  Temper    // of the lane when the attempt began
	Hopeful bool      // the destination answers, or may, because its entry is new
	Report  string    // not empty: report this for the entry without an attempt

	entry      *entry[K]
	lane       *lane[K]
	since      time.Time
	connecting bool
	greeted    bool
	bytes      int64 // bytes that it holds while it waits
	hangs      bool
	check      time.Time // when it may count as hanging
	at         int       // index in checks; -1: not there
}

// start begins the first entry of a lane.
func (q *Line[K]) start(l *lane[K]) {
	m := shift(&l.jobs)
	if !m.begun {
		m.begun, m.probing, m.probes = true, m.probes, false
	}
	a := &Attempt[K]{
		Key: m.key, Lane: l.name, At: m.when, Parts: int(m.left), Temper: l.temper, entry: m, lane: l,
		since: q.now, check: q.now.Add(q.HangAfter),
	}
	if q.Trusting {
		a.Temper = Answering
	}
	a.Hopeful = a.Temper == Answering || a.Temper == Unproven && q.isNew(l)
	if l.isQuiet(q.now) && !m.wanted() {
		a.Report = l.report
	}
	q.noteHunger(l)
	l.running++
	q.lanes.at[a.Temper]++
	q.hanging.checks.add(a)
	q.ready.Start = append(q.ready.Start, a)
}

// Result is the result of an attempt.
type Result struct {
	Temper Temper    // how its destination answered; Unproven: not known
	Report string    // of a silent destination, for the entries that are deferred
	Again  time.Time // when to take the entry up again unless it is moved; zero: it left the index
}

// Finished ends an attempt. A change of the entry in the index was reported by Moved before.
func (q *Line[K]) Finished(now time.Time, a *Attempt[K], r Result) {
	q.now = now
	q.release(a)
	l, m := a.lane, a.entry
	l.lastUse = now
	if r.Temper != Unproven {
		l.temper, l.report = r.Temper, r.Report
	}
	if r.Temper == Silent {
		l.quietTo = now.Add(q.Quiet)
	}
	q.enlist(l)
	if m.again.IsZero() && !r.Again.IsZero() {
		m.again, m.astray = r.Again, true
	}
	if m.left--; m.left == 0 {
		q.settle(m)
	}
}

// release frees the resources of an attempt.
func (q *Line[K]) release(a *Attempt[K]) {
	h := &q.hanging
	if a.at >= 0 {
		h.checks.remove(a.at)
	}
	a.lane.running--
	if !a.hangs {
		q.lanes.at[a.Temper]--
		return
	}
	h.n--
	h.bytes -= a.bytes
	if i := slices.Index(h.longest, a); i >= 0 {
		h.longest = slices.Delete(h.longest, i, i+1)
	}
}

// hanging holds the attempts that gave up their worker slots, and those that may have to. It
// belongs to its Line.
type hanging[K comparable] struct {
	n       int
	bytes   int64
	longest []*Attempt[K]     // that may be broken off, the longest first
	checks  pile[*Attempt[K]] // the others, by when they are checked
}

// Connects reports that an attempt waits for its destination from now on, and holds bytes.
func (q *Line[K]) Connects(a *Attempt[K], bytes int64) { a.connecting, a.bytes = true, max(bytes, 1) }

// Greeted reports that the destination of an attempt responded: it is at work, or slow.
func (q *Line[K]) Greeted(a *Attempt[K]) { a.greeted = true }

func (h *hanging[K]) untilCheck(now time.Time) time.Duration {
	if h.checks.Len() == 0 {
		return look
	}
	return h.checks.first().check.Sub(now)
}

// checkPatience looks for attempts that hang.
func (q *Line[K]) checkPatience() {
	checks := &q.hanging.checks
	for checks.Len() > 0 && !checks.first().check.After(q.now) {
		a := checks.pop()
		if again := q.patience(a); again > 0 {
			a.check = q.now.Add(again)
			checks.add(a)
			continue
		}
		q.giveUpPlace(a)
	}
}

// patience returns how long an attempt keeps its slot; 0: it hangs. An attempt that is not
// connecting yet is at work, and one whose server responded is slow. Both keep their slots, so that
// no more entries than workers are delivered at a time.
func (q *Line[K]) patience(a *Attempt[K]) time.Duration {
	h := &q.hanging
	switch {
	case !a.connecting, a.greeted && q.now.Before(a.since.Add(q.SlowAfter)):
		return q.HangAfter
	case h.n < q.MostHanging && h.bytes+a.bytes <= q.HangingBytes:
		return 0
	case q.giveWay():
		return q.HangAfter / 10 // its slot is free in a moment
	}
	return q.HangAfter
}

// giveUpPlace frees the slot of an attempt that hangs.
func (q *Line[K]) giveUpPlace(a *Attempt[K]) {
	h := &q.hanging
	a.hangs = true
	h.n++
	h.bytes += a.bytes
	at, _ := slices.BinarySearchFunc(h.longest, a.since, func(b *Attempt[K], since time.Time) int { return b.since.Compare(since) })
	h.longest = slices.Insert(h.longest, at, a)
	q.lanes.at[a.Temper]--
	if l := a.lane; q.DoubtHanging && l.temper == Answering {
		l.temper = Unproven
		q.enlist(l)
	}
}

// giveWay breaks off the longest hanging attempt if others wait and all slots are in use. A server
// that has not greeted by then counts as silent. An attempt whose server responded is not broken
// off, because the server may have the entry already. It reports whether one was broken off.
func (q *Line[K]) giveWay() bool {
	h := &q.hanging
	before := q.now.Add(-q.GiveWayAfter)
	i := slices.IndexFunc(h.longest, func(a *Attempt[K]) bool { return !a.greeted && a.since.Before(before) })
	if i < 0 || q.NeverGiveWay || !q.othersWait() {
		return false
	}
	q.ready.BreakOff = append(q.ready.BreakOff, h.longest[i])
	h.longest = slices.Delete(h.longest, i, i+1)
	return true
}

// othersWait reports whether destinations wait that may be reachable. These are destinations that
// never answered, and those that answered before all workers were hanging. With one route there are
// no others.
func (q *Line[K]) othersWait() bool {
	full := q.lanes.running() >= q.Workers
	return q.lanes.unproven.Len() > 0 || !q.Trusting && full && len(q.lanes.answering) > 0
}
