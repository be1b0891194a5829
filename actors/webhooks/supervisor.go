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

// Options configures a Supervisor; all are needed.
type Options struct {
	Store     Store
	Poster    Poster
	Schedule  webhook.Schedule
	AccountOf func(address string) (account.ID, error) // the zero one: nobody's
	Gone      func(address string, message int64) bool // nobody can read the message any more
	Released  <-chan struct{}                          // closed when calls may be made; nil: at once
	Now       func() time.Time
	Logger    *slog.Logger
}

// Poster makes the calls.
type Poster interface {
	// Post always says what happened; it ends soon after ctx.
	Post(ctx context.Context, url string, headers []webhook.Header, body []byte) webhook.Answer
	// Check refuses a URL that Post would not call now: Invalid. A host that is not found
	// passes.
	Check(ctx context.Context, url string) error
}

// Store is what webhooks need of the disk.
type Store interface {
	// Webhooks reads an account's webhooks, oldest first.
	Webhooks(account.ID) ([]account.Webhook, error)
	Delivery(id account.ID, delivery int64) (*webhook.Delivery, error) // nil: none
	// Deliveries returns deliveries below before (0: all), newest first, to one webhook
	// unless hook is 0.
	Deliveries(id account.ID, hook, before int64, limit int) ([]webhook.Delivery, error)
	LastDelivery(account.ID) (int64, error)
	// CommitDeliveries is synced, as other commits are.
	CommitDeliveries(account.ID, []webhook.Change) error
	// DueDeliveries returns up to limit due entries in time order, and whether more follow.
	// They begin behind after; an after without account begins at its time.
	DueDeliveries(after webhook.Due, limit int) (due []webhook.Due, more bool, err error)
	// TrimDeliveries removes up to limit deliveries with ids above after that wait for
	// nothing, beyond the newest keep or from before a time. It does not wait for the disk.
	TrimDeliveries(id account.ID, after int64, before time.Time, keep, limit int) (removed int, err error)
}

// Supervisor makes the calls. The due index is the truth: what waits is there. Before a call
// its entry is pushed forward as a lease, in a synced commit that also holds what the call
// sends; the result goes into another. A crash between leaves the lease, and the next run
// calls again, with the same id and bytes.
//
// mu guards all fields below it; nothing blocks under it, and no other lock is taken there.
type Supervisor struct {
	Options
	Subscriptions *Subscriptions
	answering     *stackpool.Pool // call hosts that answer
	wake          chan struct{}   // Step is to be called
	leases        chan lease      // to the recorder, as is
	results       chan result
	ctx           context.Context // of calls
	cancel        context.CancelFunc
	calls         sync.WaitGroup
	counts        counts
	terms         groups.Work // calls and deferrals under way

	mu        sync.Mutex
	line      *scheduler.Line[key]
	deferring bool
}

// key names an entry wherever the index has it.
type key struct {
	account account.ID
	id      int64
	webhook int64
}

func (k key) group() partition.Group { return k.account.Partition().Group() }

const (
	callLease    = 13 * time.Second // longer than a call
	callTimeout  = 11 * time.Second // longer than the Poster's own
	storePause   = 5 * time.Second  // after an error of the store
	grace        = 2 * time.Second  // how long a stop lets calls go on
	idlePosts    = 64               // goroutines kept for hosts that answer
	groupMost    = 256              // calls that begin, or are recorded, together
	slowAfter    = 500 * time.Millisecond
	atOnce       = 32    // calls of one host
	working      = 1024  // calls that wait for less than slowAfter, or find no place among the others
	hanging      = 512   // calls that wait for longer
	pageSize     = 1024  // entries of one read
	entriesAll   = 65536 // in memory
	entriesShare = 1024  // of a host that does not answer
)

// rules are those of receivers: none is left alone, for a receiver has three calls only, but
// what finds no place with a silent one is not called, and who lets a call hang is doubted until
// it answers. A call ends by itself, so none is broken off.
var rules = scheduler.Options[key]{
	Workers: working, LaneWorkers: atOnce, Doubted: atOnce, HangAfter: slowAfter, MostHanging: hanging,
	NeverGiveWay: true, DoubtHanging: true, DeferFull: true,
	Group:  func(k key) string { return string(k.account[:]) },
	Window: scheduler.Window{Page: pageSize, DueLow: 256, Share: entriesShare, Answering: 16 * entriesShare, Least: atOnce, Room: entriesAll / 2, All: entriesAll},
}

// counts are for metrics.
type counts struct {
	delivered, failed, retried, cancelled atomic.Int64
	seconds                               meter.Seconds // of calls
}

// New returns a supervisor that calls nobody yet.
func New(o Options) *Supervisor {
	s := &Supervisor{
		Options: o, Subscriptions: NewSubscriptions(o.Store), answering: stackpool.NewPool(idlePosts), wake: make(chan struct{}, 1),
		leases: make(chan lease), results: make(chan result, groupMost), line: scheduler.New(rules),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Run calls what is due until stop is closed, and then lets calls end.
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
	late := time.AfterFunc(grace, s.cancel) // their leases make the next run call again
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

// step does what the line wants and returns how long to sleep.
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

// hostOf names the receiver of an entry; empty when that can't be told, or nobody is called any
// more. It is looked at again before the call.
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

// Notify takes deliveries that were committed. It never waits.
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

// finished takes a call back whose entry is at a time now, zero for nowhere.
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

// Lose ends the calls for a group's accounts. Their results can be committed until it returns; the
// leases of those that are broken off make the next owner call again.
func (s *Supervisor) Lose(g partition.Group) error {
	s.terms.Lose(g, grace)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line.Drop(s.Now(), func(k key) bool { return k.group() == g })
	return nil
}

// Stats is a picture of the deliveries: those in memory, on their way, and since the start.
type Stats struct {
	scheduler.Stats
	Delivered int64         `json:"delivered"`
	Failed    int64         `json:"failed"`
	Retried   int64         `json:"retried"`
	Cancelled int64         `json:"cancelled"`
	Seconds   meter.Reading `json:"seconds"` // of calls
}

// Stats takes the picture.
func (s *Supervisor) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &s.counts
	return Stats{s.line.Stats(s.Now()), c.delivered.Load(), c.failed.Load(), c.retried.Load(), c.cancelled.Load(), c.seconds.Read()}
}
