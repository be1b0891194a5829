package actors

import (
	"context"
	"strings"

	"inboxd/actors/engine"
	"inboxd/internal/account"
	"inboxd/internal/domain"
	"inboxd/internal/fault"
	"inboxd/internal/inbox"
)

// Inboxes under own domains stand on their domain's list, so that RCPT knows whom the
// domain serves and a release knows what is left.

// leftoversAtOnce bounds the repair before a release: what a crash leaves is little.
const leftoversAtOnce = 1000

// detachLeftovers takes inboxes off the domain's list that a crash between two steps left
// there: nobody lives at their address.
func (d *OwnDomains) detachLeftovers(ctx context.Context, state domain.State) error {
	if state.Inboxes == 0 {
		return nil
	}
	addresses, err := d.store.AttachedInboxes(state.Name, "", leftoversAtOnce)
	if err != nil {
		return engine.Busy(err)
	}
	for _, address := range addresses {
		if err := d.detachDead(ctx, state.Name, address); err != nil {
			return err
		}
	}
	return nil
}

// detachDead takes address off the list of name unless an inbox lives there. The lock
// keeps a creation at the same address from being between its steps.
func (d *OwnDomains) detachDead(ctx context.Context, name, address string) error {
	mu := d.addresses.Of(address)
	mu.Lock()
	defer mu.Unlock()
	return d.detach(ctx, name, address)
}

// detach is detachDead for who holds the lock.
func (d *OwnDomains) detach(ctx context.Context, name, address string) error {
	live, err := d.store.Live(address)
	if err != nil {
		return engine.Busy(err)
	}
	if live {
		return nil
	}
	_, err = d.owners.order(ctx, name, domain.Detach{Address: address})
	return err
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

// leave takes a deleted inbox off its domain's list.
func (d *OwnDomains) leave(ctx context.Context, address string) error {
	if host := hostOf(address); !domain.Within(host, d.namespaces.Domain) {
		return d.detachDead(ctx, host, address)
	}
	return nil
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
	attached, err := store.Attached(host, address)
	return !attached, err
}
