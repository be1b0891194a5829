package calendars

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"inboxd/actors/tenure"
	"inboxd/internal/account"
	"inboxd/internal/calendar"
	"inboxd/internal/failpoint"
	"inboxd/internal/fault"
	"inboxd/internal/inbox"
	"inboxd/internal/partition"
)

// CopyOptions configures Copies.
type CopyOptions struct {
	*Owners
	// Due calls inbox with each of a group's in which a copy is due.
	Due func(g partition.Group, inbox func(address string)) error
	// Count takes the place of one mail in an account's day, and returns how to give it back, and what
	// the mail rests on; Refused when the day is used up.
	Count func(ctx context.Context, id account.ID) (back func(), at partition.Position, err error)
	// Write composes a mail of an inbox that nobody wrote.
	Write func(ctx context.Context, view *inbox.View, mail *calendar.Mail) (inbox.Submit, error)
	Me    func(view *inbox.View) calendar.Me
	Now   func() time.Time
	Log   *slog.Logger
}

const (
	// copiesAtOnce bounds the inboxes whose copies are composed at a time.
	copiesAtOnce = 4
	// copiesAgain is when an inbox is looked at again whose copies could not be queued.
	copiesAgain = 15 * time.Second
	// loseGrace is how long what is under way for a group that is lost goes on.
	loseGrace = 5 * time.Second
)

// Copies is the supervisor of the owner's copies. Owners of inboxes tell it of each commit after which
// one is due; what a crash left is found by the marks of the groups that are gained. A copy is
// composed of what is committed, and its mail and the note that the owner was told go into one
// batch: so each Sequence is told once, whatever crashes between.
//
// mu guards all fields below it; nothing blocks under it.
type Copies struct {
	CopyOptions
	wake  chan struct{}
	terms tenure.Work // inboxes that are worked on

	mu   sync.Mutex
	due  map[string]time.Time // when to look at an inbox
	busy map[string]bool
}

// NewCopies returns a supervisor that does nothing yet.
func NewCopies(o CopyOptions) *Copies {
	return &Copies{CopyOptions: o, wake: make(chan struct{}, 1), due: map[string]time.Time{}, busy: map[string]bool{}}
}

// Note says that a copy is due in an inbox. Owners call it after the commit; it only takes note.
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

// Gain takes up what is due in a group.
func (c *Copies) Gain(g partition.Group) error {
	c.terms.Gain(context.Background(), g)
	return c.CopyOptions.Due(g, c.Note)
}

// Lose ends what is under way for a group, and forgets what is due in it: that is marked.
func (c *Copies) Lose(g partition.Group) error {
	c.terms.Lose(g, loseGrace)
	c.mu.Lock()
	defer c.mu.Unlock()
	for address := range c.due {
		if partition.Of(address).Group() == g {
			delete(c.due, address)
		}
	}
	return nil
}

// Run works until ctx ends. What is under way then is finished, or broken off with its waiting.
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

// next takes an inbox that it is time for, while there is a worker for it.
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

// pause is how long nothing is to be begun, unless something ends before.
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

// work tells the owner of one inbox, if its group is held.
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
	err := c.tell(ctx, address)
	switch {
	case err == nil, fault.Is(err, fault.NoInbox), fault.Is(err, fault.Moved), ctx.Err() != nil:
	default:
		c.Log.Warn("an owner's copy could not be queued", "inbox", address, "err", err)
		c.noteAt(address, c.Now().Add(copiesAgain))
	}
}

// tell queues what is due in an inbox, a meeting at a time. One that changes meanwhile is noted anew.
func (c *Copies) tell(ctx context.Context, address string) error {
	for {
		view, err := c.Inboxes.View(ctx, address)
		if err != nil {
			return err
		}
		m := view.Calendar.Due()
		if m == nil { // the mark is older than what it tells of
			_, err := c.Inboxes.Do(ctx, address, inbox.TellOwner{})
			return err
		}
		if err := c.one(ctx, view, m); err != nil {
			return err
		}
	}
}

// one queues the copy of a meeting, or says that the owner is not told of this change.
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
		c.Log.Info("queued", "inbox", view.Address, "message_id", told.ID, "meeting", m.ID, "recipients", 1, "octets", len(order.Mail.Raw))
	case err == nil, inbox.NotQueued(err):
		back()
	}
	return err
}

// compose writes the copy of a meeting and counts it; no mail when the day is used up.
func (c *Copies) compose(ctx context.Context, view *inbox.View, m *calendar.Meeting, owner string) (*inbox.Submit, func(), error) {
	text := calendar.OwnersCopy(m, c.Me(view), owner, c.Now())
	mail, err := c.Write(ctx, view, &text)
	if err != nil {
		return nil, nil, err
	}
	back, at, err := c.Count(ctx, view.Account)
	if fault.Is(err, fault.Refused) {
		c.Log.Info("an owner's copy was left out", "inbox", view.Address, "meeting", m.ID, "err", err)
		return nil, func() {}, nil
	}
	mail.After = at
	return &mail, back, err
}
