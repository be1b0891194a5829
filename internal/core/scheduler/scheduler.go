// Package scheduler decides when the entries of a due index are worked on. The caller owns the
// index, which is on disk and may have any length. The scheduler holds a window of it, a lane for
// each destination, and the health of the destinations. It only decides: Step returns what to
// start, to read and to break off, and the caller reports the results. It does not know locks,
// goroutines, clocks and disks, or what an entry is about.
//
// Destinations that answer must not wait for those that do not, so the latter never get all
// workers. A destination that holds an attempt open in silence costs a connection, not a worker.
package scheduler

import "time"

// Options are the limits of a Line. A figure that is not positive means its default.
type Options[K comparable] struct {
	Workers     int // concurrent attempts that do not hang; default 64
	LaneWorkers int // concurrent attempts at one destination that answers; default 5
	// Doubted limits the concurrent attempts at one destination that does not answer. All such
	// destinations share half of Workers evenly, or have one each. Default 1.
	Doubted int

	HangAfter    time.Duration // after which an attempt without a response gives up its slot; default 1 s
	SlowAfter    time.Duration // the same once the server responded; default 30 times HangAfter
	GiveWayAfter time.Duration // after which a hanging attempt may be broken off for others; default 10 times HangAfter
	NeverGiveWay bool          // hanging attempts are not broken off: they end by themselves
	MostHanging  int           // hanging attempts; default 512
	HangingBytes int64         // memory that these hold; default 64 MiB
	DoubtHanging bool          // a destination with a hanging attempt is unproven until it answers

	Quiet     time.Duration // how long entries of a silent destination are deferred before the next attempt; default: they are not
	DeferFull bool          // entries that do not fit into a silent lane are deferred; otherwise they stay in the index
	Trusting  bool          // every lane counts as answering: there is one route, and it gets every worker

	Group  func(K) string // entries of one group are deferred together; default: all
	Window Window
}

// Window limits what is in memory, about 300 bytes an entry.
type Window struct {
	Page      int // entries of one read; default 2,048
	DueLow    int // if fewer entries wait for their time, read on; default 2,048
	DueMost   int // if more do, the later half is left to the index; default 8,192
	Share     int // entries of a lane that does not answer; default 16
	Answering int // entries of a lane that answers; default 8,192
	Least     int // entries of each lane, if more than Room are in memory; default 16
	Room      int // default 50,000
	All       int // maximum in memory; default 250,000
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
	// look is how often the index is read although nothing seems due.
	look = 30 * time.Second
	// pause is how long nothing is read after a read that failed.
	pause = time.Second
)

// Entry is an entry of the index.
type Entry[K comparable] struct {
	Key    K
	At     time.Time // its time in the index; zero: not in it
	Since  time.Time // when it was accepted
	Lanes  []string  // its destinations, each once
	Leased bool      // found with the lease of an interrupted attempt: it is due
}

// Line is the schedule of one index. Its caller owns it: one call at a time.
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

// New returns the Line of an index that was not read yet.
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
	BreakOff []*Attempt[K] // others wait for their slots; they end with Finished
	Read     *Read[K]      // read this page, and call Page; nil: none
	Defer    bool          // Deferrals has some
	Next     time.Time     // call Step again, or after the next input
}

// Step returns what is to be done. Call it after inputs, and at Next.
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

// Stats are figures about a Line.
type Stats struct {
	Waiting int           `json:"waiting"` // entries in memory
	Running int           `json:"running"` // attempts in progress, including those that hang
	Lanes   int           `json:"lanes"`   // destinations with entries or a recent attempt
	Lag     time.Duration `json:"lag_ns"`  // how long the oldest due entry has been waiting for a worker
	Whole   bool          `json:"whole"`   // memory holds the whole index
}

// Stats returns the current figures.
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
