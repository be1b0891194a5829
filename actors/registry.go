package actors

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"sync/atomic"
	"time"

	"inboxd/actors/engine"
	"inboxd/actors/uniqueness"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
)

// RegistryStore is the storage that the list of an account's inboxes needs.
type RegistryStore interface {
	ListInboxes(id account.ID, after account.InboxEntry, limit int) ([]account.InboxEntry, error)
	// CalendarShared reports whether the calendar of the inbox at an address has a link.
	CalendarShared(address string) (bool, error)
	SubdomainHolder(label string) (account.NameHolder, error)
	SetSubdomain(label string, holder account.NameHolder) error
}

// InboxRegistry creates, lists, changes and deletes the inboxes of accounts. It is immutable; any
// goroutine may use it.
type InboxRegistry struct {
	inboxes     *InboxService
	owners      accountOwners
	subdomains  uniqueness.NameRegistry // a label belongs to one account
	credentials *CredentialService
	domains     *OwnDomains
	store       RegistryStore
	plans       account.Plans
	capacities  *capacityCache
	namespaces  inbox.Namespaces
	now         func() time.Time
	fillRandom  func([]byte)
}

// inboxStep is the least number of entries of an account's list that are read at once.
const inboxStep = 256

// ListInboxes pages through the account's inboxes that take accepts, newest first; take is not
// called for damaged ones. If a run deleted an inbox and crashed before it was unlisted,
// ListInboxes removes the entry now.
func (r *InboxRegistry) ListInboxes(ctx context.Context, id account.ID, cursor string, limit int, take func(*inbox.View) bool) (page inbox.ListPage, err error) {
	after, err := parseCursor(cursor)
	if err != nil {
		return page, err
	}
	var last account.InboxEntry
	named := 0 // damaged ones before last
	for step := max(limit+1, inboxStep); ; {
		entries, err := r.store.ListInboxes(id, after, step)
		if err != nil {
			return inbox.ListPage{}, engine.BusyError(err)
		}
		for _, e := range entries {
			switch view, err := r.listedInbox(ctx, id, e); {
			case fault.Is(err, fault.DataDamaged):
				page.DamagedAddresses = append(page.DamagedAddresses, e.Address)
			case err != nil:
				return inbox.ListPage{}, err
			case view == nil || !take(view):
			case len(page.Views) == limit:
				page.DamagedAddresses, page.NextCursor = page.DamagedAddresses[:named], formatCursor(last)
				return page, nil
			default:
				page.Views, last, named = append(page.Views, view), e, len(page.DamagedAddresses)
			}
		}
		if len(entries) < step {
			return page, nil
		}
		after = entries[step-1]
	}
}

// listedInbox returns the inbox of an entry; nil if it is gone.
func (r *InboxRegistry) listedInbox(ctx context.Context, id account.ID, e account.InboxEntry) (*inbox.View, error) {
	view, err := r.inboxes.InboxView(ctx, e.Address)
	if fault.Is(err, fault.NoInbox) {
		_ = r.unlist(ctx, id, e.Address, e.CreatedAt) // otherwise the next reader does it
		return nil, nil
	}
	return view, err
}

// UpdateInbox changes label and retention within the account's plan. It returns the fields that the
// plan does not cover, with a note for the client.
func (r *InboxRegistry) UpdateInbox(ctx context.Context, id account.ID, address string, cmd inbox.UpdateSettings) (ignored []string, note string, err error) {
	picture, err := r.owners.readSnapshot(ctx, id)
	if err != nil {
		return nil, "", err
	}
	plan := r.plans.Of(picture.profile.Plan)
	if cmd.Label != nil && !plan.LabelsAllowed {
		cmd.Label, ignored = nil, append(ignored, "label")
	}
	if cmd.RetentionHours != nil {
		if err := inbox.CheckRetention(*cmd.RetentionHours); err != nil {
			return nil, "", err
		}
		hours := plan.EffectiveRetention(cmd.RetentionHours)
		cmd.RetentionHours = &hours
	}
	_, err = r.inboxes.Do(ctx, address, cmd)
	return ignored, inbox.IgnoredNote(plan, ignored), err
}

// InboxCapacity returns how much mail each inbox of an account may hold.
func (r *InboxRegistry) InboxCapacity(_ context.Context, id account.ID) (inbox.Capacity, error) {
	known, err := r.capacities.currentCapacity(id)
	if err != nil {
		return inbox.Capacity{}, err
	}
	return known.Capacity, nil
}

// DeleteInbox deletes the inbox at its address, revokes its key, and removes it from the account's
// list. A crash between the steps leaves a key that is valid only for this address and this
// account.
func (r *InboxRegistry) DeleteInbox(ctx context.Context, id account.ID, address string) error {
	view, err := r.inboxes.InboxView(ctx, address)
	if err != nil {
		return err
	}
	if _, err := r.inboxes.Do(ctx, address, inbox.Delete{}); err != nil {
		return err
	}
	if err := r.credentials.RevokeInboxKey(ctx, id, address); err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	return r.unlist(ctx, id, address, view.CreatedAt)
}

// hideCalendars removes the links to the calendars of all inboxes of an account, and returns how
// many.
func (r *InboxRegistry) hideCalendars(ctx context.Context, id account.ID) (int64, error) {
	var hidden atomic.Int64
	for after := (account.InboxEntry{}); ; {
		entries, err := r.store.ListInboxes(id, after, inboxStep)
		if err != nil {
			return 0, engine.BusyError(err)
		}
		if err := runConcurrently(len(entries), func(i int) error {
			n, err := r.hideCalendar(ctx, id, entries[i].Address)
			hidden.Add(int64(n))
			return err
		}); err != nil {
			return 0, err
		}
		if len(entries) < inboxStep {
			return hidden.Load(), nil
		}
		after = entries[len(entries)-1]
	}
}

// hideCalendar removes the link to the calendar of an inbox, unless the inbox is gone or belongs to
// another account. Most inboxes have no link: that check activates nothing.
func (r *InboxRegistry) hideCalendar(ctx context.Context, id account.ID, address string) (int, error) {
	shared, err := r.store.CalendarShared(address)
	if err == nil && !shared {
		return 0, nil
	}
	view, err := r.inboxes.ViewFor(ctx, id, address)
	if err == nil && view.Calendar.CurrentLink() != nil {
		var done inbox.CommandOutcome
		done, err = r.inboxes.Do(ctx, address, inbox.HideCalendar{})
		return done.Count, err
	}
	if fault.Is(err, fault.NoInbox) || fault.Is(err, fault.DataDamaged) { // their links do not work anyway
		err = nil
	}
	return 0, err
}

// unlist removes a deleted inbox from its domain's list, and then from its account's list. After a
// crash between the two, the account's list is how it is found again.
func (r *InboxRegistry) unlist(ctx context.Context, id account.ID, address string, created time.Time) error {
	if err := r.domains.detachInbox(ctx, address, created); err != nil {
		return err
	}
	_, err := r.owners.sendCommand(ctx, id, account.ReleaseInbox{Address: address, CreatedAt: created})
	return err
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
	return account.InboxEntry{Address: string(b[8:]), CreatedAt: at, IsLive: true}, nil
}
