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

// Options configures a Supervisor; all fields except Released are required.
type Options struct {
	Store     Store
	Poster    Poster
	Schedule  webhook.Schedule
	AccountOf func(address string) (account.ID, error) // zero: the address has no inbox
	Gone      func(address string, message int64) bool // nobody can read the message any more
	Released  <-chan struct{}                          // closed when deliveries may be attempted; nil: at once
	Now       func() time.Time
	Logger    *slog.Logger
}

// Poster sends the requests.
type Poster interface {
	// Post always returns what happened; it ends soon after ctx.
	Post(ctx context.Context, url string, headers []webhook.Header, body []byte) webhook.Answer
	// Check returns Invalid for a URL that Post would not call now. A host that does not resolve
	// passes.
	Check(ctx context.Context, url string) error
}

// Store is the storage that webhooks need.
type Store interface {
	// Webhooks reads an account's webhooks, oldest first.
	Webhooks(account.ID) ([]account.Webhook, error)
	Delivery(id account.ID, delivery int64) (*webhook.Delivery, error) // nil if it does not exist
	// Deliveries returns deliveries below before (0: all), newest first, to one webhook
	// unless hook is 0.
	Deliveries(id account.ID, hook, before int64, limit int) ([]webhook.Delivery, error)
	LastDelivery(account.ID) (int64, error)
	// CommitDeliveries returns after the fsync, as other commits do.
	CommitDeliveries(account.ID, []webhook.Change) error
	// DueDeliveries returns up to limit due entries in time order, and whether more follow. They
	// start after the entry after; if after has no account, they start at its time.
	DueDeliveries(after webhook.Due, limit int) (due []webhook.Due, more bool, err error)
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
	Subscriptions *Subscriptions
	answering     *stackpool.Pool // for hosts that respond
	wake          chan struct{}   // step must run
	leases        chan lease      // to the recorder
	results       chan result
	ctx           context.Context // of attempts
	cancel        context.CancelFunc
	calls         sync.WaitGroup
	counts        counts
	terms         groups.Work // attempts and deferrals in progress

	mu        sync.Mutex
	line      *scheduler.Line[key]
	deferring bool
}

// key identifies an entry independently of its time in the index.
type key struct {
	account account.ID
	id      int64
	webhook int64
}

func (k key) group() partition.Group { return k.account.Partition().Group() }

const (
	callLease    = 13 * time.Second // longer than an attempt
	callTimeout  = 11 * time.Second // longer than the Poster's own timeout
	storePause   = 5 * time.Second  // after a store error
	grace        = 2 * time.Second  // how long a stop lets attempts continue
	idlePosts    = 64               // goroutines kept for hosts that respond
	groupMost    = 256              // attempts that start, or are recorded, together
	slowAfter    = 500 * time.Millisecond
	atOnce       = 32    // concurrent attempts to one host
	working      = 1024  // attempts that have waited for less than slowAfter, or exceed the hanging limit
	hanging      = 512   // attempts that have waited longer
	pageSize     = 1024  // entries of one read
	entriesAll   = 65536 // in memory
	entriesShare = 1024  // of a host that does not respond
)

// rules are those of receivers. A receiver has only three attempts for each delivery, so none is
// left alone. But what exceeds the limit of a silent receiver is not attempted, and a receiver that
// lets an attempt hang is in doubt until it responds. An attempt ends by its timeout, so none is
// cancelled for others.
var rules = scheduler.Options[key]{
	Workers: working, LaneWorkers: atOnce, Doubted: atOnce, HangAfter: slowAfter, MostHanging: hanging,
	NeverGiveWay: true, DoubtHanging: true, DeferFull: true,
	Group:  func(k key) string { return string(k.account[:]) },
	Window: scheduler.Window{Page: pageSize, DueLow: 256, Share: entriesShare, Answering: 16 * entriesShare, Least: atOnce, Room: entriesAll / 2, All: entriesAll},
}

// counts is for metrics.
type counts struct {
	delivered, failed, retried, cancelled atomic.Int64
	seconds                               meter.Seconds // of attempts
}

// New returns a supervisor that does not run yet.
func New(o Options) *Supervisor {
	s := &Supervisor{
		Options: o, Subscriptions: NewSubscriptions(o.Store), answering: stackpool.NewPool(idlePosts), wake: make(chan struct{}, 1),
		leases: make(chan lease), results: make(chan result, groupMost), line: scheduler.New(rules),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Run attempts what is due until stop is closed, and then lets attempts end.
func (s *Supervisor) Run(stop <-chan struct{}) {
	var recorder sync.WaitGroup
	recorder.Go(s.record)
	timer := time.NewTimer(0)
	defer timer.Stop()
	stopped := false
	if s.Released != nil {
		select {
		case <-stop:
			stopped = true
		case <-s.Released:
		}
	}
	for !stopped {
		select {
		case <-stop:
			stopped = true
		case <-timer.C:
			timer.Reset(s.step())
		case <-s.wake:
			timer.Reset(s.step())
		}
	}
	late := time.AfterFunc(grace, s.cancel) // their leases make the next run attempt again
	defer late.Stop()
	s.calls.Wait()
	s.cancel()
	close(s.results)
	recorder.Wait()
	s.answering.End()
}

func (s *Supervisor) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// step does what the scheduler decides and returns how long to sleep.
func (s *Supervisor) step() time.Duration {
	s.mu.Lock()
	now := s.Now()
	ready := s.line.Step(now)
	startDeferring := ready.Defer && !s.deferring
	s.deferring = s.deferring || startDeferring
	s.mu.Unlock()
	if startDeferring {
		s.calls.Go(s.deferAll)
	}
	s.begin(ready.Start)
	if ready.Read != nil {
		s.read(*ready.Read)
		return 0
	}
	return ready.Next.Sub(now)
}

// read reads a page of the index.
func (s *Supervisor) read(r scheduler.Read[key]) {
	after := webhook.Due{At: r.From}
	if r.Behind {
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
	entries := make([]scheduler.Entry[key], 0, len(page))
	for i, due := range page {
		if entry := entryOf(due, hosts[i]); s.terms.Holds(entry.Key.group()) {
			entries = append(entries, entry)
		}
	}
	if err != nil {
		s.line.NoPage(s.Now())
		return
	}
	s.line.Page(s.Now(), entries, more)
}

func dueOf(k key, at time.Time) webhook.Due {
	return webhook.Due{At: at, Account: k.account, ID: k.id, Webhook: k.webhook}
}

func entryOf(due webhook.Due, host string) scheduler.Entry[key] {
	return scheduler.Entry[key]{Key: key{due.Account, due.ID, due.Webhook}, At: due.At, Since: due.At, Lanes: []string{host}}
}

// hostOf names the receiver of an entry. It is empty if that is unknown or the webhook is gone. It
// is checked again before the attempt.
func (s *Supervisor) hostOf(due webhook.Due) string {
	hook, err := s.Subscriptions.find(due.Account, due.Webhook)
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

// Notify schedules deliveries that were committed. It does not block on the store or the network.
func (s *Supervisor) Notify(made []webhook.Delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range made {
		if e := entryOf(made[i].Due(), hostOfURL(made[i].URL)); s.terms.Holds(e.Key.group()) {
			s.line.Moved(s.Now(), e)
		}
	}
	s.nudge()
}

// finished returns an attempt whose entry is now at the time at; zero if it has no entry.
func (s *Supervisor) finished(a *scheduler.Attempt[key], at time.Time, r scheduler.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line.Moved(s.Now(), entryOf(dueOf(a.Key, at), a.Lane))
	s.line.Finished(s.Now(), a, r)
	s.nudge()
	s.terms.End(a.Key.group())
}

// Gain implements groups.Holder.
func (s *Supervisor) Gain(g partition.Group) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.terms.Gain(s.ctx, g)
	s.line.Anew(s.Now())
	s.nudge()
	return nil
}

// Lose ends the attempts for a group's accounts. Their results can be committed until it returns.
// Cancelled attempts keep their leases, which make the next owner attempt again.
func (s *Supervisor) Lose(g partition.Group) error {
	s.terms.Lose(g, grace)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line.Drop(s.Now(), func(k key) bool { return k.group() == g })
	return nil
}

// Stats is a snapshot of the deliveries: those in memory, in progress, and since the start.
type Stats struct {
	scheduler.Stats
	Delivered int64         `json:"delivered"`
	Failed    int64         `json:"failed"`
	Retried   int64         `json:"retried"`
	Cancelled int64         `json:"cancelled"`
	Seconds   meter.Reading `json:"seconds"` // of attempts
}

// Stats takes the snapshot.
func (s *Supervisor) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &s.counts
	return Stats{s.line.Stats(s.Now()), c.delivered.Load(), c.failed.Load(), c.retried.Load(), c.cancelled.Load(), c.seconds.Read()}
}
