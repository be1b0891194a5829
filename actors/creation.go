package actors

import (
	"context"
	"encoding/binary"
	"time"

	"inboxd/internal/account"
	"inboxd/internal/fault"
	"inboxd/internal/inbox"
	"inboxd/internal/once"
)

// Creating an inbox crosses two partitions, so it goes in small idempotent steps: reserve
// a place at the account (the quota counts live and reserved), create at the address (its
// own serial owner decides who is first), then confirm or release the place. Under an own
// domain the creation is noted there before it is made. A crash between the steps leaves a
// reservation, which repair settles by what the address says.

// reservationAge is when a reservation is taken for the leftover of a crash.
const reservationAge = time.Minute

// placeTries is how often a generated address that turns out to be taken is drawn again.
const placeTries = 4

// CreateInbox places the order by the account's plan and creates the inbox.
func (r *Registry) CreateInbox(ctx context.Context, id account.ID, order inbox.Order) (*inbox.View, inbox.Placement, error) {
	place, _, err := r.createBy(ctx, id, order, nil)
	if err != nil {
		return nil, place, err
	}
	view, err := r.inboxes.View(ctx, place.Address)
	return view, place, err
}

// createBy creates an inbox. record, when it is not nil, makes the record of a request that
// may be repeated; if a record is there already, that is the answer, and nothing is done.
func (r *Registry) createBy(ctx context.Context, id account.ID, order inbox.Order, record func(inbox.Placement, time.Time) *once.Record) (inbox.Placement, *once.Record, error) {
	picture, err := r.owners.picture(ctx, id)
	if err != nil {
		return inbox.Placement{}, nil, err
	}
	r.repair(ctx, id, picture)
	plan, ns := r.plans.Of(picture.profile.Plan), r.namespaces
	if order.Domain != nil {
		if ns, err = r.domains.namespaceFor(ctx, id, *order.Domain); err != nil {
			return inbox.Placement{}, nil, err
		}
	} else if order.Subdomain != nil && plan.Subdomains {
		if err := r.claimSubdomain(ctx, *order.Subdomain, id); err != nil {
			return inbox.Placement{}, nil, err
		}
	}
	for try := 1; ; try++ {
		place, err := order.Place(plan, ns, [3]uint64{r.random64(), r.random64(), r.random64()})
		if err != nil {
			return inbox.Placement{}, nil, err
		}
		known, err := r.create(ctx, id, place, record)
		if err == nil {
			return place, known, nil
		}
		if order.Prefix != nil || try == placeTries || !fault.Is(err, fault.Refused) {
			return inbox.Placement{}, nil, err
		}
	}
}

// claimSubdomain makes label the account's own if nobody used it before (specification,
// Addresses). A creation that fails later leaves the claim.
func (r *Registry) claimSubdomain(ctx context.Context, label string, id account.ID) error {
	if err := inbox.CheckLabel(label); err != nil {
		return err
	}
	holder, err := r.subdomains.Order(ctx, label, account.ClaimName{By: id})
	if err == nil && holder != id {
		err = fault.New(fault.Refused, "The subdomain "+label+" is taken")
	}
	return err
}

// create runs the three steps for one address, but none when the request is known already.
func (r *Registry) create(ctx context.Context, id account.ID, place inbox.Placement, record func(inbox.Placement, time.Time) *once.Record) (known *once.Record, err error) {
	reserve := account.ReserveInbox{Address: place.Address, At: r.now(), Label: place.Label, RetentionHours: place.RetentionHours}
	if record != nil {
		reserve.Record = record(place, reserve.At)
	}
	got, err := r.owners.order(ctx, id, reserve)
	if known, _ := got.(*once.Record); known != nil || err != nil {
		return known, err
	}
	return nil, r.finish(ctx, id, inbox.Create{
		Address: place.Address, Account: id, Label: place.Label, RetentionHours: place.RetentionHours, At: reserve.At,
		Again: record != nil, // a repeat may be at the same work
	})
}

// finish takes a reserved place through the other steps.
func (r *Registry) finish(ctx context.Context, id account.ID, create inbox.Create) error {
	err := r.domains.join(ctx, id, create.Address, create.At)
	if err == nil {
		_, err = r.inboxes.Do(ctx, create.Address, create)
	}
	if err != nil {
		r.release(ctx, id, create.Address, create.At, err)
		return err
	}
	_, err = r.owners.order(ctx, id, account.ConfirmInbox{Address: create.Address})
	return err
}

// release gives a reservation back when the creation was refused, behind its place under a domain:
// the reservation is what a repair finds. After any other failure nobody knows whether the inbox is
// there: repair finds out later.
func (r *Registry) release(ctx context.Context, id account.ID, address string, at time.Time, why error) {
	if (fault.Is(why, fault.Refused) || fault.Is(why, fault.StorageFull)) && r.domains.leave(ctx, address, at) == nil {
		r.owners.notify(id, account.ReleaseInbox{Address: address, CreatedAt: at})
	}
}

// repair settles reservations that a crash or a time-out left behind.
func (r *Registry) repair(ctx context.Context, id account.ID, picture accountPicture) {
	for address, reservation := range picture.reserved {
		if r.now().Sub(reservation.At) >= reservationAge {
			r.repairOne(ctx, id, address, reservation.At)
		}
	}
}

// repairOne asks the address's owner what became of the creation; whoever may still be at work on
// it can't change the answer. What fails is left to the next repair.
func (r *Registry) repairOne(ctx context.Context, id account.ID, address string, at time.Time) {
	made, err := r.inboxes.made(ctx, id, address, at)
	switch {
	case err != nil:
	case made:
		_, _ = r.owners.order(ctx, id, account.ConfirmInbox{Address: address})
	default:
		_ = r.unlist(ctx, id, address, at)
	}
}

func (r *Registry) random64() uint64 {
	var b [8]byte
	r.random(b[:])
	return binary.LittleEndian.Uint64(b[:])
}
