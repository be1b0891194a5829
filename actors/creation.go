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

// Creating an inbox crosses partitions, so it runs in small idempotent steps. First reserve a place
// in the account (the quota counts live and reserved inboxes). Then create the inbox at the
// address, whose serial owner decides who is first. Then confirm or release the place. In a
// subdomain of the service, the account claims the label before the inbox is created; under an own
// domain, the domain lists the creation. A crash between the steps leaves a reservation, which
// repair settles by the state of the address.
//
// The reservation also counts the inbox in the account's claim of the subdomain (ADR 0054).
// Releasing the reservation releases the claim. If the label's owner has recorded the account by
// then, the label leads to an account that does not need it.

// reservationAge is the age from which a reservation counts as left by a crash.
const reservationAge = time.Minute

// placeTries is how many times a generated address is drawn if it turns out to be taken.
const placeTries = 4

// CreateInbox chooses an address within the account's plan and creates the inbox.
func (r *InboxRegistry) CreateInbox(ctx context.Context, id account.ID, order inbox.CreationRequest) (*inbox.View, inbox.Placement, error) {
	place, _, err := r.createBy(ctx, id, order, nil)
	if err != nil {
		return nil, place, err
	}
	view, err := r.inboxes.InboxView(ctx, place.Address)
	return view, place, err
}

// createBy creates an inbox. If record is not nil, it makes the record of an idempotent request. If
// such a record exists already, createBy returns it and does nothing.
func (r *InboxRegistry) createBy(ctx context.Context, id account.ID, order inbox.CreationRequest, record func(inbox.Placement, time.Time) *idempotency.Record) (inbox.Placement, *idempotency.Record, error) {
	picture, err := r.owners.readReservations(ctx, id, r.now().Add(-reservationAge))
	if err != nil {
		return inbox.Placement{}, nil, err
	}
	r.repairReservations(ctx, id, picture)
	plan, ns := r.plans.Of(picture.profile.Plan), r.namespaces
	if order.Domain != nil {
		if ns, err = r.domains.namespaceFor(ctx, id, *order.Domain); err != nil {
			return inbox.Placement{}, nil, err
		}
	}
	for try := 1; ; try++ {
		place, err := order.PlaceAddress(plan, ns, [3]uint64{r.random64(), r.random64(), r.random64()})
		if err == nil {
			err = r.checkSubdomainFree(ctx, id, place)
		}
		if err != nil {
			return inbox.Placement{}, nil, err
		}
		known, err := r.createInbox(ctx, id, place, record)
		if err == nil {
			return place, known, nil
		}
		if order.Prefix != nil || try == placeTries || !fault.Is(err, fault.Refused) {
			return inbox.Placement{}, nil, err
		}
	}
}

// checkSubdomainFree refuses a chosen subdomain that another account uses, before anything is
// written. It is only an early check: claimSubdomain decides.
func (r *InboxRegistry) checkSubdomainFree(ctx context.Context, id account.ID, place inbox.Placement) error {
	if place.Subdomain == "" || place.RandomSubdomain {
		return nil
	}
	holder, err := r.store.SubdomainHolder(place.Subdomain)
	switch {
	case err != nil:
		return engine.BusyError(err)
	case holder == account.NameHolder{}, holder.Account == id:
		return nil
	}
	return r.yieldLabel(ctx, place.Subdomain, holder)
}

// claimSubdomain claims the subdomain of an address for the account, under the number by which the
// reservation counts.
func (r *InboxRegistry) claimSubdomain(ctx context.Context, id account.ID, address string, number int64) error {
	if number == 0 {
		return nil
	}
	label := r.namespaces.Subdomain(address)
	return r.subdomains.ClaimName(ctx, label, account.NameHolder{Account: id, ClaimNumber: number}, func(holder account.NameHolder) error {
		return r.yieldLabel(ctx, label, holder)
	})
}

// yieldLabel asks the account that holds a label to release it. It returns nil if that account does not
// need the label or is gone.
func (r *InboxRegistry) yieldLabel(ctx context.Context, label string, holder account.NameHolder) error {
	_, err := r.owners.sendCommand(ctx, holder.Account, account.YieldClaim{Claim: account.SubdomainClaim{Label: label}})
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// createInbox runs the three steps for one address, unless a record of the request exists.
func (r *InboxRegistry) createInbox(ctx context.Context, id account.ID, place inbox.Placement, record func(inbox.Placement, time.Time) *idempotency.Record) (known *idempotency.Record, err error) {
	reserve := account.ReserveInbox{Address: place.Address, At: r.now(), Label: place.Label, RetentionHours: place.RetentionHours, KeepNewest: place.KeepNewest, Encrypted: place.Encrypted}
	if record != nil {
		reserve.IdempotencyRecord = record(place, reserve.At)
	}
	if place.Subdomain != "" {
		reserve.Claim = &account.SubdomainClaim{Label: place.Subdomain, IsRandom: place.RandomSubdomain}
	}
	got, err := r.owners.sendCommand(ctx, id, reserve)
	if known, _ := got.(*idempotency.Record); known != nil || err != nil {
		return known, err
	}
	reserved, _ := got.(account.InboxReservation)
	return nil, r.finishCreation(ctx, id, place.Address, reserved, record != nil)
}

// finishCreation runs the remaining steps for a reserved place. again says that a repeated request
// may run the same steps concurrently.
func (r *InboxRegistry) finishCreation(ctx context.Context, id account.ID, address string, place account.InboxReservation, again bool) error {
	err := r.claimSubdomain(ctx, id, address, place.ClaimNumber)
	if err == nil {
		err = r.domains.attachInbox(ctx, id, address, place.At)
	}
	if err == nil {
		_, err = r.inboxes.Do(ctx, address, inbox.Create{
			Address: address, Account: id, Label: place.Label, RetentionHours: place.RetentionHours, KeepNewest: place.KeepNewest, Encrypted: place.Encrypted,
			At: place.At, AlreadyAttempted: again,
		})
	}
	if err != nil {
		r.releaseReservation(ctx, id, address, place.At, err)
		return err
	}
	_, err = r.owners.sendCommand(ctx, id, account.ConfirmInbox{Address: address, At: place.At})
	return err
}

// releaseReservation releases a reservation if the creation was refused. It leaves the domain's
// list first, because repair finds the work by the reservation. After any other failure it is
// unknown whether the inbox exists: repair finds out later.
func (r *InboxRegistry) releaseReservation(ctx context.Context, id account.ID, address string, at time.Time, why error) {
	if (fault.Is(why, fault.Refused) || fault.Is(why, fault.StorageFull)) && r.domains.detachInbox(ctx, address, at) == nil {
		r.owners.notifyOwner(id, account.ReleaseInbox{Address: address, CreatedAt: at})
	}
}

// repairReservations settles reservations that a crash or a timeout left behind.
func (r *InboxRegistry) repairReservations(ctx context.Context, id account.ID, picture accountPicture) {
	for address, reservation := range picture.reserved {
		if r.now().Sub(reservation.At) >= reservationAge {
			r.repairOne(ctx, id, address, reservation.At)
		}
	}
}

// repairOne asks the address's owner about the outcome of the creation; a request that still runs
// cannot change it afterwards. A failure is left to the next repair.
func (r *InboxRegistry) repairOne(ctx context.Context, id account.ID, address string, at time.Time) {
	made, err := r.inboxes.isCreationDone(ctx, id, address, at)
	switch {
	case err != nil:
	case made:
		_, _ = r.owners.sendCommand(ctx, id, account.ConfirmInbox{Address: address, At: at})
	default:
		_ = r.unlist(ctx, id, address, at)
	}
}

func (r *InboxRegistry) random64() uint64 {
	var b [8]byte
	r.fillRandom(b[:])
	return binary.LittleEndian.Uint64(b[:])
}
