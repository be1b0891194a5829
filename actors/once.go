package actors

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"inboxd/actors/engine"
	"inboxd/internal/account"
	"inboxd/internal/fault"
	"inboxd/internal/inbox"
	"inboxd/internal/once"
)

// A request that may be repeated leaves a record in the batch of what it does (specification,
// Repeats; ADR 0010). The owner that decides it is serial, so a repeat finds the record, or is
// decided after the first has failed and left none; and it is answered after the commit.
//
// For a command to one inbox that is all. Creating an inbox crosses partitions: its record,
// with the whole answer, goes with the reservation. While the address is still reserved
// for it the request is at work, or a crash cut it off: a repeat goes on with the very same
// creation, which changes nothing where it was done. When the place is given back, the
// record goes too.

// onceCommand is a command to an inbox with the request that it comes from.
type onceCommand struct {
	command inbox.Command
	request once.Request
	tell    func(inbox.Outcome) []byte
}

// recallOnce asks for the answer to a request that was answered before.
type recallOnce struct{ request once.Request }

func (e *inboxEntity) recallOnce(c recallOnce) (any, error) {
	known, err := e.onceRecord(c.request.Key)
	if err != nil || known == nil || known.Over(e.now()) {
		return nil, err
	}
	return known.Result, known.Check(c.request)
}

func (e *inboxEntity) decideOnce(c onceCommand) (any, error) {
	now := e.now()
	known, err := e.onceRecord(c.request.Key)
	switch {
	case err != nil:
		return nil, err
	case known != nil && !known.Over(now):
		return known.Result, known.Check(c.request)
	}
	got, err := e.Decide(c.command)
	if err != nil {
		return nil, err
	}
	given := once.Result{Told: c.tell(got.(inbox.Outcome))}
	e.begin()
	e.rows.Once.Add(once.Record{Request: c.request, At: now, Result: given})
	return given, nil
}

// repeats are the named requests that are at work; any goroutine may use them. The values are
// channels that close at their end.
type repeats struct{ at sync.Map }

// repeated is a request by its name.
type repeated struct {
	address string
	key     once.Key
}

// turn waits until no request of this name is at work, and counts as one until done is called.
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

// onceRecord looks into the group being decided, then into the store.
func (e *inboxEntity) onceRecord(key once.Key) (*once.Record, error) {
	if e.rows != nil {
		if put, dropped := e.rows.Once.Find(key); put != nil || dropped {
			return put, nil
		}
	}
	return e.store.InboxOnce(e.Key(), key)
}

type (
	// recall asks an account for the record of a request.
	recall struct{ once.Request }
	// recalled is its answer: no record, or one with the reservation that it waits for.
	recalled struct {
		record      *once.Record
		reservation *account.Reservation
	}
)

func (e *accountEntity) recall(req once.Request) (any, error) {
	known, err := e.onceRecord(req.Key)
	if err != nil || known == nil || known.Over(e.now()) {
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

// reserve answers with the reservation; with the record when the request is known already, and then
// reserves nothing.
func (e *accountEntity) reserve(cmd account.ReserveInbox) (any, error) {
	if cmd.Record != nil {
		known, err := e.onceRecord(cmd.Record.Key)
		if err != nil || known != nil && !known.Over(cmd.At) {
			return known, err
		}
	}
	// An inbox of this very moment would pass for the one to be made: a creation is known by its time.
	listed, _, err := e.listed(account.InboxEntry{Address: cmd.Address, CreatedAt: cmd.At, Live: true})
	if err != nil || listed {
		return nil, cmp.Or(err, error(fault.New(fault.Refused, fmt.Sprintf("The address %s is taken", cmd.Address))))
	}
	if err := e.orderClaim(&cmd); err != nil {
		return nil, err
	}
	return e.state.Reserved[cmd.Address], nil
}

func (e *accountEntity) onceRecord(key once.Key) (*once.Record, error) {
	if e.rows != nil {
		if put, dropped := e.rows.Once.Find(key); put != nil || dropped {
			return put, nil
		}
	}
	return e.store.AccountOnce(e.id, key)
}

// CreateInboxOnce is CreateInbox for a request that may be repeated. tell is as for
// DoOnce.
func (r *Registry) CreateInboxOnce(ctx context.Context, id account.ID, order inbox.Order, req once.Request, tell func(inbox.Placement, time.Time) []byte) (once.Result, error) {
	var made *once.Record
	record := func(place inbox.Placement, at time.Time) *once.Record {
		made = &once.Record{Request: req, At: at, Result: once.Result{Address: place.Address, Told: tell(place, at)}}
		return made
	}
	for range placeTries {
		known, err := r.resume(ctx, id, req)
		switch {
		case fault.Is(err, fault.Refused):
			continue // the address went to somebody else, and the place was given back
		case err != nil:
			return once.Result{}, err
		case known != nil:
			return known.Result, nil
		}
		_, known, err = r.createBy(ctx, id, order, record)
		switch {
		case err != nil:
			return once.Result{}, err
		case known == nil:
			return made.Result, nil
		}
		// A repeat was faster since resume: join it.
	}
	return once.Result{}, engine.Busy(nil)
}

// resume returns the record of a request, nil when there is none. A creation that is at work,
// or was cut off, is finished first; one that a repair gave up meanwhile is refused.
func (r *Registry) resume(ctx context.Context, id account.ID, req once.Request) (*once.Record, error) {
	found, err := r.recall(ctx, id, req)
	if err != nil || found.reservation == nil {
		return found.record, err
	}
	return found.record, r.finish(ctx, id, found.record.Address, *found.reservation, true)
}

// CheckRequest refuses the name of a creation that was used with another request.
func (r *Registry) CheckRequest(ctx context.Context, id account.ID, req once.Request) error {
	_, err := r.recall(ctx, id, req)
	return err
}

func (r *Registry) recall(ctx context.Context, id account.ID, req once.Request) (recalled, error) {
	got, err := r.owners.order(ctx, id, recall{req})
	found, _ := got.(recalled)
	return found, err
}
