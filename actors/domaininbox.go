package actors

import (
	"context"
	"strings"
	"time"

	"inboxd/actors/engine"
	"inboxd/internal/account"
	"inboxd/internal/domain"
	"inboxd/internal/fault"
	"inboxd/internal/inbox"
	"inboxd/internal/once"
)

// Inboxes under own domains stand on their domain's list, so that RCPT knows whom the
// domain serves and a release knows what is left.

// leftoversAtOnce bounds the repair before a release: what a crash leaves is little.
const leftoversAtOnce = 1000

// detachLeftovers takes inboxes off the domain's list that a crash between two steps left
// there: nobody lives at their address.
func (s *System) detachLeftovers(ctx context.Context, state domain.State) error {
	if state.Inboxes == 0 {
		return nil
	}
	addresses, err := s.store.AttachedInboxes(state.Name, "", leftoversAtOnce)
	if err != nil {
		return engine.Busy(err)
	}
	for _, address := range addresses {
		if err := s.detachDead(ctx, state.Name, address); err != nil {
			return err
		}
	}
	return nil
}

// detachDead takes address off the list of name unless an inbox lives there. The lock
// keeps a creation at the same address from being between its steps.
func (s *System) detachDead(ctx context.Context, name, address string) error {
	mu := s.names.Of(address)
	mu.Lock()
	defer mu.Unlock()
	return s.detach(ctx, name, address)
}

// detach is detachDead for who holds the lock.
func (s *System) detach(ctx context.Context, name, address string) error {
	live, err := s.store.Live(address)
	if err != nil {
		return engine.Busy(err)
	}
	if live {
		return nil
	}
	_, err = s.orderDomain(ctx, name, domain.Detach{Address: address})
	return err
}

// ownNamespace narrows where addresses may live to the domain of an order; no domain at
// all when it is not a verified one of this account.
func (s *System) ownNamespace(ctx context.Context, id account.ID, given string) (inbox.Namespaces, error) {
	ns := s.Namespaces
	if _, err := domain.Parse(given); err != nil {
		return ns, err
	}
	state, err := s.ownState(ctx, id, given)
	switch {
	case fault.Is(err, fault.NotFound):
		return ns, nil
	case err == nil && state.Status == domain.Verified:
		ns.Own = state.Name
	}
	return ns, err
}

// createUnder creates an inbox under an own domain, if there is a name: it stands on the
// domain's list before it lives, so that no release can miss it.
func (s *System) createUnder(ctx context.Context, id account.ID, name string, place inbox.Placement, kept func(inbox.Placement, time.Time) *once.Record) (*once.Record, error) {
	if name == "" {
		return s.create(ctx, id, place, kept)
	}
	mu := s.names.Of(place.Address)
	mu.Lock()
	defer mu.Unlock()
	if _, err := s.orderDomain(ctx, name, domain.Attach{Account: id, Address: place.Address}); err != nil {
		return nil, err
	}
	known, err := s.create(ctx, id, place, kept)
	if fault.Is(err, fault.Refused) || fault.Is(err, fault.StorageFull) {
		_ = s.detach(ctx, name, place.Address) // what stays is taken off before a release
	}
	return known, err
}

// leaveDomain takes a deleted inbox off its domain's list.
func (s *System) leaveDomain(ctx context.Context, address string) error {
	if host := hostOf(address); !domain.Within(host, s.Namespaces.Domain) {
		return s.detachDead(ctx, host, address)
	}
	return nil
}

// hostOf is the part behind the @.
func hostOf(address string) string { return address[strings.LastIndexByte(address, '@')+1:] }

// served refuses mail for an inbox that stayed behind on a domain of somebody else.
func (s *System) served(address string) error {
	gone, err := s.forsaken(address)
	switch {
	case err != nil:
		return engine.Busy(err)
	case gone:
		return inbox.NoInbox(address)
	}
	return nil
}

// forsaken reports whether an inbox stays behind on a domain that became another
// account's: it gets no more mail (ADR 0016).
func (s *System) forsaken(address string) (bool, error) {
	host := hostOf(address)
	if domain.Within(host, s.Namespaces.Domain) {
		return false, nil
	}
	state, err := s.store.LoadDomain(host)
	if err != nil || state.VerifiedAt.IsZero() {
		return false, err
	}
	attached, err := s.store.Attached(host, address)
	return !attached, err
}
