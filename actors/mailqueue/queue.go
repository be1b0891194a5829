package mailqueue

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"inboxd/actors/groups"
	"inboxd/internal/base/meter"
	"inboxd/internal/base/partition"
	"inboxd/internal/core/delivery"
	"inboxd/internal/core/domain"
	"inboxd/internal/core/inbox"
	"inboxd/internal/core/scheduler"
)

// Queue is the supervisor of sent messages. Owners report each committed change of an entry. So a
// scan is needed only at the start, and when memory does not hold all entries.
//
// mu guards all fields below it. Nothing blocks under it, and no other lock is taken under it.
type Queue struct {
	Options
	ctx      context.Context // of attempts; cancelled when Stop gives up waiting
	giveUp   context.CancelFunc
	wake     chan struct{}
	stopping chan struct{}
	work     sync.WaitGroup
	counts   counts
	signing  signing
	terms    groups.Work // attempts and deferrals in progress

	mu        sync.Mutex
	line      *scheduler.Line[mailKey]
	backlog   [partition.Groups]backlog  // nil for a group that is not held
	leased    []scheduler.Entry[mailKey] // of a group that is counted but not held yet
	tasks     map[mailKey]*task          // attempts in progress
	ends      map[*scheduler.Attempt[mailKey]]context.CancelCauseFunc
	deferring bool
	stopped   bool
}

type mailKey struct {
	address string
	id      int64
}

func (k mailKey) group() partition.Group { return partition.Of(k.address).Group() }

const (
	// pageSize is how many entries of the index are read at once.
	pageSize = 2048
	// againAfter is when a message is retried whose attempt could not even begin.
	againAfter = 15 * time.Second
)

// counts is for metrics.
type counts struct {
	attempts, delivered, temporary, permanent, bounced atomic.Int64
	seconds                                            meter.Seconds // of conversations with other servers
}

// New returns a queue that does not run yet.
func New(o Options) *Queue {
	if o.Courier == nil {
		o.Courier = nowhere{}
	}
	q := &Queue{
		Options: o, wake: make(chan struct{}, 1), stopping: make(chan struct{}), signing: newSigning(),
		tasks: map[mailKey]*task{}, ends: map[*scheduler.Attempt[mailKey]]context.CancelCauseFunc{},
	}
	q.line = scheduler.New(scheduler.Options[mailKey]{
		Workers: o.Workers, LaneWorkers: o.DomainWorkers, MostHanging: o.MostHanging, HangAfter: o.HangAfter,
		Quiet: quiet(o.Schedule), Trusting: o.Smarthost != "",
		Group:  func(k mailKey) string { return k.address },
		Window: scheduler.Window{Page: pageSize},
	})
	q.ctx, q.giveUp = context.WithCancel(context.Background())
	return q
}

// quiet is how long a destination that did not respond is left alone. It is shorter than any retry
// delay, so a message's own attempts serve as probes.
func quiet(s delivery.Schedule) time.Duration {
	delays := s.Delays
	if len(delays) == 0 {
		delays = delivery.DefaultDelays
	}
	return min(slices.Min(delays)/2, 30*time.Second)
}

// Start starts processing the groups that the queue holds.
func (q *Queue) Start() { q.work.Go(q.run) }

// run drives the queue until it stops.
func (q *Queue) run() {
	if q.Released != nil {
		select {
		case <-q.stopping:
			return
		case <-q.Released:
		}
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-q.stopping:
			return
		case <-timer.C:
		case <-q.wake:
		}
		read, wait := q.step()
		if read != nil {
			q.read(*read)
			wait = 0
		}
		timer.Reset(wait)
	}
}

// Stop lets attempts in progress finish within grace and then cancels them; the next start retries
// them.
func (q *Queue) Stop(grace time.Duration) {
	q.mu.Lock()
	q.stopped = true
	q.mu.Unlock()
	close(q.stopping)
	late := time.AfterFunc(grace, q.giveUp)
	defer late.Stop()
	q.work.Wait()
	q.giveUp()
}

func (q *Queue) now() time.Time { return q.Now().UTC().Truncate(time.Millisecond) }

func (q *Queue) nudge() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Moved takes the queue changes of a commit. Owners call it after the commit and before they reply.
func (q *Queue) Moved(address string, moves []inbox.Queued) {
	q.mu.Lock()
	defer q.mu.Unlock()
	group := partition.Of(address).Group()
	held := q.terms.Holds(group)
	for _, move := range moves {
		if q.backlog[group].note(move); held && !move.Leased { // this process made the lease itself
			q.line.Moved(q.now(), q.entry(inbox.QueueEntry{At: move.To, Address: address, ID: move.ID, Since: move.Since, Domains: move.Domains}))
		}
	}
	q.nudge()
}

// entry converts an index entry for the scheduler.
func (q *Queue) entry(e inbox.QueueEntry) scheduler.Entry[mailKey] {
	return scheduler.Entry[mailKey]{Key: mailKey{e.Address, e.ID}, At: e.At, Since: e.Since, Lanes: q.lanes(e.Domains), Leased: e.Leased}
}

// lanes returns the routes to domains.
func (q *Queue) lanes(domains []string) []string {
	if q.Smarthost == "" {
		return domains
	}
	var routes []string
	for _, d := range domains {
		if r := q.route(d); !slices.Contains(routes, r) {
			routes = append(routes, r)
		}
	}
	return routes
}

// route names the route to a destination: with a smarthost, all destinations except our own share
// one.
func (q *Queue) route(host string) string {
	if q.Smarthost == "" || q.isOurs(host) {
		return host
	}
	return q.Smarthost
}

// isOurs reports whether host is the service domain or below it.
func (q *Queue) isOurs(host string) bool { return domain.Within(host, q.Domain) }

// step starts and cancels what the scheduler decides. It returns the page that the scheduler wants
// read, and how long to sleep.
func (q *Queue) step() (*scheduler.Read[mailKey], time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.stopped {
		return nil, time.Hour
	}
	now := q.now()
	ready := q.line.Step(now)
	for _, a := range ready.Start {
		q.start(a)
	}
	for _, a := range ready.BreakOff {
		if end := q.ends[a]; end != nil {
			end(errHangs)
		}
	}
	if ready.Defer && !q.deferring {
		q.deferring = true
		q.work.Go(q.deferAll)
	}
	return ready.Read, ready.Next.Sub(now)
}

// read reads a page of the index.
func (q *Queue) read(r scheduler.Read[mailKey]) {
	after := inbox.QueueEntry{At: r.From}
	if r.Behind {
		after.Address, after.ID = r.Key.address, r.Key.id
	}
	page, more, err := q.Store.MailQueue(after, r.Limit)
	if err != nil {
		q.Logger.Error("mail queue could not be read", "err", err)
	}
	entries := make([]scheduler.Entry[mailKey], 0, len(page))
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, e := range page {
		if entry := q.entry(e); q.terms.Holds(entry.Key.group()) {
			entries = append(entries, entry)
		}
	}
	if err != nil {
		q.line.NoPage(q.now())
		return
	}
	q.line.Page(q.now(), entries, more)
}

// Stats is a snapshot of the mail queue.
type Stats struct {
	scheduler.Stats               // of what is in memory
	Depth           int           `json:"depth"`     // messages that are not settled
	Oldest          time.Duration `json:"oldest_ns"` // since the first of them was accepted, to the minute
	Attempts        int64         `json:"attempts"`
	Delivered       int64         `json:"delivered"` // recipients
	Temporary       int64         `json:"temporary"`
	Permanent       int64         `json:"permanent"`
	Bounced         int64         `json:"bounced"`
	Seconds         meter.Reading `json:"seconds"` // of conversations with other servers
}

// Stats takes the snapshot.
func (q *Queue) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := Stats{
		Stats: q.line.Stats(q.now()), Attempts: q.counts.attempts.Load(), Delivered: q.counts.delivered.Load(),
		Temporary: q.counts.temporary.Load(), Permanent: q.counts.permanent.Load(), Bounced: q.counts.bounced.Load(),
		Seconds: q.counts.seconds.Read(),
	}
	for _, b := range q.backlog {
		mails, oldest := b.depth(q.now())
		s.Depth, s.Oldest = s.Depth+mails, max(s.Oldest, oldest)
	}
	return s
}

// NoteBounce counts a recipient whose copy bounced.
func (q *Queue) NoteBounce() { q.counts.bounced.Add(1) }
