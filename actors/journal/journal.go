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

// ChangeJournal moves public events from the inboxes' outboxes to their accounts' change journals, with
// dense numbers and many at a time. One goroutine owns every account's last number, so a reader
// never skips an entry and never sees two in a different order.
//
// Each step is an append and then the removal of the outbox rows. Neither has an fsync of its own:
// the store's write-ahead log keeps their order. So after a crash the outbox row or its entry
// exists, or both. The append records the last event of each inbox, by which an event that arrives
// again is deduplicated.
type ChangeJournal struct {
	store          Store
	now            func() time.Time
	log            *slog.Logger
	commitEvents   chan []inbox.PublicEvent
	wakeEarly      chan struct{}        // a step must not wait for its whole delay
	settleRequests chan chan struct{}   // see settle
	runOrders      chan func()          // for run's goroutine
	runEnded       chan struct{}        // closed when run returns
	readers        changefeed.ReaderSet // notified of appends; safe for concurrent use
	pageTurns      chan struct{}        // holds one for each page being read, see ReadEvents
	done           sync.WaitGroup

	// Used only by run's goroutine, and by TakeOver before it:
	fanOut        FanOut
	lastNumbers   map[account.ID]uint64    // last number assigned
	inDoubt       map[account.ID]bool      // a step failed: its events may be in the outbox or in the journal
	lastTrimmedAt map[account.ID]time.Time // last search for old entries
	lastStepAt    time.Time                // when the last step ended
	freeLists     [][]inbox.PublicEvent    // empty lists of earlier steps, for reuse
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
	// EntryAge is how long entries can be read (specification, Events).
	EntryAge = 7 * 24 * time.Hour
	// trimAfter is how many entries an account gets between two searches for old ones. trimEvery is
	// the age of the last search from which the next entry starts one.
	trimAfter = 4096
	trimEvery = 24 * time.Hour
)

// Store is the storage that the journal needs.
type Store interface {
	Outbox(limit int) ([]inbox.PublicEvent, error)
	// OutboxBehind is Outbox for the events after one that it returned.
	OutboxBehind(after *inbox.PublicEvent, limit int) ([]inbox.PublicEvent, error)
	// OutboxOf is Outbox for events of one inbox above one number and below another.
	OutboxOf(address string, after, below uint64, limit int) ([]inbox.PublicEvent, error)
	DropOutbox([]inbox.PublicEvent) error
	JournalEnd(account.ID) (uint64, error)
	// AppendJournal writes events with dense numbers starting at from, their webhook deliveries,
	// and the number of each inbox's last event. Neither it nor DropOutbox syncs: the outbox row
	// remains until the entry's position is reached.
	AppendJournal(id account.ID, from uint64, events []inbox.PublicEvent, deliveries []webhook.Delivery) error
	// LastTaken returns the number of the inbox's last event in the account's journal, 0 if there is
	// none.
	LastTaken(id account.ID, address string) (uint64, error)
	TrimJournal(id account.ID, before time.Time) error
	// ForgetEvents deletes the content of messages that are gone from entries.
	ForgetEvents(id account.ID, numbers []uint64) error
	// JournalPage reads entries above after, up to a limit, not older than since, of one inbox
	// unless address is empty. What it or JournalEnd returned is on disk once the account's
	// SyncJournal returned.
	JournalPage(id account.ID, after uint64, address string, since time.Time, limit changefeed.ReadLimit) (changefeed.JournalPage, error)
	SyncJournal(account.ID) error
	// WritePosition returns the position after everything that was written to the partition before.
	WritePosition(partition.ID) partition.Position
	// WaitForPosition returns once no crash can keep writes made from now on and lose writes before the
	// position.
	WaitForPosition(partition.Position) error
	// IsFull reports that the disk has no space for messages.
	IsFull() bool
}

// FanOut makes the deliveries that events cause. They are in the batch that adds the events to
// their journal, so an event in the journal has all its deliveries, or none was due. Only the
// journal's goroutine calls it.
type FanOut interface {
	FanOutEvents(id account.ID, events []inbox.PublicEvent, now time.Time) ([]webhook.Delivery, error)
	// MarkDone is called when the deliveries are in the store.
	MarkDone(account.ID, []webhook.Delivery)
	// ForgetAccount is called after an append that failed but may have been written.
	ForgetAccount(account.ID)
}

// New returns a journal that does not run yet.
func New(store Store, fan FanOut, now func() time.Time, log *slog.Logger) *ChangeJournal {
	return &ChangeJournal{
		store: store, fanOut: fan, now: now, log: log,
		commitEvents: make(chan []inbox.PublicEvent, hintsHeld), wakeEarly: make(chan struct{}, 1), settleRequests: make(chan chan struct{}), runOrders: make(chan func()), runEnded: make(chan struct{}),
		pageTurns:   make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)),
		lastNumbers: map[account.ID]uint64{}, inDoubt: map[account.ID]bool{}, lastTrimmedAt: map[account.ID]time.Time{},
	}
}

// NotifyEvents adds the events of a commit. They must not be changed afterwards. While a step waits
// for more events, NotifyEvents usually does not wake it: the message in the event has not been
// acknowledged yet.
func (j *ChangeJournal) NotifyEvents(events []inbox.PublicEvent) {
	j.commitEvents <- events
	if j.hasListener(events) || len(j.commitEvents) >= stepMost {
		select {
		case j.wakeEarly <- struct{}{}:
		default:
		}
	}
}

// WaitingCommits returns how many commits wait to be moved.
func (j *ChangeJournal) WaitingCommits() int { return len(j.commitEvents) }

// Start starts moving events.
func (j *ChangeJournal) Start() { j.done.Go(j.runLoop) }

// Stop moves what was notified so far and ends.
func (j *ChangeJournal) Stop() {
	close(j.commitEvents)
	j.done.Wait()
}

// settlePending returns when everything passed to NotifyEvents before the call is in the journals.
func (j *ChangeJournal) settlePending(ctx context.Context) error {
	reached := make(chan struct{})
	select {
	case j.settleRequests <- reached:
	case <-j.runEnded:
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

func (j *ChangeJournal) runLoop() {
	defer close(j.runEnded)
	pending := map[account.ID][]inbox.PublicEvent{}
	for {
		var reached chan struct{}
		select {
		case events, open := <-j.commitEvents:
			if !open {
				return
			}
			reached = j.gatherEvents(pending, events)
		case reached = <-j.settleRequests:
			j.gatherWaiting(pending)
		case order := <-j.runOrders:
			order()
			continue
		}
		for id, events := range pending {
			j.takeEvents(id, events)
			delete(pending, id)
			j.reuseList(events)
		}
		j.lastStepAt = time.Now()
		if reached != nil {
			close(reached)
		}
	}
}

// gatherEvents adds events to pending, and further ones until the delay is over or a step is full. It
// also ends when settle asks for everything notified so far, and returns settle's channel.
func (j *ChangeJournal) gatherEvents(pending map[account.ID][]inbox.PublicEvent, events []inbox.PublicEvent) (reached chan struct{}) {
	j.collectPending(pending, events)
	over := time.NewTimer(stepDelay)
	defer over.Stop()
	last := j.hasListener(events) // the step ends with the timer
	if last {
		over.Reset(j.restLeft())
	}
	for {
		select {
		case <-j.wakeEarly:
			if len(j.commitEvents) < stepMost {
				last = true
				over.Reset(j.restLeft())
				continue
			}
		case reached = <-j.settleRequests:
		case <-over.C:
			if !last && 1+len(j.commitEvents) >= stepBusy {
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
func (j *ChangeJournal) gatherWaiting(pending map[account.ID][]inbox.PublicEvent) {
	for n := len(j.commitEvents); n > 0; n-- {
		j.collectPending(pending, <-j.commitEvents)
	}
}

// restLeft is the rest of the pause after the last step.
func (j *ChangeJournal) restLeft() time.Duration { return stepPace - time.Since(j.lastStepAt) }

// hasListener reports whether somebody listens for these events, which are of one account.
func (j *ChangeJournal) hasListener(events []inbox.PublicEvent) bool {
	return len(events) > 0 && j.readers.HasReader(events[0].Account)
}

func (j *ChangeJournal) collectPending(pending map[account.ID][]inbox.PublicEvent, events []inbox.PublicEvent) {
	for i := range events {
		id := events[i].Account
		list, begun := pending[id]
		if last := len(j.freeLists) - 1; !begun && last >= 0 {
			list, j.freeLists = j.freeLists[last], j.freeLists[:last]
		}
		pending[id] = append(list, events[i])
	}
}

// keepLists is how many lists of a step are kept for reuse.
const keepLists = 16

// reuseList recycles a list whose events are in their journal, or stay in the outbox.
func (j *ChangeJournal) reuseList(list []inbox.PublicEvent) {
	if len(j.freeLists) < keepLists && cap(list) <= 2*stepMost {
		clear(list)
		j.freeLists = append(j.freeLists, list[:0])
	}
}

// takeEvents moves events to the account's journal after their commits notified it. It moves each once
// and in order, so no look-up is needed. If a step fails, its events stay in the outbox until a
// later event of their inbox comes, or until the next start.
func (j *ChangeJournal) takeEvents(id account.ID, events []inbox.PublicEvent) {
	for len(events) > 0 {
		step := events[:min(len(events), stepMost)]
		events = events[len(step):]
		if err := j.takeStep(id, step); err != nil {
			if !fault.Is(err, fault.MovedAway) {
				j.log.Error("events could not be moved from the outbox to the change journal", "account", id, "events", len(step), "err", err)
			}
			delete(j.lastNumbers, id) // read again: the append may have been written
			j.inDoubt[id] = true
			j.fanOut.ForgetAccount(id)
			return
		}
	}
}

func (j *ChangeJournal) takeStep(id account.ID, events []inbox.PublicEvent) error {
	if j.inDoubt[id] {
		return j.appendMissing(id, events)
	}
	return j.writeEntries(id, events, events)
}

// appendMissing adds those events to the journal that it does not have yet.
func (j *ChangeJournal) appendMissing(id account.ID, events []inbox.PublicEvent) error {
	missing, err := j.findMissing(id, events)
	switch {
	case err != nil:
		return err
	case len(missing) == 0:
		return j.dropOutbox(id, events)
	}
	return j.writeEntries(id, missing, events)
}

// writeEntries appends missing events to the journal, and then removes the outbox rows of all taken
// events.
func (j *ChangeJournal) writeEntries(id account.ID, missing, taken []inbox.PublicEvent) error {
	end, known := j.lastNumbers[id]
	if !known {
		var err error
		if end, err = j.store.JournalEnd(id); err != nil {
			return err
		}
	}
	also, err := j.fanOut.FanOutEvents(id, missing, j.now())
	if err != nil {
		return err
	}
	if err := j.store.AppendJournal(id, end+1, missing, also); err != nil {
		return err
	}
	j.fanOut.MarkDone(id, also)
	last := end + uint64(len(missing))
	j.lastNumbers[id] = last
	j.readers.AnnounceEvents(id, end+1, missing)
	now := j.now()
	if err := j.dropOutbox(id, taken); err != nil || last/trimAfter == end/trimAfter && now.Sub(j.lastTrimmedAt[id]) < trimEvery {
		return err
	}
	j.lastTrimmedAt[id] = now
	return j.store.TrimJournal(id, now.Add(-EntryAge))
}

// dropOutbox removes the outbox rows of events that are in the account's journal. It waits for the
// batches that hold them there, so a crash may bring the rows back but never loses both.
func (j *ChangeJournal) dropOutbox(id account.ID, events []inbox.PublicEvent) error {
	if err := j.store.WaitForPosition(j.store.WritePosition(id.HomePartition())); err != nil {
		return err
	}
	return j.store.DropOutbox(events)
}
