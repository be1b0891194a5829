package actors

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"time"

	"inboxd/actors/engine"
	"inboxd/internal/account"
	"inboxd/internal/fault"
	"inboxd/internal/inbox"
	"inboxd/internal/once"
)

// Creating an inbox crosses two partitions, so it goes in small idempotent steps: reserve
// a place at the account (the quota counts live and reserved), create at the address (its
// own serial owner decides who is first), then confirm or release the place. A crash
// between the steps leaves a reservation, which repair settles by what the address says.

// reservationAge is when a reservation is taken for the leftover of a crash.
const reservationAge = time.Minute

// placeTries is how often a generated address that turns out to be taken is drawn again.
const placeTries = 4

// CreateInbox places the order by the account's plan and creates the inbox.
func (s *System) CreateInbox(ctx context.Context, id account.ID, order inbox.Order) (*inbox.View, inbox.Placement, error) {
	place, _, err := s.createBy(ctx, id, order, nil)
	if err != nil {
		return nil, place, err
	}
	view, err := s.View(ctx, place.Address)
	return view, place, err
}

// createBy creates an inbox. kept, when it is not nil, makes the record of a request that
// may be repeated; if a record is there already, that is the answer, and nothing is done.
func (s *System) createBy(ctx context.Context, id account.ID, order inbox.Order, kept func(inbox.Placement, time.Time) *once.Record) (inbox.Placement, *once.Record, error) {
	picture, err := s.picture(ctx, id)
	if err != nil {
		return inbox.Placement{}, nil, err
	}
	s.repair(ctx, id, picture)
	plan, ns := s.Plans.Of(picture.profile.Plan), s.Namespaces
	if order.Domain != nil {
		if ns, err = s.ownNamespace(ctx, id, *order.Domain); err != nil {
			return inbox.Placement{}, nil, err
		}
	} else if order.Subdomain != nil && plan.Subdomains {
		if err := s.claimSubdomain(*order.Subdomain, id); err != nil {
			return inbox.Placement{}, nil, err
		}
	}
	for try := 1; ; try++ {
		place, err := order.Place(plan, ns, [3]uint64{s.random64(), s.random64(), s.random64()})
		if err != nil {
			return inbox.Placement{}, nil, err
		}
		known, err := s.createUnder(ctx, id, ns.Own, place, kept)
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
func (s *System) claimSubdomain(label string, id account.ID) error {
	if err := inbox.CheckLabel(label); err != nil {
		return err
	}
	mu := s.names.Of(label)
	mu.Lock()
	defer mu.Unlock()
	owner, taken, err := s.store.SubdomainOwner(label)
	switch {
	case err != nil:
		return engine.Busy(err)
	case !taken:
		return s.store.PutSubdomain(label, id)
	case owner != id:
		return fault.New(fault.Refused, "The subdomain "+label+" is taken")
	}
	return nil
}

// create runs the three steps for one address, but none when the request is known already.
func (s *System) create(ctx context.Context, id account.ID, place inbox.Placement, kept func(inbox.Placement, time.Time) *once.Record) (known *once.Record, err error) {
	reserve := account.ReserveInbox{Address: place.Address, At: s.now(), Label: place.Label, RetentionHours: place.RetentionHours}
	if kept != nil {
		reserve.Record = kept(place, reserve.At)
	}
	got, err := s.ask(ctx, id, reserve)
	if known, _ := got.(*once.Record); known != nil || err != nil {
		return known, err
	}
	return nil, s.finish(ctx, id, inbox.Create{
		Address: place.Address, Account: id, Label: place.Label, RetentionHours: place.RetentionHours, At: reserve.At,
		Again: kept != nil, // a repeat may be at the same work
	})
}

// finish takes a reserved place through the other two steps.
func (s *System) finish(ctx context.Context, id account.ID, create inbox.Create) error {
	if _, err := s.Do(ctx, create.Address, create); err != nil {
		s.release(id, create.Address, create.At, err)
		return err
	}
	_, err := s.ask(ctx, id, account.ConfirmInbox{Address: create.Address})
	return err
}

// release gives a reservation back when the creation was refused. After any other failure
// nobody knows whether the inbox is there: repair finds out later.
func (s *System) release(id account.ID, address string, at time.Time, why error) {
	if fault.Is(why, fault.Refused) || fault.Is(why, fault.StorageFull) {
		s.accounts.Notify(string(id[:]), account.ReleaseInbox{Address: address, CreatedAt: at})
	}
}

// repair settles reservations that a crash or a time-out left behind.
func (s *System) repair(ctx context.Context, id account.ID, picture accountPicture) {
	for address, reservation := range picture.reserved {
		if s.now().Sub(reservation.At) >= reservationAge {
			s.repairOne(ctx, id, address, reservation.At)
		}
	}
}

func (s *System) repairOne(ctx context.Context, id account.ID, address string, at time.Time) {
	mu := s.resuming.Of(id.String())
	mu.Lock()
	defer mu.Unlock()
	view, err := s.View(ctx, address)
	switch {
	case err == nil && view.Account == id && view.CreatedAt.Equal(at):
		_, _ = s.ask(ctx, id, account.ConfirmInbox{Address: address})
	case err == nil, fault.Is(err, fault.NoInbox):
		_, _ = s.ask(ctx, id, account.ReleaseInbox{Address: address, CreatedAt: at})
	}
}

// ListInboxes pages through the account's inboxes, newest first. An inbox that was deleted
// by a run that crashed before it left the list is taken off now.
func (s *System) ListInboxes(ctx context.Context, id account.ID, cursor string, limit int) ([]*inbox.View, string, error) {
	after, err := parseCursor(cursor)
	if err != nil {
		return nil, "", err
	}
	entries, err := s.store.Inboxes(id, after, limit+1)
	if err != nil {
		return nil, "", engine.Busy(err)
	}
	next := ""
	if len(entries) > limit {
		entries = entries[:limit]
		next = formatCursor(entries[limit-1])
	}
	views := make([]*inbox.View, 0, len(entries))
	for _, e := range entries {
		view, err := s.View(ctx, e.Address)
		switch {
		case fault.Is(err, fault.NoInbox):
			s.accounts.Notify(string(id[:]), account.ReleaseInbox{Address: e.Address, CreatedAt: e.CreatedAt})
		case err != nil:
			return nil, "", err
		default:
			views = append(views, view)
		}
	}
	return views, next, nil
}

// UpdateInbox changes label and retention within the account's plan. It names the fields
// that the plan does not cover, and says so.
func (s *System) UpdateInbox(ctx context.Context, id account.ID, address string, cmd inbox.Update) (ignored []string, note string, err error) {
	picture, err := s.picture(ctx, id)
	if err != nil {
		return nil, "", err
	}
	plan := s.Plans.Of(picture.profile.Plan)
	if cmd.Label != nil && !plan.Labels {
		cmd.Label, ignored = nil, append(ignored, "label")
	}
	if cmd.RetentionHours != nil {
		if err := inbox.CheckRetention(*cmd.RetentionHours); err != nil {
			return nil, "", err
		}
		hours := plan.Retention(cmd.RetentionHours)
		cmd.RetentionHours = &hours
	}
	_, err = s.Do(ctx, address, cmd)
	return ignored, inbox.IgnoredNote(plan, ignored), err
}

// DeleteInbox removes the inbox at its address, ends its key, and takes it off the account's
// list. A crash between the steps leaves a key that opens nothing but this address, and only
// for its own account.
func (s *System) DeleteInbox(ctx context.Context, id account.ID, address string) error {
	view, err := s.View(ctx, address)
	if err != nil {
		return err
	}
	if _, err := s.Do(ctx, address, inbox.Delete{}); err != nil {
		return err
	}
	if err := s.RevokeInboxKey(ctx, id, address); err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	if _, err = s.ask(ctx, id, account.ReleaseInbox{Address: address, CreatedAt: view.CreatedAt}); err != nil {
		return err
	}
	return s.leaveDomain(ctx, address)
}

// A cursor is the last entry shown: eight bytes of creation time, then the address.
func formatCursor(e account.InboxEntry) string {
	b := binary.BigEndian.AppendUint64(nil, uint64(e.CreatedAt.UnixMilli()))
	return base64.RawURLEncoding.EncodeToString(append(b, e.Address...))
}

func parseCursor(cursor string) (account.InboxEntry, error) {
	if cursor == "" {
		return account.InboxEntry{}, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(b) < 9 {
		return account.InboxEntry{}, badCursor()
	}
	at := time.UnixMilli(int64(binary.BigEndian.Uint64(b))).UTC()
	return account.InboxEntry{Address: string(b[8:]), CreatedAt: at, Live: true}, nil
}
