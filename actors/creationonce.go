package actors

import (
	"context"
	"time"

	"inboxd/actors/engine"
	"inboxd/internal/account"
	"inboxd/internal/fault"
	"inboxd/internal/inbox"
	"inboxd/internal/once"
)

// CreateInboxOnce is CreateInbox for a request that may be repeated. tell is as for
// DoOnce.
func (r *Registry) CreateInboxOnce(ctx context.Context, id account.ID, order inbox.Order, req once.Request, tell func(inbox.Placement, time.Time) []byte) (once.Result, error) {
	var made *once.Record
	kept := func(place inbox.Placement, at time.Time) *once.Record {
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
		_, known, err = r.createBy(ctx, id, order, kept)
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

// resume returns the record of a request, nil when there is none. A creation that is at
// work, or was cut off, is finished first: under the lock that keeps repair from giving the
// place back meanwhile.
func (r *Registry) resume(ctx context.Context, id account.ID, req once.Request) (*once.Record, error) {
	found, err := r.recall(ctx, id, req)
	if err != nil || found.reservation == nil {
		return found.record, err
	}
	mu := r.resuming.Of(id.String())
	mu.Lock()
	defer mu.Unlock()
	if found, err = r.recall(ctx, id, req); err != nil {
		return nil, err
	}
	if place := found.reservation; place != nil {
		err = r.finish(ctx, id, inbox.Create{
			Address: found.record.Address, Account: id, Label: place.Label, RetentionHours: place.RetentionHours, At: place.At, Again: true,
		})
	}
	return found.record, err
}

func (r *Registry) recall(ctx context.Context, id account.ID, req once.Request) (recalled, error) {
	got, err := r.owners.order(ctx, id, recall{req})
	found, _ := got.(recalled)
	return found, err
}
