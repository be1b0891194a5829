package actors

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"inboxd/internal/account"
	"inboxd/internal/follow"
	"inboxd/internal/inbox"
)

// journal takes public events from the inboxes' outboxes over into their accounts' change
// journals, in dense order, many at a time. One goroutine owns every account's end number,
// so a reader never skips an entry and never sees two in another order.
//
// Each step is an append and then the removal of the outbox rows, both without a sync of
// their own: the store's log keeps their order, so after a crash either the row is still
// there, or its entry is. Only the last step can have both, and takeOver looks for it.
type journal struct {
	store   Store
	now     func() time.Time
	log     *slog.Logger
	hints   chan []inbox.Public
	urged   chan struct{}            // a step may not wait for its whole delay
	asked   chan chan struct{}       // see settle
	ended   chan struct{}            // closed when run is over
	ends    map[account.ID]uint64    // last number given
	looks   map[account.ID]time.Time // last look for old entries
	readers follow.Readers           // who is told of appends
	last    time.Time                // when the last step ended
	lists   [][]inbox.Public         // empty, of earlier steps, for reuse
	fan     *fanOut
	done    sync.WaitGroup
}

const (
	// journalHints bounds what waits: an inbox that finds it full waits with its next
	// commit, after this one's view is published.
	journalHints = 8192
	// journalStep bounds one append, and so how many entries takeOver must look at.
	journalStep = 512
	// journalDelay is how long a step waits for more events: a step costs about as much as
	// a commit, and would compete with the next mail for the cores. For an account that
	// somebody listens to a step only keeps journalPace behind the last one. Once the delay
	// brought journalBusy commits the step waits journalMore for others: what follows a step,
	// deliveries above all, then competes with fewer mails.
	journalDelay = 5 * time.Millisecond
	journalMore  = 10 * time.Millisecond
	journalBusy  = 4
	journalPace  = time.Millisecond
	// journalKept is how long entries can be read (architecture: 7 days).
	journalKept = 7 * 24 * time.Hour
	// journalTrim is how many entries an account gets between two looks for old ones, and
	// journalTrimEvery how long at most until the next entry looks.
	journalTrim      = 4096
	journalTrimEvery = 24 * time.Hour
)

func newJournal(store Store, fan *fanOut, now func() time.Time, log *slog.Logger) *journal {
	return &journal{store: store, fan: fan, now: now, log: log, hints: make(chan []inbox.Public, journalHints), urged: make(chan struct{}, 1), asked: make(chan chan struct{}), ended: make(chan struct{}), ends: map[account.ID]uint64{}, looks: map[account.ID]time.Time{}}
}

// tell notes the events of a commit. They may not be changed afterwards. While a step waits
// for more it does not wake it: the mail that they tell of has not been answered yet.
func (j *journal) tell(events []inbox.Public) {
	j.hints <- events
	if j.listened(events) || len(j.hints) >= journalStep {
		select {
		case j.urged <- struct{}{}:
		default:
		}
	}
}

func (j *journal) start() { j.done.Go(j.run) }

// stop takes what was told so far and ends.
func (j *journal) stop() {
	close(j.hints)
	j.done.Wait()
}

// settle returns when all that was told before the call is in the journals.
func (j *journal) settle(ctx context.Context) error {
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

func (j *journal) run() {
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
			j.gatherTold(pending)
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

// gather adds events to pending, and what else is told until the delay is over or there is
// enough for a step; or until somebody asks for what was told, whom it returns.
func (j *journal) gather(pending map[account.ID][]inbox.Public, events []inbox.Public) (reached chan struct{}) {
	j.collect(pending, events)
	over := time.NewTimer(journalDelay)
	defer over.Stop()
	last := j.listened(events) // the step ends with the timer
	if last {
		over.Reset(j.pace())
	}
	for {
		select {
		case <-j.urged:
			if len(j.hints) < journalStep {
				last = true
				over.Reset(j.pace())
				continue
			}
		case reached = <-j.asked:
		case <-over.C:
			if !last && 1+len(j.hints) >= journalBusy {
				last = true
				over.Reset(journalMore)
				continue
			}
		}
		j.gatherTold(pending)
		return reached
	}
}

// gatherTold adds what was told and not yet gathered.
func (j *journal) gatherTold(pending map[account.ID][]inbox.Public) {
	for n := len(j.hints); n > 0; n-- {
		j.collect(pending, <-j.hints)
	}
}

// pace is what is left of the rest after the last step.
func (j *journal) pace() time.Duration { return journalPace - time.Since(j.last) }

// listened reports whether somebody waits for these events, which are of one account.
func (j *journal) listened(events []inbox.Public) bool {
	return len(events) > 0 && j.readers.Listened(events[0].Account)
}

func (j *journal) collect(pending map[account.ID][]inbox.Public, events []inbox.Public) {
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
func (j *journal) reuse(list []inbox.Public) {
	if len(j.lists) < keepLists && cap(list) <= 2*journalStep {
		clear(list)
		j.lists = append(j.lists, list[:0])
	}
}

// take appends events to the account's journal and removes their outbox rows. What fails
// stays in the outbox and is taken over at the next start.
func (j *journal) take(id account.ID, events []inbox.Public) {
	for len(events) > 0 {
		step := events[:min(len(events), journalStep)]
		events = events[len(step):]
		if err := j.append(id, step); err != nil {
			j.log.Error("events stay in the outbox", "account", id, "events", len(step), "err", err)
			delete(j.ends, id) // read again: the append may have happened
			j.fan.forget(id)
			return
		}
	}
}

func (j *journal) append(id account.ID, events []inbox.Public) error {
	end, known := j.ends[id]
	if !known {
		var err error
		if end, err = j.store.JournalEnd(id); err != nil {
			return err
		}
	}
	told, err := j.fan.out(id, events, j.now())
	if err != nil {
		return err
	}
	if err := j.store.AppendJournal(id, end+1, events, told); err != nil {
		return err
	}
	j.fan.done(id, told)
	last := end + uint64(len(events))
	j.ends[id] = last
	j.readers.Announce(id, end+1, events)
	now := j.now()
	if err := j.store.DropOutbox(events); err != nil || last/journalTrim == end/journalTrim && now.Sub(j.looks[id]) < journalTrimEvery {
		return err
	}
	j.looks[id] = now
	return j.store.TrimJournal(id, now.Add(-journalKept))
}

// takeOver moves what an earlier run left in the outbox, leaving out what its last step
// had appended already.
func (j *journal) takeOver() error {
	for {
		left, err := j.store.Outbox(journalStep)
		if err != nil || len(left) == 0 {
			return err
		}
		byAccount := map[account.ID][]inbox.Public{}
		j.collect(byAccount, left)
		for id, events := range byAccount {
			if err := j.takeOverAccount(id, events); err != nil {
				return err
			}
		}
	}
}

func (j *journal) takeOverAccount(id account.ID, events []inbox.Public) error {
	type name struct {
		address string
		number  uint64
	}
	recent, err := j.store.RecentJournal(id, journalStep)
	if err != nil {
		return err
	}
	there := map[name]bool{}
	for _, e := range recent {
		there[name{e.Address, e.Number}] = true
	}
	var missing, twice []inbox.Public
	for _, e := range events {
		if there[name{e.Address, e.Number}] {
			twice = append(twice, e)
		} else {
			missing = append(missing, e)
		}
	}
	if err := j.store.DropOutbox(twice); err != nil || len(missing) == 0 {
		return err
	}
	return j.append(id, missing)
}
