package actors

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"inboxd/internal/inbox"
)

// lane is one destination: the mails that wait for a worker there, and what is known of how
// it answers. The queue's mu guards it.
//
// An attempt that has not come back within HangAfter gives its worker's place away: whoever
// holds a connection open in silence costs a connection, not a worker. Their number and the
// bytes of their mails are bounded.
//
// Destinations that answer must not wait for those that don't. One that never answered yet
// gets one worker, all such together three quarters of the workers; one that did not answer
// last time gets a probe at a time, all such together a quarter. Between two probes its mail
// is put off with the last report, without a connection.
type lane struct {
	name    string
	jobs    []*queuedMail
	running int
	turning bool // is in turns
	// left is when the first mail was due that found no place here and waits in the index;
	// zero: none. Whatever comes later waits behind it.
	left time.Time

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
	putOff string // not empty: report this, without a connection

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

// add gives the lane a job. A destination that never answered goes on a stack, not to the end
// of the turns: a new one must not wait behind a thousand that may be dead.
func (l *lane) add(q *mailQueue, m *queuedMail) {
	l.jobs = append(l.jobs, m)
	if l.turning {
		return
	}
	l.turning = true
	if l.temper == unknown {
		q.fresh = append(q.fresh, l)
	} else {
		q.turns = append(q.turns, l)
	}
}

// dispatchFresh starts a job of each new destination, the newest first. What is left of the
// lane takes its turns.
func (q *mailQueue) dispatchFresh(now time.Time) {
	for len(q.fresh) > 0 && q.running < q.sys.DeliveryWorkers && q.strange < q.mostStrange() && !q.stopped {
		l := q.fresh[len(q.fresh)-1]
		q.fresh = q.fresh[:len(q.fresh)-1]
		if j, ok := l.next(q, now); ok {
			q.start(j)
		}
		if l.turning = len(l.jobs) > 0; l.turning {
			q.turns = append(q.turns, l)
		}
	}
}

// mostStrange bounds the workers at destinations that never answered.
func (q *mailQueue) mostStrange() int { return max(1, q.sys.DeliveryWorkers*3/4) }

// dispatch starts workers, one job per lane and turn, and returns when to come back at the
// latest.
func (q *mailQueue) dispatch(now time.Time) time.Duration {
	wait := queueLook
	q.dispatchFresh(now)
	for blocked := 0; blocked < len(q.turns) && q.running < q.sys.DeliveryWorkers && !q.stopped; {
		q.turn %= len(q.turns)
		l := q.turns[q.turn]
		j, ok := l.next(q, now)
		if !ok {
			blocked++
			q.turn++
			continue
		}
		blocked = 0
		q.start(j)
		if len(l.jobs) > 0 {
			q.turn++
			continue
		}
		l.turning = false
		last := len(q.turns) - 1
		q.turns[q.turn] = q.turns[last]
		q.turns[last] = nil
		q.turns = q.turns[:last]
	}
	if len(q.lanes) > 2*len(q.turns)+1024 {
		q.sweepLanes(now)
	}
	return wait
}

// start gives a job a worker. The first job of a mail makes the task they share.
func (q *mailQueue) start(next job) {
	j := &next
	j.since, j.greeted = q.sys.now(), new(atomic.Bool)
	if j.mail.task == nil {
		j.mail.task = &task{key: j.mail.mailKey, jobs: j.mail.left}
	}
	j.task = j.mail.task
	q.running++
	j.patience = time.AfterFunc(q.sys.HangAfter, func() { q.park(j) })
	q.work.Go(func() { q.finished(j, q.sys.attempt(q.ctx, j)) })
}

// next takes a job off the lane if a worker may have it now.
func (l *lane) next(q *mailQueue, now time.Time) (job, bool) {
	most := q.sys.DomainWorkers
	j := job{mail: l.jobs[0], lane: l}
	switch j.temper = l.temper; {
	case l.temper == silent && now.Before(l.deafTo):
		j.temper, j.putOff = answering, l.report
	case q.sys.OneRoad != "":
	case l.temper == silent:
		if l.running > 0 || q.deaf >= max(1, q.sys.DeliveryWorkers/4) {
			return job{}, false
		}
	case l.temper == unknown:
		if l.running > 0 || q.strange >= q.mostStrange() {
			return job{}, false
		}
	}
	if l.running >= most {
		return job{}, false
	}
	l.jobs[0] = nil
	l.jobs = l.jobs[1:]
	if len(l.jobs) == 0 {
		l.jobs = nil
	}
	q.hungry = q.hungry || l.hungry(q)
	l.running++
	q.count(j.temper, 1)
	return j, true
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
	if a.temper == unknown {
		return
	}
	l.temper, l.report = a.temper, a.report
	if a.temper == silent {
		l.deafTo = now.Add(q.sys.quiet())
	}
}

// probe lets a mail that is made due try a connection, however lately its destinations were
// silent. What an attempt that just ended still has to say of them comes before.
func (q *mailQueue) probe(key mailKey, sending *inbox.Sending) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if m := q.mails[key]; m != nil {
		m.probes = true
		return
	}
	for d := range sending.Pending() {
		q.lane(q.sys.road(d)).deafTo = time.Time{}
	}
}

// sweepLanes forgets destinations that nothing was sent to for a while.
func (q *mailQueue) sweepLanes(now time.Time) {
	for name, l := range q.lanes {
		if l.running == 0 && len(l.jobs) == 0 && l.left.IsZero() && now.Sub(l.lastUse) > laneKept {
			delete(q.lanes, name)
		}
	}
}
