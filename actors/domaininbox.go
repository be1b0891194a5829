package actors

import (
	"context"
	"strings"
	"time"

	"inboxd/actors/engine"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/domain"
	"inboxd/internal/core/inbox"
)

// Inboxes under own domains stand on their domain's list, so that RCPT knows whom the
// domain serves and a release knows what is left.

// leftoversAtOnce bounds the repair before a release: what a crash leaves is little.
const leftoversAtOnce = 1000

// join puts a creation on the list of its domain, if it has one of its own: before the inbox lives,
// so that no release misses it.
func (d *OwnDomains) join(ctx context.Context, id account.ID, address string, at time.Time) error {
	host := hostOf(address)
	if domain.Within(host, d.namespaces.Domain) {
		return nil
	}
	_, err := d.owners.order(ctx, host, domain.Attach{Account: id, Address: address, At: at})
	return err
}

// leave takes an inbox that is gone, or a creation that never can be made any more, off its
// domain's list. It may be repeated, and come late.
func (d *OwnDomains) leave(ctx context.Context, address string, at time.Time) error {
	host := hostOf(address)
	if domain.Within(host, d.namespaces.Domain) {
		return nil
	}
	live, err := d.store.Live(address)
	if err != nil {
		return engine.Busy(err)
	}
	_, err = d.owners.order(ctx, host, domain.Detach{Address: address, At: at, Dead: !live})
	return err
}

// detachLeftovers takes off the domain's list what a crash between two steps left there. A
// creation that is under way is ended for it, or keeps its place.
func (d *OwnDomains) detachLeftovers(ctx context.Context, state domain.State) error {
	if state.Inboxes == 0 {
		return nil
	}
	entries, err := d.store.AttachedInboxes(state.Name, "", leftoversAtOnce)
	if err != nil {
		return engine.Busy(err)
	}
	for _, e := range entries {
		for _, at := range e.Times {
			made, err := d.inboxes.made(ctx, state.Account, e.Address, at)
			if err == nil && !made {
				err = d.leave(ctx, e.Address, at)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// namespaceFor narrows where addresses may live to the domain of an order; no domain at
// all when it is not a verified one of this account.
func (d *OwnDomains) namespaceFor(ctx context.Context, id account.ID, given string) (inbox.Namespaces, error) {
	ns := d.namespaces
	if _, err := domain.Parse(given); err != nil {
		return ns, err
	}
	state, err := d.ownState(ctx, id, given)
	switch {
	case fault.Is(err, fault.NotFound):
		return ns, nil
	case err == nil && state.Status == domain.Verified:
		ns.Own = state.Name
	}
	return ns, err
}

// hostOf is the part behind the @.
func hostOf(address string) string { return address[strings.LastIndexByte(address, '@')+1:] }

// served refuses mail for an inbox that stayed behind on a domain of somebody else.
func (d *OwnDomains) served(address string) error {
	gone, err := forsaken(d.store, d.namespaces.Domain, address)
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
func forsaken(store DomainStore, service, address string) (bool, error) {
	host := hostOf(address)
	if domain.Within(host, service) {
		return false, nil
	}
	state, err := store.LoadDomain(host)
	if err != nil || state.VerifiedAt.IsZero() {
		return false, err
	}
	noted, err := store.Attached(host, address)
	return len(noted) == 0, err
}
