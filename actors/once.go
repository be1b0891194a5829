package actors

import (
	"cmp"
	"context"
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
	command       inbox.Command
	request       idempotency.Request
	encodeOutcome func(inbox.CommandOutcome) []byte
}

// recallOnce asks for the result of an earlier request.
type recallOnce struct{ request idempotency.Request }

func (e *inboxEntity) recallOnce(c recallOnce) (any, error) {
	known, err := e.onceRecord(c.request.Key)
	if err != nil || known == nil || known.IsExpired(endingTime(e.store, e.now())) {
		return nil, err
	}
	return known.FirstResult, known.CheckSame(c.request)
}

// decideOnce leaves no record of a request that changed nothing: a repeat changes nothing either.
func (e *inboxEntity) decideOnce(c onceCommand) (any, error) {
	now := e.now()
	known, err := e.onceRecord(c.request.Key)
	switch {
	case err != nil:
		return nil, err
	case known != nil && !known.IsExpired(endingTime(e.store, now)):
		return known.FirstResult, known.CheckSame(c.request)
	}
	owner := e.state.Account
	if err := e.requestQuota.checkRoom(owner); err != nil {
		return nil, err
	}
	got, changed, err := e.applyCommand(c.command)
	if err != nil {
		return nil, err
	}
	given := idempotency.FirstResult{EncodedResponse: c.encodeOutcome(got)}
	if changed {
		record := idempotency.Record{Request: c.request, At: now, FirstResult: given, Owner: owner}
		e.pendingRows.IdempotencyRecords.Add(record)
		e.requestQuota.addRecord(&record)
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
	mu          sync.Mutex                              // guards all below
	heldRecords map[account.ID]idempotency.RecordUsage  // by the last walk, and what was added since it began
	nextHeld    map[account.ID]*idempotency.RecordUsage // by the current walk
	walkBegan   time.Time                               // start of the current walk
}

// checkRoom refuses a record if the account has as many as it may have.
func (q *requestQuota) checkRoom(id account.ID) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.heldRecords[id].CheckQuota()
}

// addRecord counts a record that is about to be committed.
func (q *requestQuota) addRecord(r *idempotency.Record) {
	q.mu.Lock()
	defer q.mu.Unlock()
	h := q.heldRecords[r.Owner]
	h.AddRecord(r.Size())
	if q.heldRecords == nil {
		q.heldRecords = map[account.ID]idempotency.RecordUsage{}
	}
	q.heldRecords[r.Owner] = h
	q.countRecord(r.Owner, r.Size())
}

// countRecord adds to the current walk.
func (q *requestQuota) countRecord(id account.ID, size int64) {
	if q.nextHeld[id] == nil {
		if q.nextHeld == nil {
			q.nextHeld = map[account.ID]*idempotency.RecordUsage{}
		}
		q.nextHeld[id] = &idempotency.RecordUsage{}
	}
	q.nextHeld[id].AddRecord(size)
}

// BeginWalk begins a walk over all records.
func (q *requestQuota) BeginWalk(now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.nextHeld, q.walkBegan = nil, now.Truncate(time.Millisecond) // times of records have millisecond precision
}

// CountRecord counts a record that stays. add already counted those made since the walk began.
func (q *requestQuota) CountRecord(r *idempotency.Record) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if r.At.Before(q.walkBegan) {
		q.countRecord(r.Owner, r.Size())
	}
}

// EndWalk ends the walk and replaces the old counts with its own.
func (q *requestQuota) EndWalk() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.heldRecords = make(map[account.ID]idempotency.RecordUsage, len(q.nextHeld))
	for id, h := range q.nextHeld {
		q.heldRecords[id] = *h
	}
}

// runningRequests holds the named requests in progress; any goroutine may use it. The values are
// channels that are closed when a request ends.
type runningRequests struct{ at sync.Map }

// requestName identifies a request.
type requestName struct {
	address string
	key     idempotency.RequestKey
}

// awaitTurn waits until no request of this name is in progress. The caller's then is in progress until
// done is called.
func (rs *runningRequests) awaitTurn(ctx context.Context, name requestName) (done func(), err error) {
	ended := make(chan struct{})
	for {
		before, busy := rs.at.LoadOrStore(name, ended)
		if !busy {
			return func() { rs.at.Delete(name); close(ended) }, nil
		}
		select {
		case <-before.(chan struct{}):
		case <-ctx.Done():
			return nil, engine.BusyError(ctx.Err())
		}
	}
}

// onceRecord searches the group being decided, then the store.
func (e *inboxEntity) onceRecord(key idempotency.RequestKey) (*idempotency.Record, error) {
	if e.pendingRows != nil {
		if put, dropped := e.pendingRows.IdempotencyRecords.Find(key); put != nil || dropped {
			return put, nil
		}
	}
	return e.store.InboxOnce(e.Key(), key)
}

type (
	// recallRecord asks an account for the record of a request.
	recallRecord struct{ idempotency.Request }
	// recalledRecord is the result: no record, or a record, with its reservation if that still exists.
	recalledRecord struct {
		record             *idempotency.Record
		pendingReservation *account.InboxReservation
	}
)

func (e *accountEntity) recallRequest(req idempotency.Request) (any, error) {
	known, err := e.onceRecord(req.Key)
	if err != nil || known == nil || known.IsExpired(endingTime(e.store, e.now())) {
		return recalledRecord{}, err
	}
	if err := known.CheckSame(req); err != nil {
		return recalledRecord{}, err
	}
	r, reserved := e.state.ReservedInboxes[known.Address]
	if !reserved || r.IdempotencyKey != known.Key || !r.At.Equal(known.At) {
		return recalledRecord{record: known}, nil
	}
	return recalledRecord{known, &r}, nil
}

// reserveInbox returns the reservation. If a record of the request exists, it returns that and reserves
// nothing.
func (e *accountEntity) reserveInbox(cmd account.ReserveInbox) (any, error) {
	if cmd.IdempotencyRecord != nil {
		known, err := e.onceRecord(cmd.IdempotencyRecord.Key)
		if err != nil || known != nil && !known.IsExpired(endingTime(e.store, cmd.At)) {
			return known, err
		}
		if err := e.requestQuota.checkRoom(e.id); err != nil {
			return nil, err
		}
		cmd.IdempotencyRecord.Owner = e.id
	}
	// A creation is identified by its time, so an inbox created at this very moment would be
	// mistaken for the new one.
	listed, _, err := e.isListed(account.InboxEntry{Address: cmd.Address, CreatedAt: cmd.At, IsLive: true})
	if err != nil || listed {
		return nil, cmp.Or(err, error(fault.RefuseField("prefix", fault.CodeAddressTaken, "The address %s is taken", cmd.Address)))
	}
	if err := e.orderClaim(&cmd); err != nil {
		return nil, err
	}
	if cmd.IdempotencyRecord != nil {
		e.requestQuota.addRecord(cmd.IdempotencyRecord)
	}
	return e.state.ReservedInboxes[cmd.Address], nil
}

func (e *accountEntity) onceRecord(key idempotency.RequestKey) (*idempotency.Record, error) {
	if e.pendingRows != nil {
		if put, dropped := e.pendingRows.IdempotencyRecords.Find(key); put != nil || dropped {
			return put, nil
		}
	}
	return e.store.AccountOnce(e.id, key)
}

// CreateInboxOnce is CreateInbox for an idempotent request. encode is as in DoOnce.
func (r *InboxRegistry) CreateInboxOnce(ctx context.Context, id account.ID, order inbox.CreationRequest, req idempotency.Request, encode func(inbox.Placement, time.Time) []byte) (idempotency.FirstResult, error) {
	var made *idempotency.Record
	record := func(place inbox.Placement, at time.Time) *idempotency.Record {
		made = &idempotency.Record{Request: req, At: at, FirstResult: idempotency.FirstResult{Address: place.Address, EncodedResponse: encode(place, at)}}
		return made
	}
	for range placeTries {
		known, err := r.resumeRequest(ctx, id, req)
		switch {
		case fault.Is(err, fault.Refused):
			continue // the address was taken by another account, and the place was released
		case err != nil:
			return idempotency.FirstResult{}, err
		case known != nil:
			return known.FirstResult, nil
		}
		_, known, err = r.createBy(ctx, id, order, record)
		switch {
		case err != nil:
			return idempotency.FirstResult{}, err
		case known == nil:
			return made.FirstResult, nil
		}
		// A repeat was faster since resume: continue with its creation.
	}
	return idempotency.FirstResult{}, engine.BusyError(nil)
}

// resumeRequest returns the record of a request, or nil if none exists. It first finishes a creation
// that is in progress or was interrupted; a creation that a repair gave up meanwhile is refused.
func (r *InboxRegistry) resumeRequest(ctx context.Context, id account.ID, req idempotency.Request) (*idempotency.Record, error) {
	found, err := r.recallRequest(ctx, id, req)
	if err != nil || found.pendingReservation == nil {
		return found.record, err
	}
	return found.record, r.finishCreation(ctx, id, found.record.Address, *found.pendingReservation, true)
}

// CheckRequest refuses the key of a creation if it was used with another request.
func (r *InboxRegistry) CheckRequest(ctx context.Context, id account.ID, req idempotency.Request) error {
	_, err := r.recallRequest(ctx, id, req)
	return err
}

func (r *InboxRegistry) recallRequest(ctx context.Context, id account.ID, req idempotency.Request) (recalledRecord, error) {
	got, err := r.owners.sendCommand(ctx, id, recallRecord{req})
	found, _ := got.(recalledRecord)
	return found, err
}
