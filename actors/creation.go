package actors

import (
	"context"
	"encoding/binary"
	"time"

	"inboxd/actors/engine"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/idempotency"
	"inboxd/internal/core/inbox"
)

// Creating an inbox crosses partitions, so it goes in small idempotent steps: reserve a place at the
// account (the quota counts live and reserved), create at the address (its own serial owner decides
// who is first), then confirm or release the place. In a subdomain of the service the label becomes
// the account's before the inbox is made; under an own domain the creation is noted there. A crash
// between the steps leaves a reservation, which repair settles by what the address says.
//
// The reservation also counts the inbox in the account's claim of the subdomain (ADR 0054). Giving it
// back takes the claim back: what the label's owner has written by then leads to an account that has
// no use for the label.

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
func (r *Registry) createBy(ctx context.Context, id account.ID, order inbox.Order, record func(inbox.Placement, time.Time) *idempotency.Record) (inbox.Placement, *idempotency.Record, error) {
	picture, err := r.owners.reserved(ctx, id, r.now().Add(-reservationAge))
	if err != nil {
		return inbox.Placement{}, nil, err
	}
	r.repair(ctx, id, picture)
	plan, ns := r.plans.Of(picture.profile.Plan), r.namespaces
	if order.Domain != nil {
		if ns, err = r.domains.namespaceFor(ctx, id, *order.Domain); err != nil {
			return inbox.Placement{}, nil, err
		}
	}
	for try := 1; ; try++ {
		place, err := order.Place(plan, ns, [3]uint64{r.random64(), r.random64(), r.random64()})
		if err == nil {
			err = r.free(ctx, id, place)
		}
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

// free refuses a chosen subdomain that another account has a use for, before anything is written. It
// is a look: claimSubdomain decides.
func (r *Registry) free(ctx context.Context, id account.ID, place inbox.Placement) error {
	if place.Subdomain == "" || place.Random {
		return nil
	}
	holder, err := r.store.SubdomainHolder(place.Subdomain)
	switch {
	case err != nil:
		return engine.Busy(err)
	case holder == account.Holding{}, holder.Account == id:
		return nil
	}
	return r.yield(ctx, place.Subdomain, holder)
}

// claimSubdomain makes the subdomain of an address the account's, by the number that the reservation counts
// under.
func (r *Registry) claimSubdomain(ctx context.Context, id account.ID, address string, number int64) error {
	if number == 0 {
		return nil
	}
	label := r.namespaces.Subdomain(address)
	return r.subdomains.Claim(ctx, label, account.Holding{Account: id, Claim: number}, func(holder account.Holding) error {
		return r.yield(ctx, label, holder)
	})
}

// yield asks the account that holds a label for it: nil when it has no use for it, or is gone.
func (r *Registry) yield(ctx context.Context, label string, holder account.Holding) error {
	_, err := r.owners.order(ctx, holder.Account, account.YieldClaim{Claim: account.Claim{Label: label}})
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// create runs the three steps for one address, but none when the request is known already.
func (r *Registry) create(ctx context.Context, id account.ID, place inbox.Placement, record func(inbox.Placement, time.Time) *idempotency.Record) (known *idempotency.Record, err error) {
	reserve := account.ReserveInbox{Address: place.Address, At: r.now(), Label: place.Label, RetentionHours: place.RetentionHours, KeepNewest: place.KeepNewest, Encrypted: place.Encrypted}
	if record != nil {
		reserve.Record = record(place, reserve.At)
	}
	if place.Subdomain != "" {
		reserve.Claim = &account.Claim{Label: place.Subdomain, Random: place.Random}
	}
	got, err := r.owners.order(ctx, id, reserve)
	if known, _ := got.(*idempotency.Record); known != nil || err != nil {
		return known, err
	}
	reserved, _ := got.(account.Reservation)
	return nil, r.finish(ctx, id, place.Address, reserved, record != nil)
}

// finish takes a reserved place through the other steps. again says that a repeat may be at the same
// work.
func (r *Registry) finish(ctx context.Context, id account.ID, address string, place account.Reservation, again bool) error {
	err := r.claimSubdomain(ctx, id, address, place.Claim)
	if err == nil {
		err = r.domains.join(ctx, id, address, place.At)
	}
	if err == nil {
		_, err = r.inboxes.Do(ctx, address, inbox.Create{
			Address: address, Account: id, Label: place.Label, RetentionHours: place.RetentionHours, KeepNewest: place.KeepNewest, Encrypted: place.Encrypted,
			At: place.At, Again: again,
		})
	}
	if err != nil {
		r.release(ctx, id, address, place.At, err)
		return err
	}
	_, err = r.owners.order(ctx, id, account.ConfirmInbox{Address: address, At: place.At})
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
		_, _ = r.owners.order(ctx, id, account.ConfirmInbox{Address: address, At: at})
	default:
		_ = r.unlist(ctx, id, address, at)
	}
}

func (r *Registry) random64() uint64 {
	var b [8]byte
	r.random(b[:])
	return binary.LittleEndian.Uint64(b[:])
}
