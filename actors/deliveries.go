package actors

import (
	"container/heap"
	"context"
	"log/slog"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"inboxd/internal/account"
	"inboxd/internal/deep"
	"inboxd/internal/webhook"
)

// Poster makes the attempts.
type Poster interface {
	// Post always says what happened; it ends soon after ctx.
	Post(ctx context.Context, url string, headers []webhook.Header, body []byte) webhook.Answer
	// Check refuses a URL that Post would not call now: Invalid. A host that is not found
	// passes.
	Check(ctx context.Context, url string) error
}

// deliveries is the webhook supervisor. The due index is the truth: what waits is there, and
// a window of the earliest entries is in memory. Before an attempt its entry is pushed
// forward as a lease, in a synced commit that also holds what the attempt sends; the result
// goes into another. A crash between leaves the lease, and the next run tries again, with
// the same id and bytes.
type deliveries struct {
	store     Store
	poster    Poster
	subs      *subscriptions
	schedule  webhook.Schedule
	now       func() time.Time
	log       *slog.Logger
	accountOf func(address string) (account.ID, error) // the zero one: nobody's
	workers   *deep.Pool                               // make attempts at hosts that answer

	hints  chan []webhook.Due // entries that were written
	missed atomic.Bool        // hints found no room: the index is read again
	ended  chan ended
	slow   chan *receiver // has an attempt without an answer for slowAfter
	leases chan lease     // to the recorder, as is
	tried  chan result

	ctx      context.Context // of attempts
	cancel   context.CancelFunc
	attempts sync.WaitGroup
	counts   deliveryCounts

	// Of run's goroutine alone.
	window    int // deliveryWindow
	waiting   dueHeap
	known     map[dueName]struct{} // waiting, queued at a host, or being tried
	cursor    time.Time            // entries before it are known
	whole     bool                 // all entries are
	sheds     int                  // times that entries were forgotten
	receivers *receivers
	looked    time.Time                   // when counts.oldest was
	aside     map[*receiver][]webhook.Due // found no place in this step; under nil: their webhook is gone
}

const (
	deliveryLease   = 13 * time.Second // longer than an attempt
	deliveryTimeout = 11 * time.Second // longer than the Poster's own
	deliveryHints   = 1024
	deliveryWindow  = 65_536 // entries in memory
	deliveryPage    = 1024   // entries of one read
	deliveryLow     = 256    // fewer that wait, and more are read
	deliveryLook    = 30 * time.Second
	deliveryPause   = 5 * time.Second // after an error of the store
	deliveryPatient = 2 * time.Second // how long a stop lets attempts go on
	slowAfter       = 500 * time.Millisecond
	idlePosts       = 64  // goroutines kept for hosts that answer
	deliveryGroup   = 256 // attempts that begin, or are recorded, together
)

// deliveryCounts are counters for metrics.
type deliveryCounts struct {
	delivered, failed, retried, cancelled atomic.Int64
	waiting, active                       atomic.Int64
	oldest                                atomic.Int64 // Unix ms when the earliest entry in memory is due; 0: none
}

// dueName names an entry wherever the index has it.
type dueName struct {
	account account.ID
	id      int64
}

func nameOf(d webhook.Due) dueName { return dueName{d.Account, d.ID} }

// ended is the news of an entry that was taken out of the index's order.
type ended struct {
	due      webhook.Due // At: where the index has it now; zero: nowhere
	host     *receiver   // nil: it held no place
	tried    bool
	answered bool
}

// result is an entry's change on its way to the disk.
type result struct {
	change webhook.Change
	ended  ended
}

func newDeliveries(o Options, subs *subscriptions) *deliveries {
	d := &deliveries{
		store: o.Store, poster: o.Poster, subs: subs, schedule: o.WebhookSchedule, now: o.Now, log: o.Logger,
		accountOf: o.Store.AccountOf, workers: deep.NewPool(idlePosts),
		hints: make(chan []webhook.Due, deliveryHints), ended: make(chan ended, deliveryGroup), slow: make(chan *receiver, deliveryGroup), leases: make(chan lease), tried: make(chan result, deliveryGroup),
		window: deliveryWindow, known: map[dueName]struct{}{}, receivers: newReceivers(), aside: map[*receiver][]webhook.Due{},
	}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	return d
}

// hint tells of entries that were committed. It never waits.
func (d *deliveries) hint(due []webhook.Due) {
	if len(due) == 0 {
		return
	}
	select {
	case d.hints <- due:
	default:
		d.missed.Store(true)
	}
}

// run tries what is due until stop is closed, and then lets attempts end.
func (d *deliveries) run(stop <-chan struct{}) {
	var recorder sync.WaitGroup
	recorder.Go(d.record)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for stopped := false; !stopped; {
		select {
		case <-stop:
			stopped = true
		case due := <-d.hints:
			d.note(due)
			timer.Reset(d.step())
		case e := <-d.ended:
			d.leave(e)
			for more := true; more; {
				select {
				case e := <-d.ended:
					d.leave(e)
				default:
					more = false
				}
			}
			timer.Reset(d.step())
		case h := <-d.slow:
			d.receivers.doubt(h)
			timer.Reset(d.step())
		case <-timer.C:
			timer.Reset(d.step())
		}
	}
	d.settle()
	close(d.tried)
	recorder.Wait()
	d.workers.End()
}

// settle lets attempts go on for a moment and then interrupts them: their leases make the
// next run try again.
func (d *deliveries) settle() {
	quiet := make(chan struct{})
	go func() {
		d.attempts.Wait()
		close(quiet)
	}()
	patience := time.AfterFunc(deliveryPatient, d.cancel)
	defer patience.Stop()
	defer d.cancel()
	for {
		select {
		case <-quiet:
			return
		case <-d.ended: // nobody looks at the window any more
		}
	}
}

// step reads what is missing from the window, queues what is due at its host, begins what
// may begin, and returns how long nothing more is to be done.
func (d *deliveries) step() time.Duration {
	if d.missed.Swap(false) {
		if len(d.known)+deliveryPage > d.window {
			d.shed() // what was missed may be due before all that waits
		}
		d.cursor, d.whole = time.Time{}, false
	}
	now := d.now()
	for more := true; more; {
		for d.refill(now) {
		}
		more = false
		for len(d.waiting) > 0 && !d.waiting[0].when.After(now) {
			d.queue(heap.Pop(&d.waiting).(waiting).due, now)
			more = true
		}
	}
	d.putAside(now)
	d.begin(now)
	d.counts.waiting.Store(int64(len(d.known)))
	if now.Sub(d.looked) >= time.Second || now.Before(d.looked) {
		d.looked = now
		d.counts.oldest.Store(d.oldest())
	}
	if len(d.waiting) == 0 {
		return deliveryLook
	}
	return max(0, min(deliveryLook, d.waiting[0].when.Sub(now)))
}

// leave takes the news of an entry: it is gone, or waits again.
func (d *deliveries) leave(e ended) {
	if e.host != nil {
		d.counts.active.Add(-1)
		d.receivers.left(e.host, e.tried, e.answered)
	}
	delete(d.known, nameOf(e.due))
	if !e.due.At.IsZero() {
		d.note([]webhook.Due{e.due})
	}
}

// queue takes a due entry to its host's queue, or aside when that is full.
func (d *deliveries) queue(due webhook.Due, now time.Time) {
	hook, err := d.subs.find(due.Account, due.Webhook)
	if err != nil {
		d.log.Error("a webhook could not be read", "account", due.Account, "err", err)
		heap.Push(&d.waiting, waiting{now.Add(deliveryPause), due})
		return
	}
	if hook == nil {
		d.aside[nil] = append(d.aside[nil], due)
		return
	}
	if host, ok := d.receivers.join(hostOfURL(hook.URL), due); !ok {
		d.aside[host] = append(d.aside[host], due)
	}
}

func hostOfURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return raw
	}
	return u.Scheme + "://" + u.Host
}
