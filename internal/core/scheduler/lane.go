package scheduler

import (
	"slices"
	"time"
)

// Temper is how a destination answered last.
type Temper uint8

// The tempers. A destination that never answered is unproven: it gets half of the workers with
// all such, and a third when they have waited for longer than an attempt that does not hang.
// One that was silent last time gets an eighth with all such.
const (
	Unproven Temper = iota
	Answering
	Silent
)

// String names a temper.
func (t Temper) String() string { return [...]string{"unproven", "answering", "silent"}[t] }

// lane is one destination: the entries that wait for a worker there, and what is known of how
// it answers. It belongs to its Line.
type lane[K comparable] struct {
	name     string
	jobs     []*entry[K]
	deferred int // entries that are to be deferred
	running  int
	listed   roster
	isBusy   bool // counted in lanes.doubted
	// left is when the first entry was due that found no place here and waits in the index;
	// zero: none. Whatever comes later waits behind it.
	left time.Time
	// since is when the first of jobs was accepted.
	since time.Time

	temper  Temper
	quietTo time.Time // when a silent one may be tried again
	report  string    // what its last attempt said
	lastUse time.Time
}

// held is how many entries the lane has in memory that no worker has.
func (l *lane[K]) held() int { return len(l.jobs) + l.deferred }

// isQuiet reports that the destination was silent a moment ago.
func (l *lane[K]) isQuiet(now time.Time) bool { return l.temper == Silent && now.Before(l.quietTo) }

// roster is a list that dispatch takes lanes from.
type roster uint8

const (
	unlisted roster = iota
	inUnproven
	inAnswering
	inSilent
)

// lanes are all lanes of a Line, which they belong to.
type lanes[K comparable] struct {
	byName    map[string]*lane[K]
	unproven  pile[*lane[K]] // never answered
	answering []*lane[K]
	silent    []*lane[K] // did not answer last time
	at        [3]int     // attempts that don't hang, by temper when they began
	doubted   int        // lanes that don't answer and have something to do
	swept     time.Time
}

// laneKept is how long an idle lane remembers how its destination answers.
const laneKept = time.Hour

// newLanes has the unproven lane first whose entry was accepted last: a new one must not wait
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

// shared copies names, as the lanes hold them where they do.
func (s *lanes[K]) shared(names []string) []string {
	out := slices.Clone(names)
	for i, name := range out {
		if l := s.byName[name]; l != nil {
			out[i] = l.name
		}
	}
	return out
}

// earliestLeft is the lane that left the earliest entry in the index, nil when none did.
func (s *lanes[K]) earliestLeft() (first *lane[K]) {
	for _, l := range s.byName {
		if !l.left.IsZero() && (first == nil || l.left.Before(first.left)) {
			first = l
		}
	}
	return first
}

// sweep forgets, once in a while, destinations that nothing was sent to lately.
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

// trusts reports that a lane gets what those that answer get.
func (q *Line[K]) trusts(l *lane[K]) bool { return q.Trusting || l.temper == Answering }

// standing says in which list a lane belongs.
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

// limit is how many attempts a lane may have now. Of destinations that don't answer few are
// enough, but for what is wanted whatever is known and for what waits for no server.
func (q *Line[K]) limit(l *lane[K], quiet bool) int {
	if quiet || q.trusts(l) || l.jobs[0].wanted() {
		return q.LaneWorkers
	}
	return max(1, min(q.Doubted, q.Workers/2/max(1, q.lanes.doubted)))
}

// enlist puts a lane where dispatch finds it, if a worker may have something of it.
func (q *Line[K]) enlist(l *lane[K]) {
	if l.listed != unlisted {
		return // if not there any more, dispatch will see
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

// count notes whether a lane is one of those that are busy and don't answer.
func (s *lanes[K]) count(l *lane[K], busy bool) {
	if busy != l.isBusy {
		if l.isBusy = busy; busy {
			s.doubted++
		} else {
			s.doubted--
		}
	}
}

// dispatch starts attempts: at destinations that don't answer as many as may be there, and
// then at the others, one for each lane and turn.
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

// mostUnproven bounds the attempts at destinations that never answered. A part of them is kept
// for those that have just come.
func (q *Line[K]) mostUnproven(l *lane[K]) int {
	if q.isNew(l) {
		return max(1, q.Workers/2)
	}
	return max(1, q.Workers/3)
}

// isNew reports that the first entry of the lane has just been accepted.
func (q *Line[K]) isNew(l *lane[K]) bool { return q.now.Sub(l.since) <= q.HangAfter }

// serve starts the first entry of a lane that was taken out of its list, if it still belongs
// there, and lists it anew.
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
