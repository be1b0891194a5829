package account

import (
	"time"

	"inboxd/internal/base/fault"
)

// A subdomain of the service belongs to the account that has inboxes in it. This is the account's
// claim (ADR 0054). The owner of the label decides who holds it, see NameHolder. The holder's account
// decides whether it still needs it: it counts its inboxes in the batch that reserves or releases
// one. Claims are not in an account's state, because there may be one for each of a million
// inboxes. Commands carry the stored claim that they are about.

// ClaimKept is how long a claim lasts after its last inbox is deleted (specification, Addresses).
const ClaimKept = 30 * 24 * time.Hour

// SubdomainClaim is an account's use of one subdomain.
type SubdomainClaim struct {
	Label        string
	IsRandom     bool      // generated, not chosen: plans do not limit these
	SerialNumber int64     // unique within the account, never reused; zero: the account has no claim here
	InboxCount   int64     // live and reserved ones
	EndedAt      time.Time // when the last inbox in it was deleted; zero: never
}

// HasLapsed reports whether the account no longer needs the subdomain.
func (c SubdomainClaim) HasLapsed(now time.Time) bool {
	return c.InboxCount == 0 && !now.Before(c.EndedAt.Add(ClaimKept))
}

// YieldClaim ends a claim that is over, so that another account may have the subdomain. It is
// Refused while the claim is not over. If the account comes back after the commit, its claim gets a
// new number.
type YieldClaim struct{ Claim SubdomainClaim }

type (
	// claimKept is a claim after a change.
	claimKept struct {
		Claim SubdomainClaim
		IsNew bool
	}
	claimEnded struct{ Claim SubdomainClaim }
)

func (c YieldClaim) decideEvents(_ *State, env Env) ([]Event, error) {
	switch {
	case c.Claim.SerialNumber == 0:
		return nil, nil
	case !c.Claim.HasLapsed(env.Now):
		return nil, fault.RefuseField("subdomain", fault.CodeAddressTaken, "The subdomain %s is taken", c.Claim.Label)
	}
	return []Event{claimEnded{c.Claim}}, nil
}

// addInbox counts one more inbox in c. If the plan limits claims and is full, a new claim replaces
// claims that are over.
func (c SubdomainClaim) addInbox(s *State, env Env, over []SubdomainClaim) (SubdomainClaim, []Event, error) {
	c.InboxCount++
	if c.SerialNumber != 0 {
		return c, []Event{claimKept{Claim: c}}, nil
	}
	var evs []Event
	for _, o := range over {
		evs = append(evs, claimEnded{o})
	}
	if plan := env.Plans.Of(s.Plan); !c.IsRandom && s.Subdomains-int64(len(over)) >= plan.MaxSubdomains {
		return c, nil, plan.limitError("%d subdomains. A subdomain is released 30 days after its last inbox is deleted", plan.MaxSubdomains)
	}
	c.SerialNumber = s.LastClaim + 1
	return c, append(evs, claimKept{c, true}), nil
}

// removeInbox counts one inbox less. A claim that never had a live inbox, because its creation was
// refused, is over immediately.
func (c SubdomainClaim) removeInbox() []Event {
	if c.SerialNumber == 0 || c.InboxCount == 0 {
		return nil // from a folder written before inboxes were counted
	}
	c.InboxCount--
	if c.InboxCount == 0 && c.EndedAt.IsZero() {
		return []Event{claimEnded{c}}
	}
	return []Event{claimKept{Claim: c}}
}

func (e claimKept) applyTo(s *State) {
	if e.IsNew {
		s.LastClaim = e.Claim.SerialNumber
		s.countSubdomain(e.Claim, 1)
	}
}
func (e claimKept) collectRows(s *State, r *Rows) {
	r.Claims = append(r.Claims, e.Claim)
	if e.IsNew {
		r.writeProfile(s)
	}
}

func (e claimEnded) applyTo(s *State) { s.countSubdomain(e.Claim, -1) }
func (e claimEnded) collectRows(s *State, r *Rows) {
	r.Claims = append(r.Claims, SubdomainClaim{Label: e.Claim.Label, IsRandom: e.Claim.IsRandom})
	r.writeProfile(s)
}

func (s *State) countSubdomain(c SubdomainClaim, by int64) {
	if !c.IsRandom {
		s.Subdomains += by
	}
}

// ClaimOf returns the account's claim of a subdomain after r is committed, if r contains it.
func (r *Rows) ClaimOf(label string) (c SubdomainClaim, known bool) {
	for i := len(r.Claims) - 1; i >= 0; i-- {
		if r.Claims[i].Label == label {
			return r.Claims[i], true
		}
	}
	return SubdomainClaim{}, false
}
