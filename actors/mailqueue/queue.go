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
	ctx          context.Context // of attempts; cancelled when Stop gives up waiting
	giveUp       context.CancelFunc
	wakeCh       chan struct{}
	stopCh       chan struct{}
	workersDone  sync.WaitGroup
	counts       deliveryCounts
	signingTurns signingTurns
	groupWork    groups.GroupWork // attempts and deferrals in progress

	mu               sync.Mutex
	attemptScheduler *scheduler.WorkQueue[mailKey]
	backlog          [partition.NumGroups]minuteBacklog // nil for a group that is not held
	leasedEntries    []scheduler.Entry[mailKey]         // of a group that is counted but not held yet
	runningTasks     map[mailKey]*attemptTask           // attempts in progress
	cancelAttempts   map[*scheduler.Attempt[mailKey]]context.CancelCauseFunc
	deferralRunning  bool
	isStopped        bool
}

type mailKey struct {
	address string
	id      int64
}

func (k mailKey) groupOf() partition.Group { return partition.Of(k.address).Group() }

const (
	// pageSize is how many entries of the index are read at once.
	pageSize = 2048
	// againAfter is when a message is retried whose attempt could not even begin.
	againAfter = 15 * time.Second
)

// deliveryCounts is for metrics.
type deliveryCounts struct {
	attempts, delivered, temporaryFailures, permanentFailures, bounced atomic.Int64
	conversationSeconds                                                meter.DurationHistogram // of conversations with other servers
}

// New returns a queue that does not run yet.
func New(o Options) *Queue {
	if o.Courier == nil {
		o.Courier = noDelivery{}
	}
	q := &Queue{
		Options: o, wakeCh: make(chan struct{}, 1), stopCh: make(chan struct{}), signingTurns: newSigning(),
		runningTasks: map[mailKey]*attemptTask{}, cancelAttempts: map[*scheduler.Attempt[mailKey]]context.CancelCauseFunc{},
	}
	q.attemptScheduler = scheduler.New(scheduler.Options[mailKey]{
		Workers: o.MaxWorkers, LaneWorkers: o.DomainWorkers, MostHanging: o.MostHanging, HangAfter: o.HangAfter,
		QuietPeriod: silenceAfter(o.RetrySchedule), TrustAll: o.Smarthost != "",
		GroupOf: func(k mailKey) string { return k.address },
		Window:  scheduler.MemoryWindow{PageSize: pageSize},
	})
	q.ctx, q.giveUp = context.WithCancel(context.Background())
	return q
}

// silenceAfter is how long a destination that did not respond is left alone. It is shorter than any
// retry delay, so a message's own attempts serve as probes.
func silenceAfter(s delivery.RetrySchedule) time.Duration {
	delays := s.RetryDelays
	if len(delays) == 0 {
		delays = delivery.DefaultDelays
	}
	return min(slices.Min(delays)/2, 30*time.Second)
}

// Start starts processing the groups that the queue holds.
func (q *Queue) Start() { q.workersDone.Go(q.runLoop) }

// runLoop drives the queue until it stops.
func (q *Queue) runLoop() {
	if q.SendingReleased != nil {
		select {
		case <-q.stopCh:
			return
		case <-q.SendingReleased:
		}
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-q.stopCh:
			return
		case <-timer.C:
		case <-q.wakeCh:
		}
		read, wait := q.runStep()
		if read != nil {
			q.readPage(*read)
			wait = 0
		}
		timer.Reset(wait)
	}
}

// Stop lets attempts in progress finish within grace and then cancels them; the next start retries
// them.
func (q *Queue) Stop(grace time.Duration) {
	q.mu.Lock()
	q.isStopped = true
	q.mu.Unlock()
	close(q.stopCh)
	late := time.AfterFunc(grace, q.giveUp)
	defer late.Stop()
	q.workersDone.Wait()
	q.giveUp()
}

func (q *Queue) now() time.Time { return q.Now().UTC().Truncate(time.Millisecond) }

func (q *Queue) wakeLoop() {
	select {
	case q.wakeCh <- struct{}{}:
	default:
	}
}

// ApplyMoves takes the queue changes of a commit. Owners call it after the commit and before they
// reply.
func (q *Queue) ApplyMoves(address string, moves []inbox.QueueMove) {
	q.mu.Lock()
	defer q.mu.Unlock()
	group := partition.Of(address).Group()
	held := q.groupWork.IsHeld(group)
	for _, move := range moves {
		if q.backlog[group].noteMove(move); held && !move.AttemptLeased { // this process made the lease itself
			q.attemptScheduler.EntryMoved(q.now(), q.schedulerEntry(inbox.QueueEntry{At: move.To, Address: address, ID: move.ID, AcceptedAt: move.AcceptedAt, WaitingDomains: move.WaitingDomains}))
		}
	}
	q.wakeLoop()
}

// schedulerEntry converts an index entry for the scheduler.
func (q *Queue) schedulerEntry(e inbox.QueueEntry) scheduler.Entry[mailKey] {
	return scheduler.Entry[mailKey]{Key: mailKey{e.Address, e.ID}, At: e.At, AcceptedAt: e.AcceptedAt, DestinationNames: q.destinationNames(e.WaitingDomains), WasLeased: e.AttemptLeased}
}

// destinationNames returns the routes to domains.
func (q *Queue) destinationNames(domains []string) []string {
	if q.Smarthost == "" {
		return domains
	}
	var routes []string
	for _, d := range domains {
		if r := q.routeFor(d); !slices.Contains(routes, r) {
			routes = append(routes, r)
		}
	}
	return routes
}

// routeFor names the route to a destination: with a smarthost, all destinations except our own share
// one.
func (q *Queue) routeFor(host string) string {
	if q.Smarthost == "" || q.isServiceHost(host) {
		return host
	}
	return q.Smarthost
}

// isServiceHost reports whether host is the service domain or below it.
func (q *Queue) isServiceHost(host string) bool { return domain.IsWithin(host, q.ServiceDomain) }

// runStep starts and cancels what the scheduler decides. It returns the page that the scheduler wants
// read, and how long to sleep.
func (q *Queue) runStep() (*scheduler.PageRequest[mailKey], time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.isStopped {
		return nil, time.Hour
	}
	now := q.now()
	ready := q.attemptScheduler.Step(now)
	for _, a := range ready.StartAttempts {
		q.startAttempt(a)
	}
	for _, a := range ready.BreakOff {
		if end := q.cancelAttempts[a]; end != nil {
			end(errHangs)
		}
	}
	if ready.HasDeferrals && !q.deferralRunning {
		q.deferralRunning = true
		q.workersDone.Go(q.deferAll)
	}
	return ready.ReadPage, ready.NextStep.Sub(now)
}

// readPage reads a page of the index.
func (q *Queue) readPage(r scheduler.PageRequest[mailKey]) {
	after := inbox.QueueEntry{At: r.From}
	if r.AfterKey {
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
		if entry := q.schedulerEntry(e); q.groupWork.IsHeld(entry.Key.groupOf()) {
			entries = append(entries, entry)
		}
	}
	if err != nil {
		q.attemptScheduler.NoPage(q.now())
		return
	}
	q.attemptScheduler.AddPage(q.now(), entries, more)
}

// QueueStats is a snapshot of the mail queue.
type QueueStats struct {
	scheduler.Stats                             // of what is in memory
	QueueDepth          int                     `json:"depth"`     // messages that are not settled
	OldestAge           time.Duration           `json:"oldest_ns"` // since the first of them was accepted, to the minute
	Attempts            int64                   `json:"attempts"`
	Delivered           int64                   `json:"delivered"` // recipients
	TemporaryFailures   int64                   `json:"temporary"`
	PermanentFailures   int64                   `json:"permanent"`
	Bounced             int64                   `json:"bounced"`
	ConversationSeconds meter.HistogramSnapshot `json:"seconds"` // of conversations with other servers
}

// QueueStats takes the snapshot.
func (q *Queue) ReadStats() QueueStats {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := QueueStats{
		Stats: q.attemptScheduler.Stats(q.now()), Attempts: q.counts.attempts.Load(), Delivered: q.counts.delivered.Load(),
		TemporaryFailures: q.counts.temporaryFailures.Load(), PermanentFailures: q.counts.permanentFailures.Load(), Bounced: q.counts.bounced.Load(),
		ConversationSeconds: q.counts.conversationSeconds.TakeSnapshot(),
	}
	for _, b := range q.backlog {
		messages, oldest := b.countWaiting(q.now())
		s.QueueDepth, s.OldestAge = s.QueueDepth+messages, max(s.OldestAge, oldest)
	}
	return s
}

// NoteBounce counts a recipient whose copy bounced.
func (q *Queue) NoteBounce() { q.counts.bounced.Add(1) }
