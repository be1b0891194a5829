package webhooks

import (
	"context"
	"log/slog"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"inboxd/actors/groups"
	"inboxd/internal/base/meter"
	"inboxd/internal/base/partition"
	"inboxd/internal/base/stackpool"
	"inboxd/internal/core/account"
	"inboxd/internal/core/scheduler"
	"inboxd/internal/core/webhook"
)

// Options configures a Supervisor; all fields except CallsReleased are required.
type Options struct {
	Store         Store
	Poster        CallPoster
	RetrySchedule webhook.Schedule
	AccountOf     func(address string) (account.ID, error) // zero: the address has no inbox
	IsMessageGone func(address string, message int64) bool // nobody can read the message any more
	CallsReleased <-chan struct{}                          // closed when deliveries may be attempted; nil: at once
	Now           func() time.Time
	Logger        *slog.Logger
}

// CallPoster sends the requests.
type CallPoster interface {
	// PostWebhook always returns what happened; it ends soon after ctx.
	PostWebhook(ctx context.Context, url string, headers []webhook.HeaderField, body []byte) webhook.ReceiverResponse
	// CheckURL returns Invalid for a URL that Post would not call now. A host that does not resolve
	// passes.
	CheckURL(ctx context.Context, url string) error
}

// Store is the storage that webhooks need.
type Store interface {
	// Webhooks reads an account's webhooks, oldest first.
	Webhooks(account.ID) ([]account.Webhook, error)
	FindDelivery(id account.ID, delivery int64) (*webhook.Delivery, error) // nil if it does not exist
	// ListDeliveries returns deliveries below before (0: all), newest first, to one webhook
	// unless hook is 0.
	ListDeliveries(id account.ID, hook, before int64, limit int) ([]webhook.Delivery, error)
	LastDelivery(account.ID) (int64, error)
	// CommitDeliveries returns after the fsync, as other commits do.
	CommitDeliveries(account.ID, []webhook.DeliveryChange) error
	// DueDeliveries returns up to limit due entries in time order, and whether more follow. They
	// start after the entry after; if after has no account, they start at its time.
	DueDeliveries(after webhook.DueEntry, limit int) (due []webhook.DueEntry, more bool, err error)
	// TrimDeliveries removes up to limit settled deliveries with ids above after that are beyond
	// the newest keep or made before a time. It does not wait for the fsync.
	TrimDeliveries(id account.ID, after int64, before time.Time, keep, limit int) (removed int, err error)
}

// Supervisor attempts deliveries. The due index is authoritative: every waiting delivery is in it.
// Before an attempt, the entry is moved into the future as a lease, in a synced commit; another
// commit records the result. A crash between the two leaves the lease, and the next run attempts
// again, with the same id and bytes.
//
// mu guards all fields below it. Nothing blocks under it, and no other lock is taken under it.
type Supervisor struct {
	Options
	SubscriptionCache *SubscriptionCache
	answeringPool     *stackpool.Pool   // for hosts that respond
	wakeCh            chan struct{}     // step must run
	leaseQueue        chan leaseRequest // to the recorder
	resultQueue       chan callResult
	ctx               context.Context // of attempts
	cancelCalls       context.CancelFunc
	callsDone         sync.WaitGroup
	callCounts        callCounts
	groupWork         groups.GroupWork // attempts and deferrals in progress

	mu              sync.Mutex
	callScheduler   *scheduler.WorkQueue[deliveryKey]
	deferralRunning bool
}

// deliveryKey identifies an entry independently of its time in the index.
type deliveryKey struct {
	accountID account.ID
	id        int64
	webhook   int64
}

func (k deliveryKey) groupOf() partition.Group { return k.accountID.HomePartition().Group() }

const (
	callLease    = 13 * time.Second // longer than an attempt
	callTimeout  = 11 * time.Second // longer than the Poster's own timeout
	storePause   = 5 * time.Second  // after a store error
	stopGrace    = 2 * time.Second  // how long a stop lets attempts continue
	idlePosts    = 64               // goroutines kept for hosts that respond
	groupMost    = 256              // attempts that start, or are recorded, together
	slowAfter    = 500 * time.Millisecond
	atOnce       = 32    // concurrent attempts to one host
	maxWorking   = 1024  // attempts that have waited for less than slowAfter, or exceed the hanging limit
	maxHanging   = 512   // attempts that have waited longer
	pageSize     = 1024  // entries of one read
	entriesAll   = 65536 // in memory
	entriesShare = 1024  // of a host that does not respond
)

// schedulerOptions are those of receivers. A receiver has only three attempts for each delivery, so
// none is left alone. But what exceeds the limit of a silent receiver is not attempted, and a
// receiver that lets an attempt hang is in doubt until it responds. An attempt ends by its timeout,
// so none is cancelled for others.
var schedulerOptions = scheduler.Options[deliveryKey]{
	Workers: maxWorking, LaneWorkers: atOnce, UnansweringWorkers: atOnce, HangAfter: slowAfter, MostHanging: maxHanging,
	NeverGiveWay: true, DoubtHanging: true, DeferFull: true,
	GroupOf: func(k deliveryKey) string { return string(k.accountID[:]) },
	Window:  scheduler.MemoryWindow{PageSize: pageSize, DueLow: 256, MaxUnanswering: entriesShare, MaxAnswering: 16 * entriesShare, MaxCrowded: atOnce, CrowdedAbove: entriesAll / 2, MaxEntries: entriesAll},
}

// callCounts is for metrics.
type callCounts struct {
	delivered, failed, retried, cancelled atomic.Int64
	seconds                               meter.DurationHistogram // of attempts
}

// New returns a supervisor that does not run yet.
func New(o Options) *Supervisor {
	s := &Supervisor{
		Options: o, SubscriptionCache: NewSubscriptions(o.Store), answeringPool: stackpool.NewPool(idlePosts), wakeCh: make(chan struct{}, 1),
		leaseQueue: make(chan leaseRequest), resultQueue: make(chan callResult, groupMost), callScheduler: scheduler.New(schedulerOptions),
	}
	s.ctx, s.cancelCalls = context.WithCancel(context.Background())
	return s
}

// Run attempts what is due until stop is closed, and then lets attempts end.
func (s *Supervisor) Run(stop <-chan struct{}) {
	var recorder sync.WaitGroup
	recorder.Go(s.runRecorder)
	timer := time.NewTimer(0)
	defer timer.Stop()
	stopped := false
	if s.CallsReleased != nil {
		select {
		case <-stop:
			stopped = true
		case <-s.CallsReleased:
		}
	}
	for !stopped {
		select {
		case <-stop:
			stopped = true
		case <-timer.C:
			timer.Reset(s.runStep())
		case <-s.wakeCh:
			timer.Reset(s.runStep())
		}
	}
	late := time.AfterFunc(stopGrace, s.cancelCalls) // their leases make the next run attempt again
	defer late.Stop()
	s.callsDone.Wait()
	s.cancelCalls()
	close(s.resultQueue)
	recorder.Wait()
	s.answeringPool.End()
}

func (s *Supervisor) wakeLoop() {
	select {
	case s.wakeCh <- struct{}{}:
	default:
	}
}

// runStep does what the scheduler decides and returns how long to sleep.
func (s *Supervisor) runStep() time.Duration {
	s.mu.Lock()
	now := s.Now()
	ready := s.callScheduler.Step(now)
	startDeferring := ready.HasDeferrals && !s.deferralRunning
	s.deferralRunning = s.deferralRunning || startDeferring
	s.mu.Unlock()
	if startDeferring {
		s.callsDone.Go(s.deferAll)
	}
	s.beginCalls(ready.StartAttempts)
	if ready.ReadPage != nil {
		s.readPage(*ready.ReadPage)
		return 0
	}
	return ready.NextStep.Sub(now)
}

// readPage reads a page of the index.
func (s *Supervisor) readPage(r scheduler.PageRequest[deliveryKey]) {
	after := webhook.DueEntry{At: r.From}
	if r.AfterKey {
		after = dueOf(r.Key, r.From)
	}
	page, more, err := s.Store.DueDeliveries(after, r.Limit)
	if err != nil {
		s.Logger.Error("webhook due index could not be read", "err", err)
	}
	hosts := make([]string, len(page))
	for i, due := range page {
		hosts[i] = s.hostOf(due)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	entries := make([]scheduler.Entry[deliveryKey], 0, len(page))
	for i, due := range page {
		if entry := entryOf(due, hosts[i]); s.groupWork.IsHeld(entry.Key.groupOf()) {
			entries = append(entries, entry)
		}
	}
	if err != nil {
		s.callScheduler.NoPage(s.Now())
		return
	}
	s.callScheduler.AddPage(s.Now(), entries, more)
}

func dueOf(k deliveryKey, at time.Time) webhook.DueEntry {
	return webhook.DueEntry{At: at, Account: k.accountID, ID: k.id, Webhook: k.webhook}
}

func entryOf(due webhook.DueEntry, host string) scheduler.Entry[deliveryKey] {
	return scheduler.Entry[deliveryKey]{Key: deliveryKey{due.Account, due.ID, due.Webhook}, At: due.At, AcceptedAt: due.At, DestinationNames: []string{host}}
}

// hostOf names the receiver of an entry. It is empty if that is unknown or the webhook is gone. It
// is checked again before the attempt.
func (s *Supervisor) hostOf(due webhook.DueEntry) string {
	hook, err := s.SubscriptionCache.findWebhook(due.Account, due.Webhook)
	if hook == nil || err != nil {
		return ""
	}
	return hostOfURL(hook.URL)
}

func hostOfURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	return u.Scheme + "://" + u.Host
}

// NotifyCommitted schedules deliveries that were committed. It does not block on the store or the
// network.
func (s *Supervisor) NotifyCommitted(made []webhook.Delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range made {
		if e := entryOf(made[i].DueEntry(), hostOfURL(made[i].URL)); s.groupWork.IsHeld(e.Key.groupOf()) {
			s.callScheduler.EntryMoved(s.Now(), e)
		}
	}
	s.wakeLoop()
}

// finishCall returns an attempt whose entry is now at the time at; zero if it has no entry.
func (s *Supervisor) finishCall(a *scheduler.Attempt[deliveryKey], at time.Time, r scheduler.AttemptResult) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.callScheduler.EntryMoved(s.Now(), entryOf(dueOf(a.Key, at), a.DestinationName))
	s.callScheduler.AttemptFinished(s.Now(), a, r)
	s.wakeLoop()
	s.groupWork.EndWork(a.Key.groupOf())
}

// AcquireGroup implements groups.GroupHolder.
func (s *Supervisor) AcquireGroup(g partition.Group) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.groupWork.AcquireGroup(s.ctx, g)
	s.callScheduler.RestartScan(s.Now())
	s.wakeLoop()
	return nil
}

// ReleaseGroup ends the attempts for a group's accounts. Their results can be committed until it
// returns. Cancelled attempts keep their leases, which make the next owner attempt again.
func (s *Supervisor) ReleaseGroup(g partition.Group) error {
	s.groupWork.ReleaseGroup(g, stopGrace)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.callScheduler.DropEntries(s.Now(), func(k deliveryKey) bool { return k.groupOf() == g })
	return nil
}

// DeliveryStats is a snapshot of the deliveries: those in memory, in progress, and since the start.
type DeliveryStats struct {
	scheduler.Stats
	Delivered   int64                   `json:"delivered"`
	Failed      int64                   `json:"failed"`
	Retried     int64                   `json:"retried"`
	Cancelled   int64                   `json:"cancelled"`
	CallSeconds meter.HistogramSnapshot `json:"seconds"` // of attempts
}

// DeliveryStats takes the snapshot.
func (s *Supervisor) ReadStats() DeliveryStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &s.callCounts
	return DeliveryStats{s.callScheduler.Stats(s.Now()), c.delivered.Load(), c.failed.Load(), c.retried.Load(), c.cancelled.Load(), c.seconds.TakeSnapshot()}
}
