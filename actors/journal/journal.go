// Package journal moves public events from the inboxes' outboxes to their accounts' change
// journals, and lets readers follow these. It does not know what an event means or who reads it.
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

// Journal moves public events from the inboxes' outboxes to their accounts' change journals, with
// dense numbers and many at a time. One goroutine owns every account's last number, so a reader
// never skips an entry and never sees two in a different order.
//
// Each step is an append and then the removal of the outbox rows. Neither has an fsync of its own:
// the store's write-ahead log keeps their order. So after a crash the outbox row or its entry
// exists, or both. The append records the last event of each inbox, by which an event that arrives
// again is deduplicated.
type Journal struct {
	store   Store
	now     func() time.Time
	log     *slog.Logger
	hints   chan []inbox.Public
	urged   chan struct{}      // a step must not wait for its whole delay
	asked   chan chan struct{} // see settle
	orders  chan func()        // for run's goroutine
	ended   chan struct{}      // closed when run returns
	readers changefeed.Readers // notified of appends; safe for concurrent use
	turns   chan struct{}      // holds one for each page being read, see Events
	done    sync.WaitGroup

	// Used only by run's goroutine, and by TakeOver before it:
	fan   FanOut
	ends  map[account.ID]uint64    // last number assigned
	doubt map[account.ID]bool      // a step failed: its events may be in the outbox or in the journal
	looks map[account.ID]time.Time // last search for old entries
	last  time.Time                // when the last step ended
	lists [][]inbox.Public         // empty lists of earlier steps, for reuse
}

const (
	// hintsHeld bounds the pending commits. If the channel is full, an inbox blocks after the view
	// of this commit is published, and before its next commit.
	hintsHeld = 8192
	// stepMost bounds one append.
	stepMost = 512
	// stepDelay is how long a step waits for more events. A step costs about as much as a commit,
	// and would compete with the next message for the cores. If an account has listeners, a step
	// only waits stepPace after the last one. If stepBusy commits arrived during the delay, the
	// step waits stepMore for others. The work after a step, above all deliveries, then competes
	// with fewer messages.
	stepDelay = 5 * time.Millisecond
	stepMore  = 10 * time.Millisecond
	stepBusy  = 4
	stepPace  = time.Millisecond
	// Age is how long entries can be read (specification, Events).
	Age = 7 * 24 * time.Hour
	// trimAfter is how many entries an account gets between two searches for old ones. trimEvery is
	// the age of the last search from which the next entry starts one.
	trimAfter = 4096
	trimEvery = 24 * time.Hour
)

// Store is the storage that the journal needs.
type Store interface {
	Outbox(limit int) ([]inbox.Public, error)
	// OutboxBehind is Outbox for the events after one that it returned.
	OutboxBehind(after *inbox.Public, limit int) ([]inbox.Public, error)
	// OutboxOf is Outbox for events of one inbox above one number and below another.
	OutboxOf(address string, after, below uint64, limit int) ([]inbox.Public, error)
	DropOutbox([]inbox.Public) error
	JournalEnd(account.ID) (uint64, error)
	// AppendJournal writes events with dense numbers starting at from, their webhook deliveries,
	// and the number of each inbox's last event. Neither it nor DropOutbox syncs: the outbox row
	// remains until the entry's position is reached.
	AppendJournal(id account.ID, from uint64, events []inbox.Public, deliveries []webhook.Delivery) error
	// Taken returns the number of the inbox's last event in the account's journal, 0 if there is
	// none.
	Taken(id account.ID, address string) (uint64, error)
	TrimJournal(id account.ID, before time.Time) error
	// ForgetEvents deletes the content of messages that are gone from entries.
	ForgetEvents(id account.ID, numbers []uint64) error
	// JournalPage reads entries above after, up to a limit, not older than since, of one inbox
	// unless address is empty. What it or JournalEnd returned is on disk once the account's
	// SyncJournal returned.
	JournalPage(id account.ID, after uint64, address string, since time.Time, limit changefeed.Limit) (changefeed.Page, error)
	SyncJournal(account.ID) error
	// Position returns the position after everything that was written to the partition before.
	Position(partition.ID) partition.Position
	// Reached returns once no crash can keep writes made from now on and lose writes before the
	// position.
	Reached(partition.Position) error
	// Full reports that the disk has no space for messages.
	Full() bool
}

// FanOut makes the deliveries that events cause. They are in the batch that adds the events to
// their journal, so an event in the journal has all its deliveries, or none was due. Only the
// journal's goroutine calls it.
type FanOut interface {
	Out(id account.ID, events []inbox.Public, now time.Time) ([]webhook.Delivery, error)
	// Done is called when the deliveries are in the store.
	Done(account.ID, []webhook.Delivery)
	// Forget is called after an append that failed but may have been written.
	Forget(account.ID)
}

// New returns a journal that does not run yet.
func New(store Store, fan FanOut, now func() time.Time, log *slog.Logger) *Journal {
	return &Journal{
		store: store, fan: fan, now: now, log: log,
		hints: make(chan []inbox.Public, hintsHeld), urged: make(chan struct{}, 1), asked: make(chan chan struct{}), orders: make(chan func()), ended: make(chan struct{}),
		turns: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)),
		ends:  map[account.ID]uint64{}, doubt: map[account.ID]bool{}, looks: map[account.ID]time.Time{},
	}
}

// Notify adds the events of a commit. They must not be changed afterwards. While a step waits for
// more events, Notify usually does not wake it: the message in the event has not been acknowledged
// yet.
func (j *Journal) Notify(events []inbox.Public) {
	j.hints <- events
	if j.listened(events) || len(j.hints) >= stepMost {
		select {
		case j.urged <- struct{}{}:
		default:
		}
	}
}

// Waiting returns how many commits wait to be moved.
func (j *Journal) Waiting() int { return len(j.hints) }

// Start starts moving events.
func (j *Journal) Start() { j.done.Go(j.run) }

// Stop moves what was notified so far and ends.
func (j *Journal) Stop() {
	close(j.hints)
	j.done.Wait()
}

// settle returns when everything passed to Notify before the call is in the journals.
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

// gather adds events to pending, and further ones until the delay is over or a step is full. It
// also ends when settle asks for everything notified so far, and returns settle's channel.
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

// gatherWaiting adds what was notified but not gathered yet.
func (j *Journal) gatherWaiting(pending map[account.ID][]inbox.Public) {
	for n := len(j.hints); n > 0; n-- {
		j.collect(pending, <-j.hints)
	}
}

// pace is the rest of the pause after the last step.
func (j *Journal) pace() time.Duration { return stepPace - time.Since(j.last) }

// listened reports whether somebody listens for these events, which are of one account.
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

// keepLists is how many lists of a step are kept for reuse.
const keepLists = 16

// reuse recycles a list whose events are in their journal, or stay in the outbox.
func (j *Journal) reuse(list []inbox.Public) {
	if len(j.lists) < keepLists && cap(list) <= 2*stepMost {
		clear(list)
		j.lists = append(j.lists, list[:0])
	}
}

// take moves events to the account's journal after their commits notified it. It moves each once
// and in order, so no look-up is needed. If a step fails, its events stay in the outbox until a
// later event of their inbox comes, or until the next start.
func (j *Journal) take(id account.ID, events []inbox.Public) {
	for len(events) > 0 {
		step := events[:min(len(events), stepMost)]
		events = events[len(step):]
		if err := j.step(id, step); err != nil {
			if !fault.Is(err, fault.Moved) {
				j.log.Error("events could not be moved from the outbox to the change journal", "account", id, "events", len(step), "err", err)
			}
			delete(j.ends, id) // read again: the append may have been written
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

// append adds those events to the journal that it does not have yet.
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

// write appends missing events to the journal, and then removes the outbox rows of all taken
// events.
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

// drop removes the outbox rows of events that are in the account's journal. It waits for the
// batches that hold them there, so a crash may bring the rows back but never loses both.
func (j *Journal) drop(id account.ID, events []inbox.Public) error {
	if err := j.store.Reached(j.store.Position(id.Partition())); err != nil {
		return err
	}
	return j.store.DropOutbox(events)
}
