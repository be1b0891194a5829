// Package scheduler decides when the entries of a due index are worked on. The caller owns the
// index, which is on disk and may have any length. The scheduler holds a window of it, a
// destination for each destination, and the health of the destinations. It only decides: Step
// returns what to start, to read and to break off, and the caller reports the results. It does not
// know locks, goroutines, clocks and disks, or what an entry is about.
//
// Destinations that answer must not wait for those that do not, so the latter never get all
// workers. A destination that holds an attempt open in silence costs a connection, not a worker.
package scheduler

import "time"

// Options are the limits of a WorkQueue. A figure that is not positive means its default.
type Options[K comparable] struct {
	Workers     int // concurrent attempts that do not hang; default 64
	LaneWorkers int // concurrent attempts at one destination that answers; default 5
	// UnansweringWorkers limits the concurrent attempts at one destination that does not answer.
	// All such destinations share half of Workers evenly, or have one each. Default 1.
	UnansweringWorkers int

	HangAfter    time.Duration // after which an attempt without a response gives up its slot; default 1 s
	SlowAfter    time.Duration // the same once the server responded; default 30 times HangAfter
	GiveWayAfter time.Duration // after which a hanging attempt may be broken off for others; default 10 times HangAfter
	NeverGiveWay bool          // hanging attempts are not broken off: they end by themselves
	MostHanging  int           // hanging attempts; default 512
	HangingBytes int64         // memory that these hold; default 64 MiB
	DoubtHanging bool          // a destination with a hanging attempt is unproven until it answers

	QuietPeriod time.Duration // how long entries of a silent destination are deferred before the next attempt; default: they are not
	DeferFull   bool          // entries that do not fit into a silent destination are deferred; otherwise they stay in the index
	TrustAll    bool          // every destination counts as answering: there is one route, and it gets every worker

	GroupOf func(K) string // entries of one group are deferred together; default: all
	Window  MemoryWindow
}

// MemoryWindow limits what is in memory, about 300 bytes an entry.
type MemoryWindow struct {
	PageSize       int // entries of one read; default 2,048
	DueLow         int // if fewer entries wait for their time, read on; default 2,048
	DueMost        int // if more do, the later half is left to the index; default 8,192
	MaxUnanswering int // entries of a destination that does not answer; default 16
	MaxAnswering   int // entries of a destination that answers; default 8,192
	MaxCrowded     int // entries of each destination, if more than CrowdedAbove are in memory; default 16
	CrowdedAbove   int // default 50,000
	MaxEntries     int // maximum in memory; default 250,000
}

func orElse[T int | int64 | time.Duration](v *T, or T) {
	if *v <= 0 {
		*v = or
	}
}

func (o Options[K]) withDefaults() Options[K] {
	orElse(&o.Workers, 64)
	if orElse(&o.LaneWorkers, 5); o.TrustAll {
		o.LaneWorkers = o.Workers
	}
	orElse(&o.UnansweringWorkers, 1)
	orElse(&o.HangAfter, time.Second)
	orElse(&o.SlowAfter, 30*o.HangAfter)
	orElse(&o.GiveWayAfter, 10*o.HangAfter)
	orElse(&o.MostHanging, 512)
	orElse(&o.HangingBytes, 64<<20)
	if o.GroupOf == nil {
		o.GroupOf = func(K) string { return "" }
	}
	w := &o.Window
	orElse(&w.PageSize, 2048)
	orElse(&w.DueLow, 2048)
	orElse(&w.DueMost, 8192)
	orElse(&w.MaxUnanswering, 16)
	orElse(&w.MaxAnswering, 8192)
	orElse(&w.MaxCrowded, 16)
	orElse(&w.CrowdedAbove, 50_000)
	orElse(&w.MaxEntries, 250_000)
	return o
}

const (
	// idleReadInterval is how often the index is read although nothing seems due.
	idleReadInterval = 30 * time.Second
	// readRetryPause is how long nothing is read after a read that failed.
	readRetryPause = time.Second
)

// Entry is an entry of the index.
type Entry[K comparable] struct {
	Key              K
	At               time.Time // its time in the index; zero: not in it
	AcceptedAt       time.Time // when it was accepted
	DestinationNames []string  // its destinations, each once
	WasLeased        bool      // found with the lease of an interrupted attempt: it is due
}

// WorkQueue is the schedule of one index. Its caller owns it: one call at a time.
type WorkQueue[K comparable] struct {
	Options[K]
	callTime        time.Time // of the call
	entries         map[K]*entry[K]
	dueEntries      priorityQueue[*entry[K]] // wait for their time
	window          indexWindow[K]
	destinationSet  destinationSet[K]
	hangingAttempts hangingAttempts[K]
	deferredEntries deferredEntries[K]
	nextReady       ReadyWork[K] // what the next Step returns
}

// New returns the WorkQueue of an index that was not read yet.
func New[K comparable](o Options[K]) *WorkQueue[K] {
	return &WorkQueue[K]{
		Options: o.withDefaults(), entries: map[K]*entry[K]{},
		dueEntries:      priorityQueue[*entry[K]]{comesBefore: func(a, b *entry[K]) bool { return a.dueTime.Before(b.dueTime) }, onMoved: func(e *entry[K], i int) { e.at = int32(i) }},
		destinationSet:  newDestinationSet[K](),
		hangingAttempts: hangingAttempts[K]{pendingChecks: priorityQueue[*Attempt[K]]{comesBefore: func(a, b *Attempt[K]) bool { return a.hangCheckAt.Before(b.hangCheckAt) }, onMoved: func(a *Attempt[K], i int) { a.at = i }}},
		deferredEntries: deferredEntries[K]{groups: map[string][]*Deferral[K]{}},
	}
}

// ReadyWork is what is to be done now.
type ReadyWork[K comparable] struct {
	StartAttempts []*Attempt[K]   // begin these; each ends with AttemptFinished
	BreakOff      []*Attempt[K]   // others wait for their slots; they end with AttemptFinished
	ReadPage      *PageRequest[K] // read this page, and call Page; nil: none
	HasDeferrals  bool            // Deferrals has some
	NextStep      time.Time       // call Step again, or after the next input
}

// Step returns what is to be done. Call it after inputs, and at NextStep.
func (q *WorkQueue[K]) Step(now time.Time) ReadyWork[K] {
	q.callTime = now
	q.checkHanging()
	q.turnBack()
	for q.dueEntries.Len() > 0 && !q.dueEntries.firstItem().dueTime.After(now) {
		q.enterDestinations(q.dueEntries.popFirst())
	}
	q.startAttempts()
	r := q.nextReady
	q.nextReady = ReadyWork[K]{}
	r.ReadPage, r.HasDeferrals = q.nextRead(), len(q.deferredEntries.groupOrder) > 0
	wait := min(idleReadInterval, q.untilRead(), q.hangingAttempts.untilCheck(now))
	if q.dueEntries.Len() > 0 {
		wait = min(wait, q.dueEntries.firstItem().dueTime.Sub(now))
	}
	r.NextStep = now.Add(max(wait, time.Millisecond))
	return r
}

// Stats are figures about a WorkQueue.
type Stats struct {
	Waiting          int           `json:"waiting"` // entries in memory
	Running          int           `json:"running"` // attempts in progress, including those that hang
	DestinationCount int           `json:"lanes"`   // destinations with entries or a recent attempt
	OldestWait       time.Duration `json:"lag_ns"`  // how long the oldest due entry has been waiting for a worker
	IsWhole          bool          `json:"whole"`   // memory holds the whole index
}

// Stats returns the current figures.
func (q *WorkQueue[K]) Stats(now time.Time) Stats {
	s := Stats{
		Waiting: len(q.entries), Running: q.destinationSet.runningCount() + q.hangingAttempts.n, DestinationCount: len(q.destinationSet.byName),
		IsWhole: q.window.isWhole && q.destinationSet.earliestLeft() == nil,
	}
	for _, l := range q.destinationSet.byName {
		if len(l.jobs) > 0 {
			s.OldestWait = max(s.OldestWait, now.Sub(l.jobs[0].dueTime))
		}
	}
	return s
}
