// Package journal takes public events from the inboxes' outboxes over into their accounts'
// change journals, and lets readers follow these. It refuses to know what an event means and
// who reads it.
package journal

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
	"inboxd/internal/core/changefeed"
	"inboxd/internal/core/inbox"
	"inboxd/internal/core/webhook"
)

// Journal takes public events from the inboxes' outboxes over into their accounts' change
// journals, in dense order, many at a time. One goroutine owns every account's end number,
// so a reader never skips an entry and never sees two in another order.
//
// Each step is an append and then the removal of the outbox rows, both without a sync of
// their own: the store's log keeps their order, so after a crash either the row is still
// there, or its entry is, or both. The append notes the last event of each inbox, so that an
// event is known again wherever it comes from a second time.
type Journal struct {
	store   Store
	now     func() time.Time
	log     *slog.Logger
	hints   chan []inbox.Public
	urged   chan struct{}      // a step may not wait for its whole delay
	asked   chan chan struct{} // see settle
	orders  chan func()        // for run's goroutine
	ended   chan struct{}      // closed when run is over
	readers changefeed.Readers // who is notified of appends; guards itself
	turns   chan struct{}      // holds one for each page that is read now, see Events
	done    sync.WaitGroup

	// Of run's goroutine alone, and of TakeOver before it:
	fan   FanOut
	ends  map[account.ID]uint64    // last number given
	doubt map[account.ID]bool      // a step failed: its events are in the outbox, or were taken
	looks map[account.ID]time.Time // last look for old entries
	last  time.Time                // when the last step ended
	lists [][]inbox.Public         // empty, of earlier steps, for reuse
}

const (
	// hintsHeld bounds what waits: an inbox that finds it full waits with its next
	// commit, after this one's view is published.
	hintsHeld = 8192
	// stepMost bounds one append.
	stepMost = 512
	// stepDelay is how long a step waits for more events: a step costs about as much as
	// a commit, and would compete with the next mail for the cores. For an account that
	// somebody listens to a step only keeps stepPace behind the last one. Once the delay
	// brought stepBusy commits the step waits stepMore for others: what follows a step,
	// deliveries above all, then competes with fewer mails.
	stepDelay = 5 * time.Millisecond
	stepMore  = 10 * time.Millisecond
	stepBusy  = 4
	stepPace  = time.Millisecond
	// Age is how long entries can be read (specification, Events).
	Age = 7 * 24 * time.Hour
	// trimAfter is how many entries an account gets between two looks for old ones, and
	// trimEvery how long at most until the next entry looks.
	trimAfter = 4096
	trimEvery = 24 * time.Hour
)

// Store is what the journal needs of the disk.
type Store interface {
	Outbox(limit int) ([]inbox.Public, error)
	// OutboxBehind is Outbox for what is behind an event that it returned.
	OutboxBehind(after *inbox.Public, limit int) ([]inbox.Public, error)
	// OutboxOf is Outbox for events of one inbox above one number and below another.
	OutboxOf(address string, after, below uint64, limit int) ([]inbox.Public, error)
	DropOutbox([]inbox.Public) error
	JournalEnd(account.ID) (uint64, error)
	// AppendJournal writes events with dense numbers from on, what webhooks are told of them,
	// and which event of each inbox was the last. Neither it nor DropOutbox syncs: the outbox
	// row guards the entry until the entry's position is reached.
	AppendJournal(id account.ID, from uint64, events []inbox.Public, deliveries []webhook.Delivery) error
	// Taken returns the number of the inbox's last event in the account's journal, 0 for none.
	Taken(id account.ID, address string) (uint64, error)
	TrimJournal(id account.ID, before time.Time) error
	// ForgetEvents takes out of entries what was in messages that are gone.
	ForgetEvents(id account.ID, numbers []uint64) error
	// JournalPage reads entries above after, up to a limit, from since on, of one inbox unless
	// address is empty. Whatever it or JournalEnd showed is on disk once the account's
	// SyncJournal returned.
	JournalPage(id account.ID, after uint64, address string, since time.Time, limit changefeed.Limit) (changefeed.Page, error)
	SyncJournal(account.ID) error
	// Position is behind everything that was written to the partition before.
	Position(partition.ID) partition.Position
	// Reached returns once no crash can keep what is written after it without what is before
	// the position.
	Reached(partition.Position) error
	// Full reports that there is no room for mail.
	Full() bool
}

// FanOut makes the deliveries that events cause, for the batch that takes the events into
// their journal: an event that is in the journal has all its deliveries, or none was due.
// Only the journal's goroutine calls it.
type FanOut interface {
	Out(id account.ID, events []inbox.Public, now time.Time) ([]webhook.Delivery, error)
	// Done is called when they are in the store.
	Done(account.ID, []webhook.Delivery)
	// Forget is called after an append that failed, and may have happened.
	Forget(account.ID)
}

// New returns a journal that takes nothing yet.
func New(store Store, fan FanOut, now func() time.Time, log *slog.Logger) *Journal {
	return &Journal{
		store: store, fan: fan, now: now, log: log,
		hints: make(chan []inbox.Public, hintsHeld), urged: make(chan struct{}, 1), asked: make(chan chan struct{}), orders: make(chan func()), ended: make(chan struct{}),
		turns: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)),
		ends:  map[account.ID]uint64{}, doubt: map[account.ID]bool{}, looks: map[account.ID]time.Time{},
	}
}

// Notify notes the events of a commit. They may not be changed afterwards. While a step waits
// for more it does not wake it: the mail that they tell of has not been answered yet.
func (j *Journal) Notify(events []inbox.Public) {
	j.hints <- events
	if j.listened(events) || len(j.hints) >= stepMost {
		select {
		case j.urged <- struct{}{}:
		default:
		}
	}
}

// Waiting is how many commits wait to be taken over.
func (j *Journal) Waiting() int { return len(j.hints) }

// Start begins to take events over.
func (j *Journal) Start() { j.done.Go(j.run) }

// Stop takes what it was notified of so far and ends.
func (j *Journal) Stop() {
	close(j.hints)
	j.done.Wait()
}

// settle returns when all that Notify was called with before the call is in the journals.
func (j *Journal) settle(ctx context.Context) error {
	reached := make(chan struct{})
	select {
	case j.asked <- reached:
	case <-j.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-reached:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (j *Journal) run() {
	defer close(j.ended)
	pending := map[account.ID][]inbox.Public{}
	for {
		var reached chan struct{}
		select {
		case events, open := <-j.hints:
			if !open {
				return
			}
			reached = j.gather(pending, events)
		case reached = <-j.asked:
			j.gatherWaiting(pending)
		case order := <-j.orders:
			order()
			continue
		}
		for id, events := range pending {
			j.take(id, events)
			delete(pending, id)
			j.reuse(events)
		}
		j.last = time.Now()
		if reached != nil {
			close(reached)
		}
	}
}

// gather adds events to pending, and what else comes until the delay is over or there is
// enough for a step; or until somebody asks for what was notified, whom it returns.
func (j *Journal) gather(pending map[account.ID][]inbox.Public, events []inbox.Public) (reached chan struct{}) {
	j.collect(pending, events)
	over := time.NewTimer(stepDelay)
	defer over.Stop()
	last := j.listened(events) // the step ends with the timer
	if last {
		over.Reset(j.pace())
	}
	for {
		select {
		case <-j.urged:
			if len(j.hints) < stepMost {
				last = true
				over.Reset(j.pace())
				continue
			}
		case reached = <-j.asked:
		case <-over.C:
			if !last && 1+len(j.hints) >= stepBusy {
				last = true
				over.Reset(stepMore)
				continue
			}
		}
		j.gatherWaiting(pending)
		return reached
	}
}

// gatherWaiting adds what was notified and not yet gathered.
func (j *Journal) gatherWaiting(pending map[account.ID][]inbox.Public) {
	for n := len(j.hints); n > 0; n-- {
		j.collect(pending, <-j.hints)
	}
}

// pace is what is left of the rest after the last step.
func (j *Journal) pace() time.Duration { return stepPace - time.Since(j.last) }

// listened reports whether somebody waits for these events, which are of one account.
func (j *Journal) listened(events []inbox.Public) bool {
	return len(events) > 0 && j.readers.Listened(events[0].Account)
}

func (j *Journal) collect(pending map[account.ID][]inbox.Public, events []inbox.Public) {
	for i := range events {
		id := events[i].Account
		list, begun := pending[id]
		if last := len(j.lists) - 1; !begun && last >= 0 {
			list, j.lists = j.lists[last], j.lists[:last]
		}
		pending[id] = append(list, events[i])
	}
}

// keepLists is how many lists of a step are kept for the next ones.
const keepLists = 16

// reuse takes a list back whose events are in their journal, or stay in the outbox.
func (j *Journal) reuse(list []inbox.Public) {
	if len(j.lists) < keepLists && cap(list) <= 2*stepMost {
		clear(list)
		j.lists = append(j.lists, list[:0])
	}
}

// take brings events into the account's journal that their commits notified it of, each once and
// in its turn, so that no look tells more about them. What fails stays in the outbox until a
// later event of its inbox comes, or the next start.
func (j *Journal) take(id account.ID, events []inbox.Public) {
	for len(events) > 0 {
		step := events[:min(len(events), stepMost)]
		events = events[len(step):]
		if err := j.step(id, step); err != nil {
			if !fault.Is(err, fault.Moved) {
				j.log.Error("events could not be moved from the outbox to the change journal", "account", id, "events", len(step), "err", err)
			}
			delete(j.ends, id) // read again: the append may have happened
			j.doubt[id] = true
			j.fan.Forget(id)
			return
		}
	}
}

func (j *Journal) step(id account.ID, events []inbox.Public) error {
	if j.doubt[id] {
		return j.append(id, events)
	}
	return j.write(id, events, events)
}

// append brings those of the events that are not there yet into the journal.
func (j *Journal) append(id account.ID, events []inbox.Public) error {
	missing, err := j.missing(id, events)
	switch {
	case err != nil:
		return err
	case len(missing) == 0:
		return j.drop(id, events)
	}
	return j.write(id, missing, events)
}

// write appends missing events to the journal, and removes the outbox rows of all that are in it
// then.
func (j *Journal) write(id account.ID, missing, taken []inbox.Public) error {
	end, known := j.ends[id]
	if !known {
		var err error
		if end, err = j.store.JournalEnd(id); err != nil {
			return err
		}
	}
	also, err := j.fan.Out(id, missing, j.now())
	if err != nil {
		return err
	}
	if err := j.store.AppendJournal(id, end+1, missing, also); err != nil {
		return err
	}
	j.fan.Done(id, also)
	last := end + uint64(len(missing))
	j.ends[id] = last
	j.readers.Announce(id, end+1, missing)
	now := j.now()
	if err := j.drop(id, taken); err != nil || last/trimAfter == end/trimAfter && now.Sub(j.looks[id]) < trimEvery {
		return err
	}
	j.looks[id] = now
	return j.store.TrimJournal(id, now.Add(-Age))
}

// drop removes the outbox rows of events that are in the account's journal, behind the batches that
// hold them there: a crash may bring the rows back, and never loses both.
func (j *Journal) drop(id account.ID, events []inbox.Public) error {
	if err := j.store.Reached(j.store.Position(id.Partition())); err != nil {
		return err
	}
	return j.store.DropOutbox(events)
}
