package actors

import (
	"context"
	"encoding/base32"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"inboxd/actors/engine"
	"inboxd/internal/account"
	"inboxd/internal/domain"
	"inboxd/internal/domain/lookup"
	"inboxd/internal/fault"
	"inboxd/internal/inbox"
)

// Own domains (specification, Own domains). The owner of a name decides whose it is; the
// account's list lies in another partition, so a claim goes: list, then claim; and a release:
// release, then list. Each step can be repeated, and an entry that leads nowhere is taken off
// when the list is read.

// mostDomains bounds an account's domains: each costs keys and a daily check.
const mostDomains = 100

// lookTimeout bounds all questions about one domain together.
const lookTimeout = 10 * time.Second

// OwnDomains are the domains that accounts bring. Only its locks change; any goroutine may
// use it.
type OwnDomains struct {
	owners     domainOwners
	inboxes    *Inboxes
	store      DomainStore
	keys       *Keyring
	namespaces inbox.Namespaces
	mxHost     string // where the mail of own domains goes
	resolver   lookup.Resolver
	now        func() time.Time
	log        *slog.Logger
	lists      engine.Locks // by account: its list of domains
}

// domainOwners hands commands to the owners of domains.
type domainOwners struct{ *engine.Directory }

// order returns the state after the command's commit.
func (o domainOwners) order(ctx context.Context, name string, cmd any) (domain.State, error) {
	got, err := o.Do(ctx, name, cmd, 0)
	state, _ := got.(domain.State)
	return state, err
}

// ownState is a domain of this account; NotFound for others, whoever has them.
func (d *OwnDomains) ownState(ctx context.Context, id account.ID, given string) (domain.State, error) {
	name, ok := domain.Fold(given)
	if !ok {
		return domain.State{}, domain.NotFound(strings.ToValidUTF8(given, "\ufffd"))
	}
	state, err := d.owners.order(ctx, name, readDomain{})
	if err == nil && state.Account != id {
		err = domain.NotFound(name)
	}
	return state, err
}

// ClaimDomain makes a domain the account's own, pending until its records are found. What
// takes time, DNS and keys, is done before the account's list is locked.
func (d *OwnDomains) ClaimDomain(ctx context.Context, id account.ID, given string) (domain.View, error) {
	name, err := domain.Claimable(given, d.namespaces.Domain)
	if err != nil {
		return domain.View{}, err
	}
	claim, err := d.prepareClaim(ctx, id, name)
	if err != nil {
		return domain.View{}, err
	}
	mu := d.lists.Of(string(id[:]))
	mu.Lock()
	defer mu.Unlock()
	if err := d.list(id, name); err != nil {
		return domain.View{}, err
	}
	state, err := d.owners.order(ctx, name, claim)
	if err != nil {
		return domain.View{}, err
	}
	return state.View(d.mxHost), nil
}

// list puts name on the account's list. The caller holds the account's lock.
func (d *OwnDomains) list(id account.ID, name string) error {
	names, err := d.store.ListedDomains(id)
	switch {
	case err != nil:
		return engine.Busy(err)
	case slices.Contains(names, name):
		return nil // left by a crash
	case len(names) >= mostDomains:
		return fault.New(fault.Refused, fmt.Sprintf("An account holds at most %d domains. Delete one first", mostDomains))
	}
	return d.store.PutDomainListed(id, name)
}

// prepareClaim refuses vain claims before keys are made, and asks DNS when somebody else
// claims the name.
func (d *OwnDomains) prepareClaim(ctx context.Context, id account.ID, name string) (domain.Claim, error) {
	claim := domain.Claim{Account: id}
	mac, err := d.store.MAC("domain ownership", append(id[:], name...))
	if err != nil {
		return claim, err
	}
	claim.Token = strings.ToLower(base32.StdEncoding.EncodeToString(mac[:20]))
	state, err := d.owners.order(ctx, name, readDomain{})
	if err != nil {
		return claim, err
	}
	if state.Claimed() && state.Account != id && state.Status != domain.Verified {
		claim.Proven = d.proven(ctx, name, claim.Token)
	}
	if _, err := domain.Decide(&state, claim, domain.Env{Now: d.now()}); err != nil {
		return claim, err
	}
	claim.Keys, err = d.keys.make(ctx, name)
	return claim, err
}

// proven looks for the ownership record; trouble is no proof.
func (d *OwnDomains) proven(ctx context.Context, name, token string) bool {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	ok, err := lookup.Published(ctx, d.resolver, domain.OwnershipRecord(name, token))
	if err != nil {
		d.log.Info("a claimed domain could not be looked up", "domain", name, "err", err)
	}
	return ok
}

// Domains lists the account's domains in alphabetical order.
func (d *OwnDomains) Domains(ctx context.Context, id account.ID) ([]domain.View, error) {
	names, err := d.store.ListedDomains(id)
	if err != nil {
		return nil, engine.Busy(err)
	}
	views := make([]domain.View, 0, len(names))
	for _, name := range names {
		state, err := d.ownState(ctx, id, name)
		if fault.Is(err, fault.NotFound) {
			err = d.unlist(ctx, id, name)
		} else if err == nil {
			views = append(views, state.View(d.mxHost))
		}
		if err != nil {
			return nil, err
		}
	}
	return views, nil
}

// unlist takes an entry off the list that a crash, or the claim of the true owner,
// left behind. Under the lock, so that no claim is between its steps.
func (d *OwnDomains) unlist(ctx context.Context, id account.ID, name string) error {
	mu := d.lists.Of(string(id[:]))
	mu.Lock()
	defer mu.Unlock()
	if _, err := d.ownState(ctx, id, name); !fault.Is(err, fault.NotFound) {
		return err
	}
	return d.store.DropDomainListed(id, name)
}

// Domain shows one domain of the account.
func (d *OwnDomains) Domain(ctx context.Context, id account.ID, given string) (domain.View, error) {
	state, err := d.ownState(ctx, id, given)
	if err != nil {
		return domain.View{}, err
	}
	return state.View(d.mxHost), nil
}

// VerifyDomain looks the records up now.
func (d *OwnDomains) VerifyDomain(ctx context.Context, id account.ID, given string) (domain.View, error) {
	state, err := d.ownState(ctx, id, given)
	if err != nil {
		return domain.View{}, err
	}
	if state, err = d.check(ctx, state, true); err != nil {
		return domain.View{}, err
	}
	if state.Account != id {
		return domain.View{}, domain.NotFound(state.Name)
	}
	return state.View(d.mxHost), nil
}

// check asks DNS about a claim and reports to its owner.
func (d *OwnDomains) check(ctx context.Context, state domain.State, asked bool) (domain.State, error) {
	look, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	known, found := lookup.All(look, d.resolver, state.Records(d.mxHost))
	if known == 0 {
		d.log.Warn("DNS said nothing about a domain", "domain", state.Name)
	}
	was := state.Status
	state, err := d.owners.order(ctx, state.Name, domain.Checked{Token: state.Token, Known: known, Found: found, Asked: asked})
	if err == nil && state.Status != was {
		d.log.Info("domain "+state.Status.String(), "domain", state.Name, "account", state.Account, "was", was.String())
	}
	d.keys.lookAgain(state.Name)
	return state, err
}

// ReleaseDomain gives a domain back; Refused while inboxes live under it.
func (d *OwnDomains) ReleaseDomain(ctx context.Context, id account.ID, given string) error {
	state, err := d.ownState(ctx, id, given)
	if err != nil {
		return err
	}
	if err := d.detachLeftovers(ctx, state); err != nil {
		return err
	}
	mu := d.lists.Of(string(id[:]))
	mu.Lock()
	defer mu.Unlock()
	if _, err := d.owners.order(ctx, state.Name, domain.Release{Account: id}); err != nil {
		return err
	}
	return d.store.DropDomainListed(id, state.Name)
}
