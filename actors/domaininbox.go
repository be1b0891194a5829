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

// Inboxes under own domains are on their domain's list. RCPT uses the list to check whom the domain
// serves, and a release uses it to find what is left.

// leftoversAtOnce bounds the repair before a release: a crash leaves only few entries.
const leftoversAtOnce = 1000

// attachInbox adds a creation to the list of its own domain, if the address has one. It runs before the
// inbox exists, so that no release misses the inbox.
func (d *OwnDomains) attachInbox(ctx context.Context, id account.ID, address string, at time.Time) error {
	host := hostOf(address)
	if domain.IsWithin(host, d.namespaces.ServiceDomain) {
		return nil
	}
	_, err := d.owners.sendCommand(ctx, host, domain.AttachInbox{Account: id, Address: address, At: at})
	return err
}

// detachInbox removes a deleted inbox, or a creation that can no longer succeed, from its domain's
// list. It is idempotent and may run late.
func (d *OwnDomains) detachInbox(ctx context.Context, address string, at time.Time) error {
	host := hostOf(address)
	if domain.IsWithin(host, d.namespaces.ServiceDomain) {
		return nil
	}
	live, err := d.store.InboxExists(address)
	if err != nil {
		return engine.BusyError(err)
	}
	_, err = d.owners.sendCommand(ctx, host, domain.DetachInbox{Address: address, At: at, InboxGone: !live})
	return err
}

// detachLeftovers removes the entries that a crash between two steps left on the domain's list. A
// creation that is in progress is either ended or keeps its entry.
func (d *OwnDomains) detachLeftovers(ctx context.Context, state domain.State) error {
	if state.InboxCount == 0 {
		return nil
	}
	entries, err := d.store.AttachedInboxes(state.Name, "", leftoversAtOnce)
	if err != nil {
		return engine.BusyError(err)
	}
	for _, e := range entries {
		for _, at := range e.CreationTimes {
			made, err := d.inboxes.isCreationDone(ctx, state.Account, e.Address, at)
			if err == nil && !made {
				err = d.detachInbox(ctx, e.Address, at)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// namespaceFor restricts the namespaces to the domain of an order. It allows no domain if that
// domain is not verified for this account.
func (d *OwnDomains) namespaceFor(ctx context.Context, id account.ID, given string) (inbox.Namespaces, error) {
	ns := d.namespaces
	if _, err := domain.ParseName(given); err != nil {
		return ns, err
	}
	state, err := d.ownState(ctx, id, given)
	switch {
	case fault.Is(err, fault.NotFound):
		return ns, nil
	case err == nil && state.Status == domain.StatusVerified:
		ns.OwnDomain = state.Name
	}
	return ns, err
}

// hostOf returns the part after the @.
func hostOf(address string) string { return address[strings.LastIndexByte(address, '@')+1:] }

// checkServed refuses messages to an inbox that remained on a domain that another account took over.
func (d *OwnDomains) checkServed(address string) error {
	gone, err := isOrphaned(d.store, d.namespaces.ServiceDomain, address)
	switch {
	case err != nil:
		return engine.BusyError(err)
	case gone:
		return inbox.NoInbox(address)
	}
	return nil
}

// isOrphaned reports whether an inbox remained on a domain that now belongs to another account. Such
// an inbox receives no more messages (ADR 0016).
func isOrphaned(store DomainStore, service, address string) (bool, error) {
	host := hostOf(address)
	if domain.IsWithin(host, service) {
		return false, nil
	}
	state, err := store.LoadDomain(host)
	if err != nil || state.VerifiedAt.IsZero() {
		return false, err
	}
	noted, err := store.AttachedAt(host, address)
	return len(noted) == 0, err
}
