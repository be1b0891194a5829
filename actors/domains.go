package actors

import (
	"context"
	"encoding/base32"
	"fmt"
	"slices"
	"strings"
	"time"

	"inboxd/actors/engine"
	"inboxd/internal/account"
	"inboxd/internal/domain"
	"inboxd/internal/fault"
)

// Own domains (specification, Own domains). The owner of a name decides whose it is; the
// account's list lies in another partition, so a claim goes: list, then claim; and a release:
// release, then list. Each step can be repeated, and an entry that leads nowhere is taken off
// when the list is read.

// maxDomains bounds an account's domains: each costs keys and a daily check.
const maxDomains = 100

// lookPatience bounds all questions about one domain together.
const lookPatience = 10 * time.Second

// ownState is a domain of this account; NotFound for others, whoever has them.
func (s *System) ownState(ctx context.Context, id account.ID, given string) (domain.State, error) {
	name, ok := domain.Fold(given)
	if !ok {
		return domain.State{}, domain.NotFound(strings.ToValidUTF8(given, "\ufffd"))
	}
	state, err := s.orderDomain(ctx, name, readDomain{})
	if err == nil && state.Account != id {
		err = domain.NotFound(name)
	}
	return state, err
}

func (s *System) orderDomain(ctx context.Context, name string, cmd any) (domain.State, error) {
	got, err := s.domains.Do(ctx, name, cmd, 0)
	state, _ := got.(domain.State)
	return state, err
}

// ClaimDomain makes a domain the account's own, pending until its records are found. What
// takes time, DNS and keys, is done before the account's list is locked.
func (s *System) ClaimDomain(ctx context.Context, id account.ID, given string) (domain.View, error) {
	name, err := domain.Claimable(given, s.Namespaces.Domain)
	if err != nil {
		return domain.View{}, err
	}
	claim, err := s.prepareClaim(ctx, id, name)
	if err != nil {
		return domain.View{}, err
	}
	mu := s.names.Of(string(id[:]))
	mu.Lock()
	defer mu.Unlock()
	if err := s.listDomain(id, name); err != nil {
		return domain.View{}, err
	}
	state, err := s.orderDomain(ctx, name, claim)
	if err != nil {
		return domain.View{}, err
	}
	return state.View(s.MXHost), nil
}

// listDomain puts name on the account's list. The caller holds the account's lock.
func (s *System) listDomain(id account.ID, name string) error {
	names, err := s.store.ListedDomains(id)
	switch {
	case err != nil:
		return engine.Busy(err)
	case slices.Contains(names, name):
		return nil // left by a crash
	case len(names) >= maxDomains:
		return fault.New(fault.Refused, fmt.Sprintf("An account holds at most %d domains. Delete one first", maxDomains))
	}
	return s.store.PutDomainListed(id, name)
}

// prepareClaim refuses vain claims before keys are made, and asks DNS when somebody else
// claims the name.
func (s *System) prepareClaim(ctx context.Context, id account.ID, name string) (domain.Claim, error) {
	claim := domain.Claim{Account: id}
	mac, err := s.store.MAC("domain ownership", append(id[:], name...))
	if err != nil {
		return claim, err
	}
	claim.Token = strings.ToLower(base32.StdEncoding.EncodeToString(mac[:20]))
	state, err := s.orderDomain(ctx, name, readDomain{})
	if err != nil {
		return claim, err
	}
	if state.Claimed() && state.Account != id && state.Status != domain.Verified {
		claim.Proven = s.proven(ctx, name, claim.Token)
	}
	if _, err := domain.Decide(&state, claim, domain.Env{Now: s.now()}); err != nil {
		return claim, err
	}
	claim.Keys, err = s.makeKeys(ctx, name)
	return claim, err
}

// proven looks for the ownership record; trouble is no proof.
func (s *System) proven(ctx context.Context, name, token string) bool {
	ctx, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	ok, err := domain.Proven(ctx, s.Resolver, name, token)
	if err != nil {
		s.Logger.Info("a claimed domain could not be looked up", "domain", name, "err", err)
	}
	return ok
}

// Domains lists the account's domains in alphabetical order.
func (s *System) Domains(ctx context.Context, id account.ID) ([]domain.View, error) {
	names, err := s.store.ListedDomains(id)
	if err != nil {
		return nil, engine.Busy(err)
	}
	views := make([]domain.View, 0, len(names))
	for _, name := range names {
		state, err := s.ownState(ctx, id, name)
		if fault.Is(err, fault.NotFound) {
			err = s.unlistDomain(ctx, id, name)
		} else if err == nil {
			views = append(views, state.View(s.MXHost))
		}
		if err != nil {
			return nil, err
		}
	}
	return views, nil
}

// unlistDomain takes an entry off the list that a crash, or the claim of the true owner,
// left behind. Under the lock, so that no claim is between its steps.
func (s *System) unlistDomain(ctx context.Context, id account.ID, name string) error {
	mu := s.names.Of(string(id[:]))
	mu.Lock()
	defer mu.Unlock()
	if _, err := s.ownState(ctx, id, name); !fault.Is(err, fault.NotFound) {
		return err
	}
	return s.store.DropDomainListed(id, name)
}

// Domain shows one domain of the account.
func (s *System) Domain(ctx context.Context, id account.ID, given string) (domain.View, error) {
	state, err := s.ownState(ctx, id, given)
	if err != nil {
		return domain.View{}, err
	}
	return state.View(s.MXHost), nil
}

// VerifyDomain looks the records up now.
func (s *System) VerifyDomain(ctx context.Context, id account.ID, given string) (domain.View, error) {
	state, err := s.ownState(ctx, id, given)
	if err != nil {
		return domain.View{}, err
	}
	if state, err = s.checkDomain(ctx, state, true); err != nil {
		return domain.View{}, err
	}
	if state.Account != id {
		return domain.View{}, domain.NotFound(state.Name)
	}
	return state.View(s.MXHost), nil
}

// checkDomain asks DNS about a claim and reports to its owner.
func (s *System) checkDomain(ctx context.Context, state domain.State, asked bool) (domain.State, error) {
	look, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	known, found := domain.Look(look, s.Resolver, &state, s.MXHost)
	if known == 0 {
		s.Logger.Warn("DNS said nothing about a domain", "domain", state.Name)
	}
	was := state.Status
	state, err := s.orderDomain(ctx, state.Name, domain.Checked{Token: state.Token, Known: known, Found: found, Asked: asked})
	if err == nil && state.Status != was {
		s.Logger.Info("domain "+state.Status.String(), "domain", state.Name, "account", state.Account, "was", was.String())
	}
	s.signers.lookAgain(state.Name)
	return state, err
}

// ReleaseDomain gives a domain back; Refused while inboxes live under it.
func (s *System) ReleaseDomain(ctx context.Context, id account.ID, given string) error {
	state, err := s.ownState(ctx, id, given)
	if err != nil {
		return err
	}
	if err := s.detachLeftovers(ctx, state); err != nil {
		return err
	}
	mu := s.names.Of(string(id[:]))
	mu.Lock()
	defer mu.Unlock()
	if _, err := s.orderDomain(ctx, state.Name, domain.Release{Account: id}); err != nil {
		return err
	}
	return s.store.DropDomainListed(id, state.Name)
}

// domainChanged keeps what is derived of domains true. Their owners call it.
func (s *System) domainChanged(state domain.State) {
	s.rechecks.set(state.Name, state.DueAt())
	s.signers.forget(state)
}
