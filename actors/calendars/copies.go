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

// CopyOptions configures CopySupervisor.
type CopyOptions struct {
	*OwnerSettings
	// EachDue calls inbox with the address of each inbox of a group in which a copy is due.
	EachDue func(g partition.Group, inbox func(address string)) error
	// CountCopy takes a place for a copy in the account's daily quota. A copy that only guests' replies
	// make due counts in a separate quota. Count returns how to give the place back, and the
	// position that must be durable before the message. It returns Refused if the quota is used up.
	CountCopy func(ctx context.Context, id account.ID, ofAnswers bool) (back func(), at partition.Position, err error)
	// ComposeMessage composes an automatic message of an inbox.
	ComposeMessage func(ctx context.Context, view *inbox.View, mail *calendar.MeetingMessage) (inbox.Submit, error)
	Me             func(view *inbox.View) calendar.Me
	Now            func() time.Time
	Log            *slog.Logger
}

const (
	// copiesAtOnce bounds the inboxes whose copies are composed concurrently.
	copiesAtOnce = 4
	// copiesAgain is the delay before a retry for an inbox whose copies could not be queued.
	copiesAgain = 15 * time.Second
	// loseGrace is how long work for a released group may continue.
	loseGrace = 5 * time.Second
)

// CopySupervisor is the supervisor of the owner's copies. The actors of inboxes notify it after
// each commit that makes a copy due. After a crash, it finds due copies by their marks when it
// acquires a group. A copy is composed from committed state, and its message and the record that it
// was queued are in one batch. So each Sequence is sent once, wherever the process crashes.
//
// Copies that only guests' replies make due are sent at most once a minute and meeting
// (calendar.Book.Due). If the account's quota for them is used up, they wait for the next day and
// then include the replies that arrived meanwhile (ADR 0111).
//
// mu guards all fields below it; nothing blocks under it.
type CopySupervisor struct {
	CopyOptions
	wakeCh    chan struct{}
	groupWork groups.GroupWork // inboxes being processed

	mu          sync.Mutex
	dueAt       map[string]time.Time // when to process an inbox
	busyInboxes map[string]bool
	held        map[string]time.Time // until when an inbox's copies of replies wait for the next day

	counts copyCounts
}

// copyCounts is for metrics: queued copies by cause, and inboxes whose copies of replies had to
// wait for the next day.
type copyCounts struct{ fromCalls, fromAnswers, heldInboxes atomic.Int64 }

// CopyOutcomes returns the outcomes of copies since the start, by keyword.
func (c *CopySupervisor) CopyOutcomes() map[string]int64 {
	return map[string]int64{"call": c.counts.fromCalls.Load(), "answers": c.counts.fromAnswers.Load(), "held": c.counts.heldInboxes.Load()}
}

// NewCopies returns a supervisor that does not run yet.
func NewCopies(o CopyOptions) *CopySupervisor {
	return &CopySupervisor{CopyOptions: o, wakeCh: make(chan struct{}, 1), dueAt: map[string]time.Time{}, busyInboxes: map[string]bool{}, held: map[string]time.Time{}}
}

// NoteDue records that a copy is due in an inbox. Inbox actors call it after the commit; it does not
// block.
func (c *CopySupervisor) NoteDue(address string) { c.noteAt(address, time.Time{}) }

func (c *CopySupervisor) noteAt(address string, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if was, noted := c.dueAt[address]; !noted || at.Before(was) {
		c.dueAt[address] = at
	}
	c.wakeLoop()
}

func (c *CopySupervisor) wakeLoop() {
	select {
	case c.wakeCh <- struct{}{}:
	default:
	}
}

// AcquireGroup schedules what is due in a group.
func (c *CopySupervisor) AcquireGroup(g partition.Group) error {
	c.groupWork.AcquireGroup(context.Background(), g)
	return c.CopyOptions.EachDue(g, c.NoteDue)
}

// ReleaseGroup ends the work for a group and drops its schedule; the marks remain on disk.
func (c *CopySupervisor) ReleaseGroup(g partition.Group) error {
	c.groupWork.ReleaseGroup(g, loseGrace)
	c.mu.Lock()
	defer c.mu.Unlock()
	for address := range c.dueAt {
		if partition.Of(address).Group() == g {
			delete(c.dueAt, address)
			delete(c.held, address)
		}
	}
	return nil
}

// Run works until ctx ends. Work in progress is then finished, or cancelled if it waits.
func (c *CopySupervisor) Run(ctx context.Context) {
	var workers sync.WaitGroup
	defer workers.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		for {
			address, more := c.nextInbox()
			if !more {
				break
			}
			workers.Go(func() { c.serveInbox(ctx, address) })
		}
		timer.Reset(c.idleTime())
		select {
		case <-ctx.Done():
			return
		case <-c.wakeCh:
		case <-timer.C:
		}
	}
}

// nextInbox takes an inbox that is due, if a worker is free.
func (c *CopySupervisor) nextInbox() (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.Now()
	for address, at := range c.dueAt {
		if len(c.busyInboxes) < copiesAtOnce && !c.busyInboxes[address] && !at.After(now) {
			delete(c.dueAt, address)
			c.busyInboxes[address] = true
			return address, true
		}
	}
	return "", false
}

// idleTime is how long to sleep until the next inbox is due, unless a worker finishes before.
func (c *CopySupervisor) idleTime() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, wait := c.Now(), time.Hour
	for address, at := range c.dueAt {
		if !c.busyInboxes[address] && len(c.busyInboxes) < copiesAtOnce {
			wait = min(wait, max(at.Sub(now), time.Millisecond))
		}
	}
	return wait
}

// serveInbox queues the copies of one inbox, if its group is held.
func (c *CopySupervisor) serveInbox(ctx context.Context, address string) {
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.busyInboxes, address)
		c.wakeLoop()
	}()
	of := partition.Of(address).Group()
	term, held := c.groupWork.BeginWork(of)
	if !held {
		return
	}
	defer c.groupWork.EndWork(of)
	ctx, end := context.WithCancel(ctx)
	defer context.AfterFunc(term, end)()
	next, err := c.queueDue(ctx, address)
	switch {
	case err == nil && !next.IsZero():
		c.noteAt(address, next)
	case err == nil, fault.Is(err, fault.NoInbox), fault.Is(err, fault.MovedAway), ctx.Err() != nil:
	default:
		c.Log.Warn("calendar owner copy could not be queued", "inbox", address, "err", err)
		c.noteAt(address, c.Now().Add(copiesAgain))
	}
}

// queueDue queues what is due in an inbox, one meeting at a time. It returns when to look again; zero
// means when NoteDue is called. A meeting that changes meanwhile calls NoteDue.
func (c *CopySupervisor) queueDue(ctx context.Context, address string) (next time.Time, err error) {
	for {
		view, err := c.Inboxes.InboxView(ctx, address)
		if err != nil {
			return next, err
		}
		m, next := view.Calendar.DueCopy(c.Now(), c.heldUntil(address))
		if m == nil && next.IsZero() { // the mark is older than the copy that it was set for
			_, err := c.Inboxes.Do(ctx, address, inbox.TellOwner{})
			return next, err
		}
		if m == nil {
			return next, nil
		}
		switch err := c.queueCopy(ctx, view, m); {
		case errors.Is(err, errUsedUp):
			c.holdAnswers(address)
		case err != nil:
			return next, err
		}
	}
}

// errUsedUp means that the account's daily quota has no place left for copies of replies.
var errUsedUp = errors.New("the daily quota of owner copies of responses is used up")

// holdAnswers makes an inbox's copies of replies wait for the next day. Their marks stay, so after a
// restart they are held again.
func (c *CopySupervisor) holdAnswers(address string) {
	until := account.NextDay(c.Now())
	c.mu.Lock()
	c.held[address] = until
	c.mu.Unlock()
	c.counts.heldInboxes.Add(1)
	c.Log.Info("calendar owner copies of responses are deferred to the next day", "inbox", address, "until", until)
}

// heldUntil returns when copies of replies of an inbox may be queued again; zero for now.
func (c *CopySupervisor) heldUntil(address string) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	until := c.held[address]
	if !until.After(c.Now()) {
		delete(c.held, address)
		return time.Time{}
	}
	return until
}

// queueCopy queues the copy of a meeting, or records that the owner gets no copy of this change.
func (c *CopySupervisor) queueCopy(ctx context.Context, view *inbox.View, m *calendar.Meeting) error {
	failpoint.MarkPoint("owners-copy-due")
	order := inbox.TellOwner{MeetingID: m.ID, Sequence: m.OwnerCopy.ChangeCount}
	set, err := c.of(ctx, view)
	if err != nil {
		return err
	}
	back := func() {}
	if set.CopiesWanted() && set.EmailAvailable {
		if order.CopyMessage, back, err = c.composeCopy(ctx, view, m, set.Email); err != nil {
			return err
		}
	}
	queued, err := c.Inboxes.Do(ctx, view.Address, order)
	failpoint.MarkPoint("owners-copy-queued")
	switch {
	case err == nil && queued.ID != 0:
		c.counts.countQueued(m.OwnerCopy)
		c.Log.Info("queued", "inbox", view.Address, "message_id", queued.ID, "meeting", m.ID, "recipients", 1, "octets", len(order.CopyMessage.Raw))
	case err == nil, inbox.NotQueued(err):
		back()
	}
	return err
}

func (c *copyCounts) countQueued(copied calendar.OwnerCopy) {
	if copied.OfAnswers() {
		c.fromAnswers.Add(1)
	} else {
		c.fromCalls.Add(1)
	}
}

// composeCopy writes the copy of a meeting and counts it. It returns no message if the daily quota of a
// call is used up.
func (c *CopySupervisor) composeCopy(ctx context.Context, view *inbox.View, m *calendar.Meeting, owner string) (*inbox.Submit, func(), error) {
	text := calendar.OwnersCopy(m, c.Me(view), owner, c.Now())
	mail, err := c.ComposeMessage(ctx, view, &text)
	if err != nil {
		return nil, nil, err
	}
	back, at, err := c.CountCopy(ctx, view.Account, m.OwnerCopy.OfAnswers())
	if fault.Is(err, fault.Refused) && m.OwnerCopy.OfAnswers() {
		return nil, nil, errUsedUp
	}
	if fault.Is(err, fault.Refused) {
		c.Log.Info("calendar owner copy skipped", "inbox", view.Address, "meeting", m.ID, "err", err)
		return nil, func() {}, nil
	}
	mail.AfterPosition = at
	return &mail, back, err
}
