package actors

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"inboxd/actors/engine"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/idempotency"
	"inboxd/internal/core/inbox"
)

// An idempotent request leaves a record in the batch of its change (specification, Repeats; ADR
// 0010). The owner that decides it is serial. So a repeat finds the record, or is decided after the
// first request failed and left none. The client gets its response after the commit.
//
// That suffices for a command to one inbox. Creating an inbox crosses partitions: its record, with
// the whole response, is written with the reservation. While the address is still reserved for the
// request, the request is running or a crash interrupted it. A repeat then continues the same
// creation, and steps that are already done change nothing. Releasing the reservation also deletes
// the record.

// onceCommand is a command to an inbox together with its request.
type onceCommand struct {
	command inbox.Command
	request idempotency.Request
	tell    func(inbox.Outcome) []byte
}

// recallOnce asks for the result of an earlier request.
type recallOnce struct{ request idempotency.Request }

func (e *inboxEntity) recallOnce(c recallOnce) (any, error) {
	known, err := e.onceRecord(c.request.Key)
	if err != nil || known == nil || known.Over(endingTime(e.store, e.now())) {
		return nil, err
	}
	return known.Result, known.Check(c.request)
}

// decideOnce leaves no record of a request that changed nothing: a repeat changes nothing either.
func (e *inboxEntity) decideOnce(c onceCommand) (any, error) {
	now := e.now()
	known, err := e.onceRecord(c.request.Key)
	switch {
	case err != nil:
		return nil, err
	case known != nil && !known.Over(endingTime(e.store, now)):
		return known.Result, known.Check(c.request)
	}
	owner := e.state.Account
	if err := e.requests.room(owner); err != nil {
		return nil, err
	}
	got, changed, err := e.order(c.command)
	if err != nil {
		return nil, err
	}
	given := idempotency.Result{Told: c.tell(got)}
	if changed {
		record := idempotency.Record{Request: c.request, At: now, Result: given, Owner: owner}
		e.rows.Once.Add(record)
		e.requests.add(&record)
	}
	return given, nil
}

// endingTime is the time by which request records expire: the clock's, or the last trusted time
// while the clock is in doubt. A request that is repeated then is not executed again (ADR 0043).
func endingTime(store interface{ ClockSeen() time.Time }, now time.Time) time.Time {
	if seen := store.ClockSeen(); seen.Before(now) {
		return seen
	}
	return now
}

// requestQuota counts the request records of each account on this node. It counts a record when it
// is decided. Each walk of retention over all records counts them again; that corrects for removed
// records and those that existed at the start. Any goroutine may use it.
type requestQuota struct {
	mu    sync.Mutex                       // guards all below
	held  map[account.ID]idempotency.Held  // by the last walk, and what was added since it began
	next  map[account.ID]*idempotency.Held // by the current walk
	began time.Time                        // start of the current walk
}

// room refuses a record if the account has as many as it may have.
func (q *requestQuota) room(id account.ID) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.held[id].Room()
}

// add counts a record that is about to be committed.
func (q *requestQuota) add(r *idempotency.Record) {
	q.mu.Lock()
	defer q.mu.Unlock()
	h := q.held[r.Owner]
	h.Add(r.Size())
	if q.held == nil {
		q.held = map[account.ID]idempotency.Held{}
	}
	q.held[r.Owner] = h
	q.count(r.Owner, r.Size())
}

// count adds to the current walk.
func (q *requestQuota) count(id account.ID, size int64) {
	if q.next[id] == nil {
		if q.next == nil {
			q.next = map[account.ID]*idempotency.Held{}
		}
		q.next[id] = &idempotency.Held{}
	}
	q.next[id].Add(size)
}

// Begin begins a walk over all records.
func (q *requestQuota) Begin(now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.next, q.began = nil, now.Truncate(time.Millisecond) // times of records have millisecond precision
}

// Found counts a record that stays. add already counted those made since the walk began.
func (q *requestQuota) Found(r *idempotency.Record) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if r.At.Before(q.began) {
		q.count(r.Owner, r.Size())
	}
}

// End ends the walk and replaces the old counts with its own.
func (q *requestQuota) End() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.held = make(map[account.ID]idempotency.Held, len(q.next))
	for id, h := range q.next {
		q.held[id] = *h
	}
}

// repeats holds the named requests in progress; any goroutine may use it. The values are channels
// that are closed when a request ends.
type repeats struct{ at sync.Map }

// repeated identifies a request.
type repeated struct {
	address string
	key     idempotency.Key
}

// turn waits until no request of this name is in progress. The caller's then is in progress until
// done is called.
func (rs *repeats) turn(ctx context.Context, name repeated) (done func(), err error) {
	ended := make(chan struct{})
	for {
		before, busy := rs.at.LoadOrStore(name, ended)
		if !busy {
			return func() { rs.at.Delete(name); close(ended) }, nil
		}
		select {
		case <-before.(chan struct{}):
		case <-ctx.Done():
			return nil, engine.Busy(ctx.Err())
		}
	}
}

// onceRecord searches the group being decided, then the store.
func (e *inboxEntity) onceRecord(key idempotency.Key) (*idempotency.Record, error) {
	if e.rows != nil {
		if put, dropped := e.rows.Once.Find(key); put != nil || dropped {
			return put, nil
		}
	}
	return e.store.InboxOnce(e.Key(), key)
}

type (
	// recall asks an account for the record of a request.
	recall struct{ idempotency.Request }
	// recalled is the result: no record, or a record, with its reservation if that still exists.
	recalled struct {
		record      *idempotency.Record
		reservation *account.Reservation
	}
)

func (e *accountEntity) recall(req idempotency.Request) (any, error) {
	known, err := e.onceRecord(req.Key)
	if err != nil || known == nil || known.Over(endingTime(e.store, e.now())) {
		return recalled{}, err
	}
	if err := known.Check(req); err != nil {
		return recalled{}, err
	}
	r, reserved := e.state.Reserved[known.Address]
	if !reserved || r.Once != known.Key || !r.At.Equal(known.At) {
		return recalled{record: known}, nil
	}
	return recalled{known, &r}, nil
}

// reserve returns the reservation. If a record of the request exists, it returns that and reserves
// nothing.
func (e *accountEntity) reserve(cmd account.ReserveInbox) (any, error) {
	if cmd.Record != nil {
		known, err := e.onceRecord(cmd.Record.Key)
		if err != nil || known != nil && !known.Over(endingTime(e.store, cmd.At)) {
			return known, err
		}
		if err := e.requests.room(e.id); err != nil {
			return nil, err
		}
		cmd.Record.Owner = e.id
	}
	// A creation is identified by its time, so an inbox created at this very moment would be
	// mistaken for the new one.
	listed, _, err := e.listed(account.InboxEntry{Address: cmd.Address, CreatedAt: cmd.At, Live: true})
	if err != nil || listed {
		return nil, cmp.Or(err, error(fault.New(fault.Refused, fmt.Sprintf("The address %s is taken", cmd.Address))))
	}
	if err := e.orderClaim(&cmd); err != nil {
		return nil, err
	}
	if cmd.Record != nil {
		e.requests.add(cmd.Record)
	}
	return e.state.Reserved[cmd.Address], nil
}

func (e *accountEntity) onceRecord(key idempotency.Key) (*idempotency.Record, error) {
	if e.rows != nil {
		if put, dropped := e.rows.Once.Find(key); put != nil || dropped {
			return put, nil
		}
	}
	return e.store.AccountOnce(e.id, key)
}

// CreateInboxOnce is CreateInbox for an idempotent request. tell is as in DoOnce.
func (r *Registry) CreateInboxOnce(ctx context.Context, id account.ID, order inbox.Order, req idempotency.Request, tell func(inbox.Placement, time.Time) []byte) (idempotency.Result, error) {
	var made *idempotency.Record
	record := func(place inbox.Placement, at time.Time) *idempotency.Record {
		made = &idempotency.Record{Request: req, At: at, Result: idempotency.Result{Address: place.Address, Told: tell(place, at)}}
		return made
	}
	for range placeTries {
		known, err := r.resume(ctx, id, req)
		switch {
		case fault.Is(err, fault.Refused):
			continue // the address was taken by another account, and the place was released
		case err != nil:
			return idempotency.Result{}, err
		case known != nil:
			return known.Result, nil
		}
		_, known, err = r.createBy(ctx, id, order, record)
		switch {
		case err != nil:
			return idempotency.Result{}, err
		case known == nil:
			return made.Result, nil
		}
		// A repeat was faster since resume: continue with its creation.
	}
	return idempotency.Result{}, engine.Busy(nil)
}

// resume returns the record of a request, or nil if none exists. It first finishes a creation
// that is in progress or was interrupted; a creation that a repair gave up meanwhile is refused.
func (r *Registry) resume(ctx context.Context, id account.ID, req idempotency.Request) (*idempotency.Record, error) {
	found, err := r.recall(ctx, id, req)
	if err != nil || found.reservation == nil {
		return found.record, err
	}
	return found.record, r.finish(ctx, id, found.record.Address, *found.reservation, true)
}

// CheckRequest refuses the key of a creation if it was used with another request.
func (r *Registry) CheckRequest(ctx context.Context, id account.ID, req idempotency.Request) error {
	_, err := r.recall(ctx, id, req)
	return err
}

func (r *Registry) recall(ctx context.Context, id account.ID, req idempotency.Request) (recalled, error) {
	got, err := r.owners.order(ctx, id, recall{req})
	found, _ := got.(recalled)
	return found, err
}
