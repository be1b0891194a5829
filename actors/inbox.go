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
	engine.Slot
	store InboxStore
	now   func() time.Time
	// notify receives the public events of a commit, after the commit.
	notify func([]inbox.Public)
	// lost receives the account whose messages were deleted from the disk, after the commit.
	lost func(account.ID)
	// queued receives the changes to the mail queue, after the commit.
	queued func(address string, moves []inbox.Queued)
	// copyDue is called when an owner's copy is due, after the commit.
	copyDue    func(address string)
	capacities *capacities
	// atHand caches the contents of new messages for a while.
	atHand   *atHand
	requests *requestQuota

	view  atomic.Pointer[inbox.View]    // nil until loaded, or if no inbox lives there; any goroutine reads it
	holds atomic.Pointer[knownCapacity] // nil until read; any goroutine reads and writes it

	state  *inbox.State
	fresh  bool                 // just loaded, not published yet
	rows   *inbox.Rows          // of the group being decided; nil if nothing changed
	rests  []partition.Position // positions that must be Reached before the rows are committed
	newest *inbox.Newest        // the one that atHand has
}

func (e *inboxEntity) Load() (err error) {
	e.state, err = e.store.LoadInbox(e.Key())
	e.fresh = true
	if err == nil {
		e.doubtUnheard()
	}
	return err
}

// doubtUnheard watches for repeats of messages that a crash left unacknowledged: their senders may
// not have received the 250 reply. The digest is computed from the stored bytes. Nothing is
// written, because every run until the next start computes the same, and senders retry within
// minutes. Messages without a Message-ID are skipped: identical bytes may be a different message.
func (e *inboxEntity) doubtUnheard() {
	from, to := e.store.Unheard()
	for _, m := range slices.Backward(e.state.Messages) {
		if from.IsZero() || m.ReceivedAt.Before(from) {
			break
		}
		if m.Direction != inbox.In || !m.ReceivedAt.Before(to) {
			continue
		}
		if digest, known := e.repeatOf(m); known {
			doubt := inbox.Doubt{ID: m.ID, Digest: digest}
			evs, _, _ := inbox.Decide(e.state, doubt, inbox.Env{Now: e.now()}) // has nothing to refuse
			new(inbox.Rows).Apply(e.state, evs)
		}
	}
}

// repeatOf returns the digest that identifies a received message when it is offered again. For a
// sealed message, which cannot be read, it was stored; otherwise it is computed from the bytes.
func (e *inboxEntity) repeatOf(m *inbox.Message) (digest inbox.Digest, known bool) {
	if m.Sealed != nil {
		return m.Sealed.Repeat, m.Sealed.Repeat != inbox.Digest{}
	}
	if m.Thread == inbox.ThreadKey("") {
		return digest, false
	}
	raw, _ := e.store.Raw(e.Key(), m.ID) // the store reports damage itself
	mailFrom, sent, ok := ingest.Untraced(raw)
	if ok {
		digest = inbox.DigestOf(mailFrom, m.EnvelopeRecipients(), sent)
	}
	return digest, ok
}

// wake only activates an inbox. It returns the view, which stays valid for the caller even if the
// inbox is evicted immediately.
type wake struct{}

// findQueued returns a message that waits in the mail queue, or nil if it does not wait.
type findQueued struct{ id int64 }

func (e *inboxEntity) Decide(cmd any) (any, error) {
	if c, repeatable := cmd.(onceCommand); repeatable {
		return e.decideOnce(c)
	}
	if c, asked := cmd.(recallOnce); asked {
		return e.recallOnce(c)
	}
	if q, asked := cmd.(findQueued); asked {
		return e.state.Queued(q.id), nil
	}
	order, ok := cmd.(inbox.Command)
	if !ok {
		return e.view.Load(), nil // wake
	}
	answer, _, err := e.order(order)
	return answer, err
}

// order decides a command of the rules and reports whether it changed anything.
func (e *inboxEntity) order(order inbox.Command) (answer inbox.Outcome, changed bool, err error) {
	env, err := e.env(order)
	if err != nil {
		return inbox.Outcome{}, false, err
	}
	evs, answer, err := inbox.Decide(e.state, order, env)
	if err != nil || len(evs) == 0 {
		return answer, false, err
	}
	e.begin()
	e.rows.Apply(e.state, evs)
	switch mails := order.(type) {
	case inbox.Submit:
		e.rests = append(e.rests, mails.After)
	case inbox.Arrange:
		e.rests = append(e.rests, mails.After)
	case inbox.TellOwner:
		if mails.Mail != nil {
			e.rests = append(e.rests, mails.Mail.After)
		}
	}
	return answer, true, nil
}

// env returns what a command may know. Only commands that add messages need the plan.
func (e *inboxEntity) env(cmd inbox.Command) (env inbox.Env, err error) {
	env.Now = e.now()
	switch cmd.(type) {
	case inbox.Receive, inbox.Submit, inbox.Arrange:
		env.Capacity, err = e.capacityFor(e.state.Account)
	}
	return env, err
}

// capacityFor returns the capacity of the account that owns the inbox.
func (e *inboxEntity) capacityFor(id account.ID) (inbox.Capacity, error) {
	if known := e.holds.Load(); e.capacities.stand(known, id) {
		return known.Capacity, nil
	}
	known, err := e.capacities.known(id)
	if err != nil {
		return inbox.Capacity{}, err
	}
	e.holds.Store(known)
	return known.Capacity, nil
}

// hasRoom returns nil if the inbox with view v can take a message, else InboxFull or Unavailable.
func (e *inboxEntity) hasRoom(v *inbox.View, now time.Time) error {
	c, err := e.capacityFor(v.Account)
	if err != nil {
		return err
	}
	return v.Room(1, c, now)
}

// Unheard remembers a message whose sender was asked to retry, because the sender will.
func (e *inboxEntity) Unheard(cmd, answer any) any {
	if mail, ok := cmd.(inbox.Receive); ok {
		return inbox.Doubt{ID: answer.(inbox.Outcome).ID, Digest: mail.Repeat()}
	}
	return nil
}

// cleared are rows for reuse. Only Publish puts rows there, after the store has committed them; the
// slices that Publish passes on no longer belong to them.
var cleared = sync.Pool{New: func() any { return new(inbox.Rows) }}

// begin starts the rows of a group.
func (e *inboxEntity) begin() {
	if e.rows == nil {
		e.rows = cleared.Get().(*inbox.Rows)
		e.rows.Begin(e.state)
	}
}

func (e *inboxEntity) Commit() error {
	if e.rows == nil {
		return nil
	}
	for _, at := range e.rests {
		if err := e.store.Reached(at); err != nil {
			return err
		}
	}
	e.rests = e.rests[:0]
	failpoint.Here("inbox-decided")
	err := e.store.CommitInbox(e.rows)
	failpoint.Here("inbox-committed")
	return err
}

// Publish publishes the state if it changed or was just loaded, and then forwards its public
// events.
func (e *inboxEntity) Publish() {
	rows, fresh := e.rows, e.fresh
	e.rows, e.fresh = nil, false
	if rows == nil && !fresh {
		return
	}
	if e.state.Live() {
		if n := e.state.Newest; n != e.newest {
			e.newest = n
			e.atHand.keep(n)
		}
		e.show(inbox.NewView(e.state))
	} else {
		e.show(nil)
	}
	if rows == nil {
		return
	}
	if len(rows.Queue) > 0 {
		e.queued(e.Key(), rows.Queue)
	}
	if due := rows.CopyDue; due != nil && *due {
		e.copyDue(e.Key())
	}
	if len(rows.Public) > 0 {
		e.notify(rows.Public)
	}
	if len(rows.Drop) > 0 {
		e.lost(e.state.Account)
	}
	failpoint.Here("inbox-published")
	rows.Clear()
	cleared.Put(rows)
}

// show publishes v, then supersedes the previous view and wakes its waiters.
func (e *inboxEntity) show(v *inbox.View) {
	if old := e.view.Swap(v); old != nil {
		old.SupersedeBy(v)
	}
}

// Polled implements engine.Entity: polls are answered without the directory, too.
func (e *inboxEntity) Polled() int64 {
	if v := e.view.Load(); v != nil {
		return v.PolledAt()
	}
	return 0
}

func (e *inboxEntity) Abandon() { e.state, e.rows, e.rests = nil, nil, nil }

// Vacant implements engine.Entity. A deleted inbox may still have messages to deliver.
func (e *inboxEntity) Vacant() bool { return !e.state.Live() && len(e.state.Messages) == 0 }

func (e *inboxEntity) Leave() { e.show(nil) }

func (e *inboxEntity) Weight() int64 {
	if e.state == nil {
		return 0
	}
	return e.state.Weight()
}
