package actors

import (
	"cmp"
	"context"
	"encoding/base32"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"inboxd/actors/engine"
	"inboxd/actors/groups"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/domain"
	"inboxd/internal/core/domain/lookup"
	"inboxd/internal/core/inbox"
)

// Own domains (specification, Own domains). The owner of a name decides whose it is, but the
// account's list lies in another partition. A claim therefore runs: list, claim, list again; a
// release runs: release, then unlist. Each step is idempotent. An entry without a claim is removed
// when the list is read. It is removed by its mark, because a concurrent claim sets another mark. A
// claim that is on no list after a crash is listed when the domain is next checked (ADR 0048).

// lookTimeout bounds all DNS queries about one domain together.
const lookTimeout = 10 * time.Second

// OwnDomains are the domains that accounts bring. It is immutable except for looks; any goroutine
// may use it.
type OwnDomains struct {
	owners        domainOwners
	accounts      accountOwners
	inboxes       *InboxService
	store         DomainStore
	keys          *Keyring
	namespaces    inbox.Namespaces
	mxHost        string // receives the mail of own domains
	resolver      lookup.Resolver
	now           func() time.Time
	log           *slog.Logger
	groupAcquired groups.WakeSignal
	checkLimiter  *checkLimiter
}

// domainOwners sends commands to the owners of domains.
type domainOwners struct{ *engine.EntityDirectory }

// sendCommand returns the state after the command's commit.
func (o domainOwners) sendCommand(ctx context.Context, name string, cmd any) (domain.State, error) {
	got, err := o.Do(ctx, name, cmd, 0)
	state, _ := got.(domain.State)
	return state, err
}

// ownState returns a domain of this account; NotFound if another account or nobody has it.
func (d *OwnDomains) ownState(ctx context.Context, id account.ID, given string) (domain.State, error) {
	name, ok := domain.FoldName(given)
	if !ok {
		return domain.State{}, domain.NotFound(strings.ToValidUTF8(given, "\ufffd"))
	}
	state, err := d.owners.sendCommand(ctx, name, readDomain{})
	if err == nil && state.Account != id {
		err = domain.NotFound(name)
	}
	return state, err
}

// ClaimDomain makes a domain the account's own, pending until its DNS records are found. The slow
// parts, DNS and key generation, run first.
func (d *OwnDomains) ClaimDomain(ctx context.Context, id account.ID, given string) (domain.OwnerView, error) {
	name, err := domain.Claimable(given, d.namespaces.ServiceDomain)
	if err != nil {
		return domain.OwnerView{}, err
	}
	claim, err := d.prepareClaim(ctx, id, name)
	if err != nil {
		return domain.OwnerView{}, err
	}
	if _, err := d.accounts.sendCommand(ctx, id, account.ListDomain{Name: name}); err != nil {
		return domain.OwnerView{}, err
	}
	state, err := d.owners.sendCommand(ctx, name, claim)
	if err != nil {
		return domain.OwnerView{}, err
	}
	return state.OwnerView(d.mxHost), d.keepListed(ctx, state)
}

// keepListed marks a claimed domain as claimed on its account's list, even if the list entry was
// removed meanwhile. If the account is being deleted or is gone, keep releases the domain.
func (d *OwnDomains) keepListed(ctx context.Context, state domain.State) error {
	_, err := d.accounts.sendCommand(ctx, state.Account, account.ListDomain{Name: state.Name, AlreadyClaimed: true})
	if fault.Is(err, fault.NotFound) {
		return cmp.Or(d.releaseClaim(ctx, state), err)
	}
	return err
}

// prepareClaim refuses claims that cannot succeed before keys are generated. It queries DNS if
// another account claims the name.
func (d *OwnDomains) prepareClaim(ctx context.Context, id account.ID, name string) (domain.Claim, error) {
	claim := domain.Claim{Account: id}
	mac, err := d.store.ComputeMAC("domain ownership", append(id[:], name...))
	if err != nil {
		return claim, err
	}
	claim.Token = strings.ToLower(base32.StdEncoding.EncodeToString(mac[:20]))
	state, err := d.owners.sendCommand(ctx, name, readDomain{})
	if err != nil {
		return claim, err
	}
	if state.IsClaimed() && state.Account != id && state.Status != domain.StatusVerified && d.checkLimiter.acquireCheck(id, name, d.now()) {
		claim.OwnershipProven = d.hasOwnershipRecord(ctx, name, claim.Token)
	}
	if _, err := domain.Decide(&state, claim, domain.Env{Now: d.now()}); err != nil {
		return claim, err
	}
	claim.Keys, err = d.keys.makeKeys(ctx, name)
	return claim, err
}

// hasOwnershipRecord looks up the ownership record; a DNS failure is not a proof.
func (d *OwnDomains) hasOwnershipRecord(ctx context.Context, name, token string) bool {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	ok, err := lookup.IsPublished(ctx, d.resolver, domain.OwnershipRecord(name, token))
	if err != nil {
		d.log.Info("lookup of a claimed domain failed", "domain", name, "err", err)
	}
	return ok
}

// AccountDomains lists the account's domains in alphabetical order. It removes entries that were
// left by a crash, or by a claim of the actual owner.
func (d *OwnDomains) AccountDomains(ctx context.Context, id account.ID) ([]domain.OwnerView, error) {
	listed, err := d.accounts.listDomains(ctx, id)
	if err != nil {
		return nil, err
	}
	views := make([]domain.OwnerView, 0, len(listed))
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		state, err := d.ownState(ctx, id, name)
		if fault.Is(err, fault.NotFound) {
			_, err = d.accounts.sendCommand(ctx, id, account.UnlistDomain{Name: name, SeenMark: listed[name]})
		} else if err == nil {
			views = append(views, state.OwnerView(d.mxHost))
		}
		if err != nil {
			return nil, err
		}
	}
	return views, nil
}

// ShowDomain returns one domain of the account.
func (d *OwnDomains) ShowDomain(ctx context.Context, id account.ID, given string) (domain.OwnerView, error) {
	state, err := d.ownState(ctx, id, given)
	if err != nil {
		return domain.OwnerView{}, err
	}
	return state.OwnerView(d.mxHost), nil
}

// VerifyDomain looks the records up now, at most looksAMinute times a minute; beyond that the last
// result counts.
func (d *OwnDomains) VerifyDomain(ctx context.Context, id account.ID, given string) (domain.OwnerView, error) {
	state, err := d.ownState(ctx, id, given)
	if err != nil {
		return domain.OwnerView{}, err
	}
	if d.checkLimiter.acquireCheck(id, state.Name, d.now()) {
		if state, err = d.checkDNS(ctx, state, true); err != nil {
			return domain.OwnerView{}, err
		}
	}
	if state.Account != id {
		return domain.OwnerView{}, domain.NotFound(state.Name)
	}
	return state.OwnerView(d.mxHost), nil
}

// checkDNS queries DNS about a claim and reports the result to the domain's owner.
func (d *OwnDomains) checkDNS(ctx context.Context, state domain.State, asked bool) (domain.State, error) {
	look, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	known, found := lookup.QueryAll(look, d.resolver, state.Records(d.mxHost))
	if known == 0 {
		d.log.Warn("DNS lookup of a domain failed", "domain", state.Name)
	}
	was := state.Status
	state, err := d.owners.sendCommand(ctx, state.Name, domain.ReportCheck{Token: state.OwnershipToken, AnsweredRecords: known, FoundRecords: found, OwnerAsked: asked})
	if err == nil && state.Status != was {
		d.log.Info("domain status changed", "domain", state.Name, "status", state.Status.String(), "account", state.Account, "was", was.String())
	}
	d.keys.lookAgain(state.Name)
	return state, err
}

// ReleaseDomain releases a domain; Refused while inboxes live under it. It reads the list first,
// because a claim after the release sets another mark.
func (d *OwnDomains) ReleaseDomain(ctx context.Context, id account.ID, given string) error {
	state, err := d.ownState(ctx, id, given)
	if err != nil {
		return err
	}
	listed, err := d.accounts.listDomains(ctx, id)
	if err != nil {
		return err
	}
	if err := d.releaseClaim(ctx, state); err != nil {
		return err
	}
	_, err = d.accounts.sendCommand(ctx, id, account.UnlistDomain{Name: state.Name, SeenMark: listed[state.Name]})
	return err
}

// releaseClaim ends a claim.
func (d *OwnDomains) releaseClaim(ctx context.Context, state domain.State) error {
	if err := d.detachLeftovers(ctx, state); err != nil {
		return err
	}
	_, err := d.owners.sendCommand(ctx, state.Name, domain.Release{Account: state.Account})
	return err
}
