package actors

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"inboxd/actors/engine"
	"inboxd/internal/base/failpoint"
	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
	"inboxd/internal/intake/ingest"
)

// inboxEntity drives internal/core/inbox for one address. Only its owner touches the fields below
// holds.
type inboxEntity struct {
	engine.EntitySlot
	store InboxStore
	now   func() time.Time
	// onPublicEvents receives the public events of a commit, after the commit.
	onPublicEvents func([]inbox.PublicEvent)
	// onMessagesRemoved receives the account whose messages were deleted from the disk, after the
	// commit.
	onMessagesRemoved func(account.ID)
	// onQueueMoves receives the changes to the mail queue, after the commit.
	onQueueMoves func(address string, moves []inbox.QueueMove)
	// copyDue is called when an owner's copy is due, after the commit.
	copyDue    func(address string)
	capacities *capacityCache
	// contents caches the contents of new messages for a while.
	contents     *contentCache
	requestQuota *requestQuota

	publishedView  atomic.Pointer[inbox.View]    // nil until loaded, or if no inbox lives there; any goroutine reads it
	cachedCapacity atomic.Pointer[knownCapacity] // nil until read; any goroutine reads and writes it

	state             *inbox.State
	justLoaded        bool                 // just loaded, not published yet
	pendingRows       *inbox.Rows          // of the group being decided; nil if nothing changed
	requiredPositions []partition.Position // positions that must be WaitForPosition before the rows are committed
	cachedNewest      *inbox.CachedContent // the one that contents has
}

func (e *inboxEntity) LoadState() (err error) {
	e.state, err = e.store.LoadInbox(e.Key())
	e.justLoaded = true
	if err == nil {
		e.distrustUnacknowledged()
	}
	return err
}

// distrustUnacknowledged watches for repeats of messages that a crash left unacknowledged: their
// senders may not have received the 250 reply. The digest is computed from the stored bytes.
// Nothing is written, because every run until the next start computes the same, and senders retry
// within minutes. Messages without a Message-ID are skipped: identical bytes may be a different
// message.
func (e *inboxEntity) distrustUnacknowledged() {
	from, to := e.store.UnacknowledgedPeriod()
	for _, m := range slices.Backward(e.state.Messages) {
		if from.IsZero() || m.ReceivedAt.Before(from) {
			break
		}
		if m.Direction != inbox.In || !m.ReceivedAt.Before(to) {
			continue
		}
		if digest, known := e.repeatOf(m); known {
			doubt := inbox.MarkAmbiguous{ID: m.ID, Digest: digest}
			evs, _, _ := inbox.Decide(e.state, doubt, inbox.Env{Now: e.now()}) // has nothing to refuse
			new(inbox.Rows).Apply(e.state, evs)
		}
	}
}

// repeatOf returns the digest that identifies a received message when it is offered again. For a
// sealed message, which cannot be read, it was stored; otherwise it is computed from the bytes.
func (e *inboxEntity) repeatOf(m *inbox.Message) (digest inbox.MessageDigest, known bool) {
	if m.EncryptedState != nil {
		return m.EncryptedState.RepeatDigest, m.EncryptedState.RepeatDigest != inbox.MessageDigest{}
	}
	if m.ThreadKey == inbox.ThreadKey("") {
		return digest, false
	}
	raw, _ := e.store.ReadRaw(e.Key(), m.ID) // the store reports damage itself
	mailFrom, sent, ok := ingest.Untraced(raw)
	if ok {
		digest = inbox.DigestOf(mailFrom, m.EnvelopeRecipients(), sent)
	}
	return digest, ok
}

// activateInbox only activates an inbox. It returns the view, which stays valid for the caller even
// if the inbox is evicted immediately.
type activateInbox struct{}

// findQueued returns a message that waits in the mail queue, or nil if it does not wait.
type findQueued struct{ id int64 }

func (e *inboxEntity) DecideCommand(cmd any) (any, error) {
	if c, repeatable := cmd.(onceCommand); repeatable {
		return e.decideOnce(c)
	}
	if c, asked := cmd.(recallOnce); asked {
		return e.recallOnce(c)
	}
	if q, asked := cmd.(findQueued); asked {
		return e.state.QueuedMessage(q.id), nil
	}
	order, ok := cmd.(inbox.Command)
	if !ok {
		return e.publishedView.Load(), nil // wake
	}
	answer, _, err := e.applyCommand(order)
	return answer, err
}

// applyCommand decides a command of the rules and reports whether it changed anything.
func (e *inboxEntity) applyCommand(order inbox.Command) (answer inbox.CommandOutcome, changed bool, err error) {
	env, err := e.env(order)
	if err != nil {
		return inbox.CommandOutcome{}, false, err
	}
	evs, answer, err := inbox.Decide(e.state, order, env)
	if err != nil || len(evs) == 0 {
		return answer, false, err
	}
	e.beginRows()
	e.pendingRows.Apply(e.state, evs)
	switch submit := order.(type) {
	case inbox.Submit:
		e.requiredPositions = append(e.requiredPositions, submit.AfterPosition)
	case inbox.ApplyMeetingPlan:
		e.requiredPositions = append(e.requiredPositions, submit.AfterPosition)
	case inbox.TellOwner:
		if submit.CopyMessage != nil {
			e.requiredPositions = append(e.requiredPositions, submit.CopyMessage.AfterPosition)
		}
	}
	return answer, true, nil
}

// env returns what a command may know. Only commands that add messages need the plan.
func (e *inboxEntity) env(cmd inbox.Command) (env inbox.Env, err error) {
	env.Now = e.now()
	switch cmd.(type) {
	case inbox.Receive, inbox.Submit, inbox.ApplyMeetingPlan:
		env.Capacity, err = e.capacityFor(e.state.Account)
	}
	return env, err
}

// capacityFor returns the capacity of the account that owns the inbox.
func (e *inboxEntity) capacityFor(id account.ID) (inbox.Capacity, error) {
	if known := e.cachedCapacity.Load(); e.capacities.isCurrent(known, id) {
		return known.Capacity, nil
	}
	known, err := e.capacities.currentCapacity(id)
	if err != nil {
		return inbox.Capacity{}, err
	}
	e.cachedCapacity.Store(known)
	return known.Capacity, nil
}

// hasRoom returns nil if the inbox with view v can take a message, else InboxFull or Unavailable.
func (e *inboxEntity) hasRoom(v *inbox.View, now time.Time) error {
	c, err := e.capacityFor(v.Account)
	if err != nil {
		return err
	}
	return v.CheckRoom(1, c, now)
}

// FollowUpCommand remembers a message whose sender was asked to retry, because the sender will.
func (e *inboxEntity) FollowUpCommand(cmd, answer any) any {
	if mail, ok := cmd.(inbox.Receive); ok {
		return inbox.MarkAmbiguous{ID: answer.(inbox.CommandOutcome).ID, Digest: mail.RepeatDigest()}
	}
	return nil
}

// rowsPool are rows for reuse. Only PublishState puts rows there, after the store has committed
// them; the slices that PublishState passes on no longer belong to them.
var rowsPool = sync.Pool{New: func() any { return new(inbox.Rows) }}

// beginRows starts the rows of a group.
func (e *inboxEntity) beginRows() {
	if e.pendingRows == nil {
		e.pendingRows = rowsPool.Get().(*inbox.Rows)
		e.pendingRows.Begin(e.state)
	}
}

func (e *inboxEntity) CommitRows() error {
	if e.pendingRows == nil {
		return nil
	}
	for _, at := range e.requiredPositions {
		if err := e.store.WaitForPosition(at); err != nil {
			return err
		}
	}
	e.requiredPositions = e.requiredPositions[:0]
	failpoint.MarkPoint("inbox-decided")
	err := e.store.CommitInbox(e.pendingRows)
	failpoint.MarkPoint("inbox-committed")
	return err
}

// PublishState publishes the state if it changed or was just loaded, and then forwards its public
// events.
func (e *inboxEntity) PublishState() {
	rows, fresh := e.pendingRows, e.justLoaded
	e.pendingRows, e.justLoaded = nil, false
	if rows == nil && !fresh {
		return
	}
	if e.state.IsLive() {
		if n := e.state.NewestContent; n != e.cachedNewest {
			e.cachedNewest = n
			e.contents.keepNewest(n)
		}
		e.publishView(inbox.NewView(e.state))
	} else {
		e.publishView(nil)
	}
	if rows == nil {
		return
	}
	if len(rows.QueueMoves) > 0 {
		e.onQueueMoves(e.Key(), rows.QueueMoves)
	}
	if due := rows.CopyDue; due != nil && *due {
		e.copyDue(e.Key())
	}
	if len(rows.PublicEvents) > 0 {
		e.onPublicEvents(rows.PublicEvents)
	}
	if len(rows.DropMessages) > 0 {
		e.onMessagesRemoved(e.state.Account)
	}
	failpoint.MarkPoint("inbox-published")
	rows.Clear()
	rowsPool.Put(rows)
}

// publishView publishes v, then supersedes the previous view and wakes its waiters.
func (e *inboxEntity) publishView(v *inbox.View) {
	if old := e.publishedView.Swap(v); old != nil {
		old.SupersedeBy(v)
	}
}

// LastPolledUnix implements engine.Entity: polls are answered without the directory, too.
func (e *inboxEntity) LastPolledUnix() int64 {
	if v := e.publishedView.Load(); v != nil {
		return v.PolledAt()
	}
	return 0
}

func (e *inboxEntity) DiscardState() { e.state, e.pendingRows, e.requiredPositions = nil, nil, nil }

// IsVacant implements engine.Entity. A deleted inbox may still have messages to deliver.
func (e *inboxEntity) IsVacant() bool { return !e.state.IsLive() && len(e.state.Messages) == 0 }

func (e *inboxEntity) OnUnload() { e.publishView(nil) }

func (e *inboxEntity) MemoryBytes() int64 {
	if e.state == nil {
		return 0
	}
	return e.state.Weight()
}
