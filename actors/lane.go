package actors

import (
	"container/heap"
	"context"
	"slices"
	"sync/atomic"
	"time"

	"inboxd/internal/deep"
	"inboxd/internal/inbox"
)

// lane is one destination: the mails that wait for a worker there, and what is known of how
// it answers. The queue's mu guards it.
//
// An attempt that has not come back within HangAfter gives its worker's place away: whoever
// holds a connection open in silence costs a connection, not a worker. Their number and the
// bytes of their mails are bounded.
//
// Destinations that answer must not wait for those that don't, so these never have all of
// the workers. One that never answered yet gets one worker, all such together half of the
// workers, and a third when they have waited for longer than an attempt that does not hang;
// one that did not answer last time gets a probe at a time, all such together an eighth.
// Between two probes its mail is put off with the last report, without a connection.
type lane struct {
	name    string
	jobs    []*queuedMail
	aside   int // mails that are to be put off
	running int
	listed  roster
	// left is when the first mail was due that found no place here and waits in the index;
	// zero: none. Whatever comes later waits behind it.
	left time.Time
	// since is when the first mail was accepted of a destination that never answered.
	since time.Time

	temper  temper
	deafTo  time.Time // when the next probe may go
	report  string    // what the last one said
	lastUse time.Time
}

// temper is how a destination answered last.
type temper uint8

const (
	unknown   temper = iota
	answering        // a server spoke with us
	silent           // nobody did
)

// job is one mail's part at one lane.
type job struct {
	mail   *queuedMail
	task   *task
	lane   *lane
	temper temper
	trusts bool   // the destination answers, or may, for its mail has just come
	putOff string // not empty: report this, without a connection

	// Of one that is begun:
	rcpts, here []string // all, and those on this node
	away        Consignment

	// Of one that a worker has:
	patience *time.Timer // until it counts as hanging
	hangs    int64       // bytes it holds while it does; 0: it does not
	over     bool
	since    time.Time
	// The queue may end it while it is connecting and no server has spoken.
	connecting bool
	end        context.CancelCauseFunc
	greeted    *atomic.Bool
}

// Bounds of attempts that hang.
const (
	slowFor     = 30       // times HangAfter, before one whose server spoke counts as hanging
	giveWayFrom = 10       // times HangAfter, when others wait for its place
	mostHung    = 64 << 20 // bytes
)

// answerOf is what a job learned of its lane.
type answerOf struct {
	temper temper // unknown: nothing
	report string
}

// laneKept is how long an idle lane remembers how its destination answers.
const laneKept = time.Hour

func (q *mailQueue) lane(name string) *lane {
	l := q.lanes[name]
	if l == nil {
		l = &lane{name: name, lastUse: q.sys.now()}
		q.lanes[name] = l
	}
	return l
}

// add gives the lane a job. One that is to be tried whatever is known goes first.
func (l *lane) add(q *mailQueue, m *queuedMail) {
	if len(l.jobs) == 0 {
		l.since = time.UnixMilli(m.since)
	}
	if m.wanted() {
		l.jobs = slices.Insert(l.jobs, 0, m)
	} else {
		l.jobs = append(l.jobs, m)
	}
	q.enlist(l)
}

// held is how many mails the lane has in memory that no worker has.
func (l *lane) held() int { return len(l.jobs) + l.aside }

// isQuiet reports that the destination was silent a moment ago.
func (l *lane) isQuiet(now time.Time) bool { return l.temper == silent && now.Before(l.deafTo) }

// roster is a list that dispatch takes lanes from.
type roster uint8

const (
	unlisted roster = iota
	inFresh         // destinations that never answered
	inMute          // those that did not answer last time
	inTurns         // all others
)

// standing says in which list a lane belongs. Of destinations that did not answer one worker
// is enough, but for what an operator wants tried and for what waits for no server.
func (q *mailQueue) standing(l *lane, now time.Time) roster {
	quiet := l.isQuiet(now)
	if quiet {
		q.setAside(l)
	}
	switch {
	case len(l.jobs) == 0, l.running >= q.sys.DomainWorkers:
		return unlisted
	case l.temper == answering, q.sys.OneRoad != "":
		return inTurns
	case l.running > 0 && !quiet && !l.jobs[0].wanted():
		return unlisted // until that attempt is over
	case l.temper == silent:
		return inMute
	}
	return inFresh
}

// enlist puts a lane where dispatch finds it, if a worker may have something of it.
func (q *mailQueue) enlist(l *lane) {
	if l.listed != unlisted {
		return // if not there any more, dispatch will see
	}
	switch l.listed = q.standing(l, q.sys.now()); l.listed {
	case inFresh:
		heap.Push(&q.fresh, l)
	case inMute:
		q.mute = append(q.mute, l)
	case inTurns:
		q.turns = append(q.turns, l)
	}
}

// serve starts the first job of a lane that was taken out of its list, if it still belongs
// there, and lists it anew.
func (q *mailQueue) serve(l *lane, now time.Time) {
	from := l.listed
	l.listed = unlisted
	if q.standing(l, now) == from {
		q.start(l.next(q, now))
	}
	q.enlist(l)
}

// freshLanes are destinations that never answered. The one whose mail was accepted last comes
// first: a new one must not wait behind a thousand that may be dead.
type freshLanes []*lane

func (h freshLanes) Len() int           { return len(h) }
func (h freshLanes) Less(i, j int) bool { return h[i].since.After(h[j].since) }
func (h freshLanes) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *freshLanes) Push(x any) { *h = append(*h, x.(*lane)) }

// Pop implements heap.Interface.
func (h *freshLanes) Pop() any {
	old := *h
	l := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return l
}

func shift(list *[]*lane) *lane {
	l := (*list)[0]
	(*list)[0] = nil
	if *list = (*list)[1:]; len(*list) == 0 {
		*list = nil
	}
	return l
}

// mostStrange bounds the workers at destinations that never answered. A part of them is kept
// for those that have just come.
func (q *mailQueue) mostStrange(l *lane, now time.Time) int {
	if q.isNew(l, now) {
		return max(1, q.sys.DeliveryWorkers/2)
	}
	return max(1, q.sys.DeliveryWorkers/3)
}

// isNew reports that the lane's mail has just been accepted.
func (q *mailQueue) isNew(l *lane, now time.Time) bool { return now.Sub(l.since) <= q.sys.HangAfter }

// dispatch starts workers: at destinations that don't answer as many as may be there, and
// then at the others, one job per lane and turn.
func (q *mailQueue) dispatch(now time.Time) {
	free := func() bool { return q.running < q.sys.DeliveryWorkers && !q.stopped }
	for free() && len(q.fresh) > 0 && q.strange < q.mostStrange(q.fresh[0], now) {
		q.serve(heap.Pop(&q.fresh).(*lane), now)
	}
	for free() && len(q.mute) > 0 && q.deaf < max(1, q.sys.DeliveryWorkers/8) {
		q.serve(shift(&q.mute), now)
	}
	for free() && len(q.turns) > 0 {
		q.serve(shift(&q.turns), now)
	}
	if len(q.lanes) > 2*len(q.turns)+1024 {
		q.sweepLanes(now)
	}
}

// start gives a job a worker. The first job of a mail makes the task they share.
func (q *mailQueue) start(next job) {
	j := &next
	j.since, j.greeted = q.sys.now(), new(atomic.Bool)
	if j.mail.task == nil {
		j.mail.task = &task{key: j.mail.mailKey, jobs: int(j.mail.left), probes: j.mail.probes}
		j.mail.probes = false
	}
	j.task = j.mail.task
	q.running++
	j.patience = time.AfterFunc(q.sys.HangAfter, func() { q.park(j) })
	q.work.Go(func() {
		var err error
		deep.Do(func() { err = q.sys.begun(q.ctx, j) }) // who waits for a server may have to wait long
		if err != nil {
			q.sys.giveBack(j.task, err)
			q.finished(j, answerOf{})
			return
		}
		q.finished(j, q.sys.attempt(q.ctx, j))
	})
}

// next takes the first job off the lane.
func (l *lane) next(q *mailQueue, now time.Time) job {
	m := l.jobs[0]
	j := job{mail: m, lane: l, temper: l.temper}
	if q.sys.OneRoad != "" {
		j.temper = answering // it has all workers
	}
	j.trusts = j.temper == answering || j.temper == unknown && q.isNew(l, now)
	if l.isQuiet(now) && !m.wanted() {
		j.putOff = l.report
	}
	l.jobs[0] = nil
	if l.jobs = l.jobs[1:]; len(l.jobs) == 0 {
		l.jobs = nil
	}
	q.hungry = q.hungry || l.hungry(q)
	l.running++
	q.count(j.temper, 1)
	return j
}

func (q *mailQueue) count(t temper, n int) {
	switch t {
	case unknown:
		q.strange += n
	case silent:
		q.deaf += n
	}
}

// release gives a worker back and notes how the destination answered.
func (l *lane) release(q *mailQueue, j *job, a answerOf) {
	if l.running--; j.hangs > 0 {
		q.hanging--
		q.hung -= j.hangs
		if i := slices.Index(q.hangers, j); i >= 0 {
			q.hangers = slices.Delete(q.hangers, i, i+1)
		}
	} else {
		q.running--
		q.count(j.temper, -1)
	}
	now := q.sys.now()
	l.lastUse = now
	if a.temper != unknown {
		l.temper, l.report = a.temper, a.report
	}
	if a.temper == silent {
		l.deafTo = now.Add(q.sys.quiet())
	}
	q.enlist(l)
}

// probe lets a mail that is made due try a connection, however lately its destinations were
// silent, and whatever is known of them when its turn comes.
func (q *mailQueue) probe(key mailKey, since time.Time, sending *inbox.Sending) {
	q.mu.Lock()
	defer q.mu.Unlock()
	m := q.mails[key]
	if m == nil {
		var domains []string
		for d := range sending.Pending() {
			domains = append(domains, d)
		}
		m = &queuedMail{mailKey: key, when: sending.Due, since: since.UnixMilli(), domains: q.shared(domains), astray: true}
		q.mails[key] = m
		q.await(m)
	}
	m.probes = true
}

// sweepLanes forgets destinations that nothing was sent to for a while.
func (q *mailQueue) sweepLanes(now time.Time) {
	for name, l := range q.lanes {
		if l.running == 0 && l.held() == 0 && l.listed == unlisted && l.left.IsZero() && now.Sub(l.lastUse) > laneKept {
			delete(q.lanes, name)
		}
	}
}
