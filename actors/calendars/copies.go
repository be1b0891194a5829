package calendars

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"inboxd/actors/groups"
	"inboxd/internal/base/failpoint"
	"inboxd/internal/base/fault"
	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
	"inboxd/internal/core/calendar"
	"inboxd/internal/core/inbox"
)

// CopyOptions configures Copies.
type CopyOptions struct {
	*Owners
	// Due calls inbox with the address of each inbox of a group in which a copy is due.
	Due func(g partition.Group, inbox func(address string)) error
	// Count takes a place for a copy in the account's daily quota. A copy that only guests' replies
	// make due counts in a separate quota. Count returns how to give the place back, and the
	// position that must be durable before the message. It returns Refused if the quota is used up.
	Count func(ctx context.Context, id account.ID, ofAnswers bool) (back func(), at partition.Position, err error)
	// Write composes an automatic message of an inbox.
	Write func(ctx context.Context, view *inbox.View, mail *calendar.Mail) (inbox.Submit, error)
	Me    func(view *inbox.View) calendar.Me
	Now   func() time.Time
	Log   *slog.Logger
}

const (
	// copiesAtOnce bounds the inboxes whose copies are composed concurrently.
	copiesAtOnce = 4
	// copiesAgain is the delay before a retry for an inbox whose copies could not be queued.
	copiesAgain = 15 * time.Second
	// loseGrace is how long work for a released group may continue.
	loseGrace = 5 * time.Second
)

// Copies is the supervisor of the owner's copies. The actors of inboxes notify it after each commit
// that makes a copy due. After a crash, it finds due copies by their marks when it acquires a
// group. A copy is composed from committed state, and its message and the record that it was queued
// are in one batch. So each Sequence is sent once, wherever the process crashes.
//
// Copies that only guests' replies make due are sent at most once a minute and meeting
// (calendar.Book.Due). If the account's quota for them is used up, they wait for the next day and
// then include the replies that arrived meanwhile (ADR 0111).
//
// mu guards all fields below it; nothing blocks under it.
type Copies struct {
	CopyOptions
	wake  chan struct{}
	terms groups.Work // inboxes being processed

	mu   sync.Mutex
	due  map[string]time.Time // when to process an inbox
	busy map[string]bool
	held map[string]time.Time // until when an inbox's copies of replies wait for the next day

	counts copyCounts
}

// copyCounts is for metrics: queued copies by cause, and inboxes whose copies of replies had to
// wait for the next day.
type copyCounts struct{ calls, answers, held atomic.Int64 }

// Counts returns the outcomes of copies since the start, by keyword.
func (c *Copies) Counts() map[string]int64 {
	return map[string]int64{"call": c.counts.calls.Load(), "answers": c.counts.answers.Load(), "held": c.counts.held.Load()}
}

// NewCopies returns a supervisor that does not run yet.
func NewCopies(o CopyOptions) *Copies {
	return &Copies{CopyOptions: o, wake: make(chan struct{}, 1), due: map[string]time.Time{}, busy: map[string]bool{}, held: map[string]time.Time{}}
}

// Note records that a copy is due in an inbox. Inbox actors call it after the commit; it does not
// block.
func (c *Copies) Note(address string) { c.noteAt(address, time.Time{}) }

func (c *Copies) noteAt(address string, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if was, noted := c.due[address]; !noted || at.Before(was) {
		c.due[address] = at
	}
	c.nudge()
}

func (c *Copies) nudge() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Gain schedules what is due in a group.
func (c *Copies) Gain(g partition.Group) error {
	c.terms.Gain(context.Background(), g)
	return c.CopyOptions.Due(g, c.Note)
}

// Lose ends the work for a group and drops its schedule; the marks remain on disk.
func (c *Copies) Lose(g partition.Group) error {
	c.terms.Lose(g, loseGrace)
	c.mu.Lock()
	defer c.mu.Unlock()
	for address := range c.due {
		if partition.Of(address).Group() == g {
			delete(c.due, address)
			delete(c.held, address)
		}
	}
	return nil
}

// Run works until ctx ends. Work in progress is then finished, or cancelled if it waits.
func (c *Copies) Run(ctx context.Context) {
	var workers sync.WaitGroup
	defer workers.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		for {
			address, more := c.next()
			if !more {
				break
			}
			workers.Go(func() { c.work(ctx, address) })
		}
		timer.Reset(c.pause())
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		case <-timer.C:
		}
	}
}

// next takes an inbox that is due, if a worker is free.
func (c *Copies) next() (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.Now()
	for address, at := range c.due {
		if len(c.busy) < copiesAtOnce && !c.busy[address] && !at.After(now) {
			delete(c.due, address)
			c.busy[address] = true
			return address, true
		}
	}
	return "", false
}

// pause is how long to sleep until the next inbox is due, unless a worker finishes before.
func (c *Copies) pause() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, wait := c.Now(), time.Hour
	for address, at := range c.due {
		if !c.busy[address] && len(c.busy) < copiesAtOnce {
			wait = min(wait, max(at.Sub(now), time.Millisecond))
		}
	}
	return wait
}

// work queues the copies of one inbox, if its group is held.
func (c *Copies) work(ctx context.Context, address string) {
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.busy, address)
		c.nudge()
	}()
	of := partition.Of(address).Group()
	term, held := c.terms.Begin(of)
	if !held {
		return
	}
	defer c.terms.End(of)
	ctx, end := context.WithCancel(ctx)
	defer context.AfterFunc(term, end)()
	next, err := c.tell(ctx, address)
	switch {
	case err == nil && !next.IsZero():
		c.noteAt(address, next)
	case err == nil, fault.Is(err, fault.NoInbox), fault.Is(err, fault.Moved), ctx.Err() != nil:
	default:
		c.Log.Warn("calendar owner copy could not be queued", "inbox", address, "err", err)
		c.noteAt(address, c.Now().Add(copiesAgain))
	}
}

// tell queues what is due in an inbox, one meeting at a time. It returns when to look again; zero
// means when Note is called. A meeting that changes meanwhile calls Note.
func (c *Copies) tell(ctx context.Context, address string) (next time.Time, err error) {
	for {
		view, err := c.Inboxes.View(ctx, address)
		if err != nil {
			return next, err
		}
		m, next := view.Calendar.Due(c.Now(), c.heldUntil(address))
		if m == nil && next.IsZero() { // the mark is older than the copy that it was set for
			_, err := c.Inboxes.Do(ctx, address, inbox.TellOwner{})
			return next, err
		}
		if m == nil {
			return next, nil
		}
		switch err := c.one(ctx, view, m); {
		case errors.Is(err, errUsedUp):
			c.hold(address)
		case err != nil:
			return next, err
		}
	}
}

// errUsedUp means that the account's daily quota has no place left for copies of replies.
var errUsedUp = errors.New("the daily quota of owner copies of responses is used up")

// hold makes an inbox's copies of replies wait for the next day. Their marks stay, so after a
// restart they are held again.
func (c *Copies) hold(address string) {
	until := account.NextDay(c.Now())
	c.mu.Lock()
	c.held[address] = until
	c.mu.Unlock()
	c.counts.held.Add(1)
	c.Log.Info("calendar owner copies of responses are deferred to the next day", "inbox", address, "until", until)
}

// heldUntil returns when copies of replies of an inbox may be queued again; zero for now.
func (c *Copies) heldUntil(address string) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	until := c.held[address]
	if !until.After(c.Now()) {
		delete(c.held, address)
		return time.Time{}
	}
	return until
}

// one queues the copy of a meeting, or records that the owner gets no copy of this change.
func (c *Copies) one(ctx context.Context, view *inbox.View, m *calendar.Meeting) error {
	failpoint.Here("owners-copy-due")
	order := inbox.TellOwner{Meeting: m.ID, Sequence: m.Copy.Sequence}
	set, err := c.of(ctx, view)
	if err != nil {
		return err
	}
	back := func() {}
	if set.Wants() && set.Available {
		if order.Mail, back, err = c.compose(ctx, view, m, set.Email); err != nil {
			return err
		}
	}
	told, err := c.Inboxes.Do(ctx, view.Address, order)
	failpoint.Here("owners-copy-queued")
	switch {
	case err == nil && told.ID != 0:
		c.counts.queued(m.Copy)
		c.Log.Info("queued", "inbox", view.Address, "message_id", told.ID, "meeting", m.ID, "recipients", 1, "octets", len(order.Mail.Raw))
	case err == nil, inbox.NotQueued(err):
		back()
	}
	return err
}

func (c *copyCounts) queued(copied calendar.Copy) {
	if copied.OfAnswers() {
		c.answers.Add(1)
	} else {
		c.calls.Add(1)
	}
}

// compose writes the copy of a meeting and counts it. It returns no message if the daily quota of a
// call is used up.
func (c *Copies) compose(ctx context.Context, view *inbox.View, m *calendar.Meeting, owner string) (*inbox.Submit, func(), error) {
	text := calendar.OwnersCopy(m, c.Me(view), owner, c.Now())
	mail, err := c.Write(ctx, view, &text)
	if err != nil {
		return nil, nil, err
	}
	back, at, err := c.Count(ctx, view.Account, m.Copy.OfAnswers())
	if fault.Is(err, fault.Refused) && m.Copy.OfAnswers() {
		return nil, nil, errUsedUp
	}
	if fault.Is(err, fault.Refused) {
		c.Log.Info("calendar owner copy skipped", "inbox", view.Address, "meeting", m.ID, "err", err)
		return nil, func() {}, nil
	}
	mail.After = at
	return &mail, back, err
}
