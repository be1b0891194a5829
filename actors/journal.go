package actors

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"inboxd/internal/account"
	"inboxd/internal/feed"
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
	store Store
	now   func() time.Time
	log   *slog.Logger
	hints chan []inbox.Public
	asked chan chan struct{}       // see settle
	ended chan struct{}            // closed when run is over
	ends  map[account.ID]uint64    // last number given
	looks map[account.ID]time.Time // last look for old entries
	feeds feed.Feeds               // who is told of appends
	last  time.Time                // when the last step ended
	fan   *fanOut
	done  sync.WaitGroup
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
	// brought journalBusy events the step waits journalMore for others: what follows a step,
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
	return &journal{store: store, fan: fan, now: now, log: log, hints: make(chan []inbox.Public, journalHints), asked: make(chan chan struct{}), ended: make(chan struct{}), ends: map[account.ID]uint64{}, looks: map[account.ID]time.Time{}}
}

// tell notes the events of a commit. They may not be changed afterwards.
func (j *journal) tell(events []inbox.Public) { j.hints <- events }

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
		}
		j.last = time.Now()
		if reached != nil {
			close(reached)
		}
	}
}

// gather adds events to pending, and what else is told until the delay is over, the step is
// full, or no more will come; or until somebody asks for what was told, whom it returns.
func (j *journal) gather(pending map[account.ID][]inbox.Public, events []inbox.Public) (reached chan struct{}) {
	over := time.NewTimer(j.delay(events))
	defer over.Stop()
	last := j.listened(events) // the step ends with the timer
	for n := collect(pending, events); n < journalStep; {
		select {
		case events, open := <-j.hints:
			if !open {
				return nil
			}
			n += collect(pending, events)
			if j.listened(events) {
				last = true
				over.Reset(j.delay(events))
			}
		case reached = <-j.asked:
			j.gatherTold(pending)
			return reached
		case <-over.C:
			if last || n < journalBusy {
				return nil
			}
			last = true
			over.Reset(journalMore)
		}
	}
	return nil
}

// gatherTold adds what was told and not yet gathered.
func (j *journal) gatherTold(pending map[account.ID][]inbox.Public) {
	for n := len(j.hints); n > 0; n-- {
		collect(pending, <-j.hints)
	}
}

// delay is how long a step that begins with events waits for more.
func (j *journal) delay(events []inbox.Public) time.Duration {
	if j.listened(events) {
		return journalPace - time.Since(j.last)
	}
	return journalDelay
}

// listened reports whether somebody waits for these events, which are of one account.
func (j *journal) listened(events []inbox.Public) bool {
	return len(events) > 0 && j.feeds.Listened(events[0].Account)
}

func collect(pending map[account.ID][]inbox.Public, events []inbox.Public) int {
	for _, e := range events {
		pending[e.Account] = append(pending[e.Account], e)
	}
	return len(events)
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
	j.feeds.Announce(id, end+1, events)
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
		collect(byAccount, left)
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
