package scheduler

import (
	"slices"
	"time"
)

// Temper is the health of a destination by its last answer.
type Temper uint8

// The health states. A destination that never answered is unproven. All unproven destinations share
// half of the workers, or a third once they have waited for longer than an attempt that does not
// hang. Destinations that were silent last time share an eighth.
const (
	Unproven Temper = iota
	Answering
	Silent
)

// String returns the name of the state.
func (t Temper) String() string { return [...]string{"unproven", "answering", "silent"}[t] }

// lane is one destination: the entries that wait for a worker there, and its health. It belongs to
// its Line.
type lane[K comparable] struct {
	name     string
	jobs     []*entry[K]
	deferred int // entries that are to be deferred
	running  int
	listed   roster
	isBusy   bool // counted in lanes.doubted
	// left is when the first entry was due that did not fit here and waits in the index; zero:
	// none. Later entries wait behind it.
	left time.Time
	// since is when the first of jobs was accepted.
	since time.Time

	temper  Temper
	quietTo time.Time // when a silent destination may be tried again
	report  string    // from its last attempt
	lastUse time.Time
}

// held is how many entries the lane has in memory without an attempt.
func (l *lane[K]) held() int { return len(l.jobs) + l.deferred }

// isQuiet reports whether the destination was silent a moment ago.
func (l *lane[K]) isQuiet(now time.Time) bool { return l.temper == Silent && now.Before(l.quietTo) }

// roster is a list that dispatch takes lanes from.
type roster uint8

const (
	unlisted roster = iota
	inUnproven
	inAnswering
	inSilent
)

// lanes are all lanes of a Line, which owns them.
type lanes[K comparable] struct {
	byName    map[string]*lane[K]
	unproven  pile[*lane[K]] // never answered
	answering []*lane[K]
	silent    []*lane[K] // did not answer last time
	at        [3]int     // attempts that do not hang, by health when they began
	doubted   int        // lanes that do not answer and have work
	swept     time.Time
}

// laneKept is how long an idle lane remembers the health of its destination.
const laneKept = time.Hour

// newLanes orders unproven lanes by their entry's acceptance, newest first. A new one must not wait
// behind a thousand that may be dead.
func newLanes[K comparable]() lanes[K] {
	return lanes[K]{byName: map[string]*lane[K]{}, unproven: pile[*lane[K]]{before: func(a, b *lane[K]) bool { return a.since.After(b.since) }}}
}

func (s *lanes[K]) running() int { return s.at[Unproven] + s.at[Answering] + s.at[Silent] }

func (s *lanes[K]) get(name string, now time.Time) *lane[K] {
	l := s.byName[name]
	if l == nil {
		l = &lane[K]{name: name, lastUse: now}
		s.byName[name] = l
	}
	return l
}

// shared copies names, and reuses the strings that lanes hold.
func (s *lanes[K]) shared(names []string) []string {
	out := slices.Clone(names)
	for i, name := range out {
		if l := s.byName[name]; l != nil {
			out[i] = l.name
		}
	}
	return out
}

// earliestLeft returns the lane that left the earliest entry in the index, or nil.
func (s *lanes[K]) earliestLeft() (first *lane[K]) {
	for _, l := range s.byName {
		if !l.left.IsZero() && (first == nil || l.left.Before(first.left)) {
			first = l
		}
	}
	return first
}

// sweep forgets, about once a minute, destinations that nothing was sent to for laneKept.
func (s *lanes[K]) sweep(now time.Time) {
	if now.Before(s.swept.Add(laneKept / 60)) {
		return
	}
	s.swept = now
	for name, l := range s.byName {
		used := l.running > 0 || l.held() > 0 || l.listed != unlisted || !l.left.IsZero()
		if !used && now.Sub(l.lastUse) > laneKept {
			delete(s.byName, name)
		}
	}
}

// trusts reports whether a lane gets the share of those that answer.
func (q *Line[K]) trusts(l *lane[K]) bool { return q.Trusting || l.temper == Answering }

// standing returns the list that a lane belongs in.
func (q *Line[K]) standing(l *lane[K]) roster {
	quiet := l.isQuiet(q.now)
	if quiet {
		q.deferWaiting(l)
	}
	q.lanes.count(l, !q.trusts(l) && (l.running > 0 || len(l.jobs) > 0))
	switch {
	case len(l.jobs) == 0, l.running >= q.limit(l, quiet):
		return unlisted
	case q.trusts(l):
		return inAnswering
	case l.temper == Silent:
		return inSilent
	}
	return inUnproven
}

// limit returns how many attempts a lane may have now. Destinations that do not answer get few. The
// exceptions are wanted entries, and lanes that need no server.
func (q *Line[K]) limit(l *lane[K], quiet bool) int {
	if quiet || q.trusts(l) || l.jobs[0].wanted() {
		return q.LaneWorkers
	}
	return max(1, min(q.Doubted, q.Workers/2/max(1, q.lanes.doubted)))
}

// enlist puts a lane into its list, if a worker may take an entry of it.
func (q *Line[K]) enlist(l *lane[K]) {
	if l.listed != unlisted {
		return // dispatch removes it if it no longer belongs there
	}
	switch l.listed = q.standing(l); l.listed {
	case inUnproven:
		q.lanes.unproven.add(l)
	case inSilent:
		q.lanes.silent = append(q.lanes.silent, l)
	case inAnswering:
		q.lanes.answering = append(q.lanes.answering, l)
	}
}

// count records whether a lane is busy and does not answer.
func (s *lanes[K]) count(l *lane[K], busy bool) {
	if busy != l.isBusy {
		if l.isBusy = busy; busy {
			s.doubted++
		} else {
			s.doubted--
		}
	}
}

// dispatch starts attempts. Destinations that do not answer get their share first, then the others
// get one for each lane and turn.
func (q *Line[K]) dispatch() {
	s := &q.lanes
	free := func() bool { return s.running() < q.Workers }
	for free() && s.unproven.Len() > 0 && s.at[Unproven] < q.mostUnproven(s.unproven.first()) {
		q.serve(s.unproven.pop())
	}
	for free() && len(s.silent) > 0 && s.at[Silent] < max(1, q.Workers/8) {
		q.serve(shift(&s.silent))
	}
	for free() && len(s.answering) > 0 {
		q.serve(shift(&s.answering))
	}
	s.sweep(q.now)
}

// mostUnproven limits the attempts at destinations that never answered. A part of them is reserved
// for new lanes.
func (q *Line[K]) mostUnproven(l *lane[K]) int {
	if q.isNew(l) {
		return max(1, q.Workers/2)
	}
	return max(1, q.Workers/3)
}

// isNew reports whether the first entry of the lane was accepted a moment ago.
func (q *Line[K]) isNew(l *lane[K]) bool { return q.now.Sub(l.since) <= q.HangAfter }

// serve starts the first entry of a lane that was taken out of its list, if it still belongs there,
// and lists it again.
func (q *Line[K]) serve(l *lane[K]) {
	from := l.listed
	l.listed = unlisted
	if q.standing(l) == from {
		q.start(l)
	}
	q.enlist(l)
}

func shift[T any](list *[]T) T {
	first := (*list)[0]
	clear((*list)[:1])
	if *list = (*list)[1:]; len(*list) == 0 {
		*list = nil
	}
	return first
}
