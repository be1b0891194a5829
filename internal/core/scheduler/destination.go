package scheduler

import (
	"slices"
	"time"
)

// HealthState is the health of a destination by its last answer.
type HealthState uint8

// The health states. A destination that never answered is unproven. All unproven destinations share
// half of the workers, or a third once they have waited for longer than an attempt that does not
// hang. Destinations that were silent last time share an eighth.
const (
	HealthUnproven HealthState = iota
	HealthAnswering
	HealthSilent
)

// String returns the name of the state.
func (t HealthState) String() string { return [...]string{"unproven", "answering", "silent"}[t] }

// destinationQueue is one destination: the entries that wait for a worker there, and its health. It
// belongs to its WorkQueue.
type destinationQueue[K comparable] struct {
	name          string
	jobs          []*entry[K]
	deferredCount int // entries that are to be deferred
	runningCount  int
	onList        dispatchList
	isBusy        bool // counted in destinations.unansweringCount
	// firstLeftAt is when the first entry was due that did not fit here and waits in the index; zero:
	// none. Later entries wait behind it.
	firstLeftAt time.Time
	// firstAcceptedAt is when the first of jobs was accepted.
	firstAcceptedAt time.Time

	healthState HealthState
	quietTo     time.Time // when a silent destination may be tried again
	lastReport  string    // from its last attempt
	lastUse     time.Time
}

// heldCount is how many entries the destination has in memory without an attempt.
func (l *destinationQueue[K]) heldCount() int { return len(l.jobs) + l.deferredCount }

// isQuiet reports whether the destination was silent a moment ago.
func (l *destinationQueue[K]) isQuiet(now time.Time) bool {
	return l.healthState == HealthSilent && now.Before(l.quietTo)
}

// dispatchList is a list that dispatch takes destinations from.
type dispatchList uint8

const (
	notListed dispatchList = iota
	inUnproven
	inAnswering
	inSilent
)

// destinationSet are all destinations of a WorkQueue, which owns them.
type destinationSet[K comparable] struct {
	byName           map[string]*destinationQueue[K]
	unproven         priorityQueue[*destinationQueue[K]] // never answered
	answering        []*destinationQueue[K]
	silent           []*destinationQueue[K] // did not answer last time
	at               [3]int                 // attempts that do not hang, by health when they began
	unansweringCount int                    // destinations that do not answer and have work
	lastSweep        time.Time
}

// destinationKept is how long the health of an idle destination is remembered.
const destinationKept = time.Hour

// newDestinationSet orders unproven destinations by their entry's acceptance, newest first. A new
// one must not wait behind a thousand that may be dead.
func newDestinationSet[K comparable]() destinationSet[K] {
	return destinationSet[K]{byName: map[string]*destinationQueue[K]{}, unproven: priorityQueue[*destinationQueue[K]]{comesBefore: func(a, b *destinationQueue[K]) bool { return a.firstAcceptedAt.After(b.firstAcceptedAt) }}}
}

func (s *destinationSet[K]) runningCount() int {
	return s.at[HealthUnproven] + s.at[HealthAnswering] + s.at[HealthSilent]
}

func (s *destinationSet[K]) getOrAdd(name string, now time.Time) *destinationQueue[K] {
	l := s.byName[name]
	if l == nil {
		l = &destinationQueue[K]{name: name, lastUse: now}
		s.byName[name] = l
	}
	return l
}

// shareNames copies names, and reuses the strings that destinations hold.
func (s *destinationSet[K]) shareNames(names []string) []string {
	out := slices.Clone(names)
	for i, name := range out {
		if l := s.byName[name]; l != nil {
			out[i] = l.name
		}
	}
	return out
}

// earliestLeft returns the destination that left the earliest entry in the index, or nil.
func (s *destinationSet[K]) earliestLeft() (first *destinationQueue[K]) {
	for _, l := range s.byName {
		if !l.firstLeftAt.IsZero() && (first == nil || l.firstLeftAt.Before(first.firstLeftAt)) {
			first = l
		}
	}
	return first
}

// sweepIdle forgets, about once a minute, destinations that nothing was sent to for laneKept.
func (s *destinationSet[K]) sweepIdle(now time.Time) {
	if now.Before(s.lastSweep.Add(destinationKept / 60)) {
		return
	}
	s.lastSweep = now
	for name, l := range s.byName {
		used := l.runningCount > 0 || l.heldCount() > 0 || l.onList != notListed || !l.firstLeftAt.IsZero()
		if !used && now.Sub(l.lastUse) > destinationKept {
			delete(s.byName, name)
		}
	}
}

// isTrusted reports whether a destination gets the share of those that answer.
func (q *WorkQueue[K]) isTrusted(l *destinationQueue[K]) bool {
	return q.TrustAll || l.healthState == HealthAnswering
}

// listOf returns the list that a destination belongs in.
func (q *WorkQueue[K]) listOf(l *destinationQueue[K]) dispatchList {
	quiet := l.isQuiet(q.callTime)
	if quiet {
		q.deferWaiting(l)
	}
	q.destinationSet.countBusy(l, !q.isTrusted(l) && (l.runningCount > 0 || len(l.jobs) > 0))
	switch {
	case len(l.jobs) == 0, l.runningCount >= q.attemptLimit(l, quiet):
		return notListed
	case q.isTrusted(l):
		return inAnswering
	case l.healthState == HealthSilent:
		return inSilent
	}
	return inUnproven
}

// attemptLimit returns how many attempts a destination may have now. Destinations that do not
// answer get few. The exceptions are wanted entries, and destinations that need no server.
func (q *WorkQueue[K]) attemptLimit(l *destinationQueue[K], quiet bool) int {
	if quiet || q.isTrusted(l) || l.jobs[0].isWanted() {
		return q.LaneWorkers
	}
	return max(1, min(q.UnansweringWorkers, q.Workers/2/max(1, q.destinationSet.unansweringCount)))
}

// listDestination puts a destination into its list, if a worker may take an entry of it.
func (q *WorkQueue[K]) listDestination(l *destinationQueue[K]) {
	if l.onList != notListed {
		return // dispatch removes it if it no longer belongs there
	}
	switch l.onList = q.listOf(l); l.onList {
	case inUnproven:
		q.destinationSet.unproven.pushItem(l)
	case inSilent:
		q.destinationSet.silent = append(q.destinationSet.silent, l)
	case inAnswering:
		q.destinationSet.answering = append(q.destinationSet.answering, l)
	}
}

// countBusy records whether a destination is busy and does not answer.
func (s *destinationSet[K]) countBusy(l *destinationQueue[K], busy bool) {
	if busy != l.isBusy {
		if l.isBusy = busy; busy {
			s.unansweringCount++
		} else {
			s.unansweringCount--
		}
	}
}

// startAttempts starts attempts. Destinations that do not answer get their share first, then the others
// get one for each destination and turn.
func (q *WorkQueue[K]) startAttempts() {
	s := &q.destinationSet
	free := func() bool { return s.runningCount() < q.Workers }
	for free() && s.unproven.Len() > 0 && s.at[HealthUnproven] < q.mostUnproven(s.unproven.firstItem()) {
		q.serveDestination(s.unproven.popFirst())
	}
	for free() && len(s.silent) > 0 && s.at[HealthSilent] < max(1, q.Workers/8) {
		q.serveDestination(popFront(&s.silent))
	}
	for free() && len(s.answering) > 0 {
		q.serveDestination(popFront(&s.answering))
	}
	s.sweepIdle(q.callTime)
}

// mostUnproven limits the attempts at destinations that never answered. A part of them is reserved
// for new destinations.
func (q *WorkQueue[K]) mostUnproven(l *destinationQueue[K]) int {
	if q.isNew(l) {
		return max(1, q.Workers/2)
	}
	return max(1, q.Workers/3)
}

// isNew reports whether the first entry of the destination was accepted a moment ago.
func (q *WorkQueue[K]) isNew(l *destinationQueue[K]) bool {
	return q.callTime.Sub(l.firstAcceptedAt) <= q.HangAfter
}

// serveDestination starts the first entry of a destination that was taken out of its list, if it still
// belongs there, and lists it again.
func (q *WorkQueue[K]) serveDestination(l *destinationQueue[K]) {
	from := l.onList
	l.onList = notListed
	if q.listOf(l) == from {
		q.startFirst(l)
	}
	q.listDestination(l)
}

func popFront[T any](list *[]T) T {
	first := (*list)[0]
	clear((*list)[:1])
	if *list = (*list)[1:]; len(*list) == 0 {
		*list = nil
	}
	return first
}
