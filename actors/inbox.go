package actors

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"inboxd/actors/engine"
	"inboxd/internal/account"
	"inboxd/internal/fault"
	"inboxd/internal/inbox"
	"inboxd/internal/ingest"
)

// inboxEntity drives internal/inbox for one address.
type inboxEntity struct {
	engine.Slot
	store Store
	now   func() time.Time
	// told receives the public events of a commit, after it.
	told func([]inbox.Public)
	// queued receives the moves of the mail queue of a commit, after it.
	queued func(address string, moves []inbox.Queued)
	// atHand keeps the contents of new messages for a while.
	atHand *atHand

	view atomic.Pointer[inbox.View] // nil until loaded, or when nobody lives there; any goroutine reads it

	state  *inbox.State
	fresh  bool          // just loaded, not published yet
	rows   *inbox.Rows   // of the group being decided; nil when nothing changed
	newest *inbox.Newest // that atHand knows
}

func (e *inboxEntity) Load() (err error) {
	e.state, err = e.store.LoadInbox(e.Key())
	e.fresh = true
	return err
}

// wake is the command that only activates an inbox; its answer is the view, which stays
// good for the asker even if the inbox leaves memory at once.
type wake struct{}

func (e *inboxEntity) Decide(cmd any) (any, error) {
	if c, repeatable := cmd.(onceCommand); repeatable {
		return e.decideOnce(c)
	}
	if c, asked := cmd.(recallOnce); asked {
		return e.recallOnce(c)
	}
	order, ok := cmd.(inbox.Command)
	if !ok {
		return e.view.Load(), nil // wake
	}
	evs, answer, err := inbox.Decide(e.state, order, inbox.Env{Now: e.now()})
	if err != nil || len(evs) == 0 {
		return answer, err
	}
	e.begin()
	e.rows.Apply(e.state, evs)
	return answer, nil
}

// cleared are rows for reuse. None is put there but by publish, when the store has committed
// it; what publish passes on is no longer of it.
var cleared = sync.Pool{New: func() any { return new(inbox.Rows) }}

// begin begins the rows of a group.
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
	return e.store.CommitInbox(e.rows)
}

// publish shows the state when it changed or was just loaded, and then passes its public
// events on.
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
	if len(rows.Public) > 0 {
		e.told(rows.Public)
	}
	rows.Clear()
	cleared.Put(rows)
}

// show shows v, and then ends the view before it and wakes whoever waits on it.
func (e *inboxEntity) show(v *inbox.View) {
	if old := e.view.Swap(v); old != nil {
		old.Supersede()
	}
}

// Polled implements engine.Entity: polls are answered without asking the directory too.
func (e *inboxEntity) Polled() int64 {
	if v := e.view.Load(); v != nil {
		return v.PolledAt()
	}
	return 0
}

func (e *inboxEntity) Abandon() { e.state, e.rows = nil, nil }

func (e *inboxEntity) Leave() { e.show(nil) }

func (e *inboxEntity) Weight() int64 {
	if e.state == nil {
		return 0
	}
	return e.state.Weight()
}

// View returns the published view of an inbox, activating it when it is not in memory. An
// address where nobody lives is looked up in the store and costs no actor.
func (s *System) View(ctx context.Context, address string) (*inbox.View, error) {
	if e := s.inboxes.Resident([]byte(address)); e != nil {
		if v := e.(*inboxEntity).view.Load(); v != nil {
			return v, nil
		}
	} else if live, err := s.store.Live(address); err != nil {
		return nil, engine.Busy(err)
	} else if !live {
		return nil, inbox.NoInbox(address)
	}
	got, err := s.inboxes.Do(ctx, address, wake{}, 0)
	if err != nil {
		return nil, err
	}
	if v, _ := got.(*inbox.View); v != nil {
		return v, nil
	}
	return nil, inbox.NoInbox(address)
}

// ViewFor is View for the account that owns the inbox; NoInbox for any other. To refuse, it
// makes one look-up, whether the inbox lives, in memory or not, is gone, or never was: the
// time must not tell, and a stranger must not wake an inbox.
func (s *System) ViewFor(ctx context.Context, id account.ID, address string) (*inbox.View, error) {
	if v := s.Resident([]byte(address)); v != nil && v.Account == id {
		return v, nil
	}
	who, err := s.store.AccountOf(address)
	switch {
	case err != nil:
		return nil, engine.Busy(err)
	case who != id:
		return nil, inbox.NoInbox(address)
	}
	return s.View(ctx, address)
}

// accountOf is the account whose inbox lives at an address; the zero one when none does.
func (s *System) accountOf(address string) (account.ID, error) {
	if v := s.Resident([]byte(address)); v != nil {
		return v.Account, nil
	}
	return s.store.AccountOf(address)
}

// Resident returns the published view of an inbox in memory, else nil. It takes no lock and
// allocates nothing.
func (s *System) Resident(address []byte) *inbox.View {
	if e := s.inboxes.Resident(address); e != nil {
		return e.(*inboxEntity).view.Load()
	}
	return nil
}

// Do hands cmd to the inbox at address and returns after its commit.
func (s *System) Do(ctx context.Context, address string, cmd inbox.Command) (inbox.Outcome, error) {
	got, err := s.inboxes.Do(ctx, address, cmd, sizeOf(cmd))
	answer, _ := got.(inbox.Outcome)
	return answer, err
}

// sizeOf is what cmd adds to a batch.
func sizeOf(cmd inbox.Command) int64 {
	switch cmd := cmd.(type) {
	case inbox.Receive:
		return int64(len(cmd.Raw))
	case inbox.Submit:
		return int64(len(cmd.Raw))
	}
	return 0
}

// Content reads the document of a message, parsing a small one again; nil when it is gone.
func (s *System) Content(_ context.Context, address string, id int64) (*inbox.Content, error) {
	c, err := s.store.Content(address, id)
	if err != nil || c == nil || !c.Unread {
		return c, unreadable(err)
	}
	raw, err := s.store.Raw(address, id)
	if err != nil || raw == nil {
		return nil, unreadable(err)
	}
	return ingest.Reread(c, raw), nil
}

// Raw reads a message as received; nil when it is gone.
func (s *System) Raw(_ context.Context, address string, id int64) ([]byte, error) {
	raw, err := s.store.Raw(address, id)
	return raw, unreadable(err)
}

func unreadable(err error) error {
	if err == nil {
		return nil
	}
	return fault.Wrap(fault.Internal, "The message could not be read", err)
}
