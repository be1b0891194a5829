// Package scheduler decides when the entries of a due index are worked on. The index is the
// caller's, on disk and of any length; here is a window of it, a lane for each destination, and
// what is known of how destinations answer. It decides only: Step says what to start, to read
// and to break off, and the caller says what came of it. It refuses to know locks, goroutines,
// clocks and disks, and what an entry is about.
//
// Destinations that answer must not wait for those that don't, so these never have all of the
// workers, and whoever holds an attempt open in silence costs a connection, not a worker.
package scheduler

import "time"

// Options are the bounds of a Line. Each figure that is not positive is its default.
type Options[K comparable] struct {
	Workers     int // attempts at once that do not hang; default 64
	LaneWorkers int // of them at one destination that answers; default 5
	// Doubted bounds the attempts at once at one destination that does not answer. All such
	// share half of Workers evenly, or have one each. Default 1.
	Doubted int

	HangAfter    time.Duration // when an attempt that is not heard of gives its place away; default 1 s
	SlowAfter    time.Duration // the same of one whose server spoke; default 30 times HangAfter
	GiveWayAfter time.Duration // when one that hangs may be broken off for others; default 10 times HangAfter
	NeverGiveWay bool          // none is: they end by themselves
	MostHanging  int           // attempts that hang; default 512
	HangingBytes int64         // what these hold; default 64 MiB
	DoubtHanging bool          // a destination that lets an attempt hang is unproven until it answers

	Quiet     time.Duration // how long entries of a silent destination are deferred before the next is tried; default: they are not
	DeferFull bool          // what finds no place in a silent lane is deferred; otherwise it stays in the index
	Trusting  bool          // every lane counts as answering: there is one route, and it gets every worker

	Group  func(K) string // entries of one group are deferred together; default: all
	Window Window
}

// Window bounds what is in memory, about 300 bytes an entry.
type Window struct {
	Page      int // entries of one read; default 2,048
	DueLow    int // fewer wait for their time: read on; default 2,048
	DueMost   int // more do: the later half is left to the index; default 8,192
	Share     int // of a lane that does not answer; default 16
	Answering int // of one that does; default 8,192
	Least     int // of each, when there are more than Room in memory; default 16
	Room      int // default 50,000
	All       int // nothing more is kept; default 250,000
}

func orElse[T int | int64 | time.Duration](v *T, or T) {
	if *v <= 0 {
		*v = or
	}
}

func (o Options[K]) withDefaults() Options[K] {
	orElse(&o.Workers, 64)
	if orElse(&o.LaneWorkers, 5); o.Trusting {
		o.LaneWorkers = o.Workers
	}
	orElse(&o.Doubted, 1)
	orElse(&o.HangAfter, time.Second)
	orElse(&o.SlowAfter, 30*o.HangAfter)
	orElse(&o.GiveWayAfter, 10*o.HangAfter)
	orElse(&o.MostHanging, 512)
	orElse(&o.HangingBytes, 64<<20)
	if o.Group == nil {
		o.Group = func(K) string { return "" }
	}
	w := &o.Window
	orElse(&w.Page, 2048)
	orElse(&w.DueLow, 2048)
	orElse(&w.DueMost, 8192)
	orElse(&w.Share, 16)
	orElse(&w.Answering, 8192)
	orElse(&w.Least, 16)
	orElse(&w.Room, 50_000)
	orElse(&w.All, 250_000)
	return o
}

const (
	// look is how often the index is looked at although nothing seems due.
	look = 30 * time.Second
	// pause is how long nothing is read after a read that failed.
	pause = time.Second
)

// Entry is an entry of the index.
type Entry[K comparable] struct {
	Key    K
	At     time.Time // its place in the index; zero: nowhere
	Since  time.Time // when it was accepted
	Lanes  []string  // its destinations, each once
	Leased bool      // found with the lease of an attempt that was interrupted: it is due
}

// Line is the schedule of one index. It belongs to whoever calls it: one call at a time.
type Line[K comparable] struct {
	Options[K]
	now     time.Time // of the call
	entries map[K]*entry[K]
	due     pile[*entry[K]] // wait for their time
	window  window[K]
	lanes   lanes[K]
	hanging hanging[K]
	aside   aside[K]
	ready   Ready[K] // what the next Step returns
}

// New returns the Line of an index of which nothing is known.
func New[K comparable](o Options[K]) *Line[K] {
	return &Line[K]{
		Options: o.withDefaults(), entries: map[K]*entry[K]{},
		due:     pile[*entry[K]]{before: func(a, b *entry[K]) bool { return a.when.Before(b.when) }, moved: func(e *entry[K], i int) { e.at = int32(i) }},
		lanes:   newLanes[K](),
		hanging: hanging[K]{checks: pile[*Attempt[K]]{before: func(a, b *Attempt[K]) bool { return a.check.Before(b.check) }, moved: func(a *Attempt[K], i int) { a.at = i }}},
		aside:   aside[K]{groups: map[string][]*Deferral[K]{}},
	}
}

// Ready is what is to be done now.
type Ready[K comparable] struct {
	Start    []*Attempt[K] // begin these; each ends with Finished
	BreakOff []*Attempt[K] // others wait for their places; they end with Finished
	Read     *Read[K]      // read this page, and call Page; nil: none
	Defer    bool          // Deferrals has some
	Next     time.Time     // call Step again, or after the next input
}

// Step says what is to be done. It is to be called after inputs, and at Next.
func (q *Line[K]) Step(now time.Time) Ready[K] {
	q.now = now
	q.checkPatience()
	q.turnBack()
	for q.due.Len() > 0 && !q.due.first().when.After(now) {
		q.enterLanes(q.due.pop())
	}
	q.dispatch()
	r := q.ready
	q.ready = Ready[K]{}
	r.Read, r.Defer = q.read(), len(q.aside.turns) > 0
	wait := min(look, q.untilRead(), q.hanging.untilCheck(now))
	if q.due.Len() > 0 {
		wait = min(wait, q.due.first().when.Sub(now))
	}
	r.Next = now.Add(max(wait, time.Millisecond))
	return r
}

// Stats is a picture of a Line.
type Stats struct {
	Waiting int           `json:"waiting"` // entries in memory
	Running int           `json:"running"` // attempts under way, those that hang too
	Lanes   int           `json:"lanes"`   // destinations with entries or an attempt lately
	Lag     time.Duration `json:"lag_ns"`  // how long the oldest due entry has been waiting for a worker
	Whole   bool          `json:"whole"`   // memory holds the whole index
}

// Stats takes the picture.
func (q *Line[K]) Stats(now time.Time) Stats {
	s := Stats{
		Waiting: len(q.entries), Running: q.lanes.running() + q.hanging.n, Lanes: len(q.lanes.byName),
		Whole: q.window.whole && q.lanes.earliestLeft() == nil,
	}
	for _, l := range q.lanes.byName {
		if len(l.jobs) > 0 {
			s.Lag = max(s.Lag, now.Sub(l.jobs[0].when))
		}
	}
	return s
}
