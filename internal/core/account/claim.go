package account

import (
	"fmt"
	"time"

	"inboxd/internal/base/fault"
)

// A subdomain of the service belongs to the account that has inboxes in it: that is its claim (ADR
// 0054). Who holds a label its own owner decides, see Holding; whether the holder still has a use
// for it the holder's account decides, which counts its inboxes in the batch that reserves or
// releases one. Claims are not in an account's state, for it may have one for each of a million
// inboxes: commands carry what the store shows of the one that they are about.

// ClaimKept is how long a claim outlives the last inbox in it (specification, Addresses).
const ClaimKept = 30 * 24 * time.Hour

// Claim is what an account has in one subdomain.
type Claim struct {
	Label   string
	Random  bool      // it was drawn, not chosen: plans don't bound their number
	Number  int64     // of the account's claims, never given again; zero: the account has none here
	Inboxes int64     // live and reserved ones
	EndedAt time.Time // when an inbox in it was deleted last; zero: never
}

// Over reports that the account has no use for the subdomain any more.
func (c Claim) Over(now time.Time) bool {
	return c.Inboxes == 0 && !now.Before(c.EndedAt.Add(ClaimKept))
}

// YieldClaim ends a claim that is over, so that another account may have the subdomain; Refused
// while it is not. Behind its commit the account takes a new number if it comes back.
type YieldClaim struct{ Claim Claim }

type (
	// claimKept is a claim after a change.
	claimKept struct {
		Claim Claim
		New   bool
	}
	claimEnded struct{ Claim Claim }
)

func (c YieldClaim) decide(_ *State, env Env) ([]Event, error) {
	switch {
	case c.Claim.Number == 0:
		return nil, nil
	case !c.Claim.Over(env.Now):
		return nil, fault.New(fault.Refused, "The subdomain "+c.Claim.Label+" is taken")
	}
	return []Event{claimEnded{c.Claim}}, nil
}

// enter counts one inbox more in c. A new claim takes the place of those that are over, if a plan
// that bounds their number leaves no other.
func (c Claim) enter(s *State, env Env, over []Claim) (Claim, []Event, error) {
	c.Inboxes++
	if c.Number != 0 {
		return c, []Event{claimKept{Claim: c}}, nil
	}
	var evs []Event
	for _, o := range over {
		evs = append(evs, claimEnded{o})
	}
	if limit := env.Plans.Of(s.Plan).MaxSubdomains; !c.Random && s.Subdomains-int64(len(over)) >= limit {
		return c, nil, fault.New(fault.Refused, fmt.Sprintf("%s plan allows at most %d subdomains. One is given back 30 days after the last inbox in it is deleted", s.Plan.Title(), limit))
	}
	c.Number = s.LastClaim + 1
	return c, append(evs, claimKept{c, true}), nil
}

// exit counts one inbox less. A claim in which none ever lived, for its creation was refused, is
// over at once.
func (c Claim) exit() []Event {
	if c.Number == 0 || c.Inboxes == 0 {
		return nil // of a folder from before inboxes were counted
	}
	c.Inboxes--
	if c.Inboxes == 0 && c.EndedAt.IsZero() {
		return []Event{claimEnded{c}}
	}
	return []Event{claimKept{Claim: c}}
}

func (e claimKept) apply(s *State) {
	if e.New {
		s.LastClaim = e.Claim.Number
		s.countSubdomain(e.Claim, 1)
	}
}
func (e claimKept) rows(s *State, r *Rows) {
	r.Claims = append(r.Claims, e.Claim)
	if e.New {
		r.profile(s)
	}
}

func (e claimEnded) apply(s *State) { s.countSubdomain(e.Claim, -1) }
func (e claimEnded) rows(s *State, r *Rows) {
	r.Claims = append(r.Claims, Claim{Label: e.Claim.Label, Random: e.Claim.Random})
	r.profile(s)
}

func (s *State) countSubdomain(c Claim, by int64) {
	if !c.Random {
		s.Subdomains += by
	}
}

// Claim is what the account has in a subdomain once r is committed, as far as r knows.
func (r *Rows) Claim(label string) (c Claim, known bool) {
	for i := len(r.Claims) - 1; i >= 0; i-- {
		if r.Claims[i].Label == label {
			return r.Claims[i], true
		}
	}
	return Claim{}, false
}
