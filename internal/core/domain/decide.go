package domain

import (
	"fmt"
	"slices"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
)

// Command is an order to one domain. The commands are the exported structs of this file.
type Command interface {
	decide(*State, Env) ([]Event, error)
}

// Env is what Decide knows besides state and command.
type Env struct{ Now time.Time }

// Commands of a domain.
type (
	// Claim makes the domain the account's own, unless another account has it. Proven means that
	// the account's ownership record was found just now. Then it replaces a claim that was never
	// verified, or whose records are permanently missing (ADR 0016).
	Claim struct {
		Account account.ID
		Token   string
		Keys    []Key
		Proven  bool
	}
	// Checked reports what DNS contains for the claim with this token. Known are the records for
	// which DNS gave an answer. Asked means that the owner requested the check.
	Checked struct {
		Token string
		Known Found
		Found Found
		Asked bool
	}
	// Release gives the domain back. It is Refused while inboxes exist under it.
	Release struct{ Account account.ID }
	// Attach records a creation under the domain, identified by its time, before it is made. It is
	// Refused unless the domain is verified for the account. Noted is the stored entry of the
	// address, because the list is not in memory.
	Attach struct {
		Account account.ID
		Address string
		At      time.Time
		Noted   []time.Time
	}
	// Detach removes the record after a deletion or a failed creation. The record of another
	// creation at the address stays, however late this command arrives. Dead means that no inbox
	// exists there: a record without a time, from before times were recorded, is removed too.
	Detach struct {
		Address string
		At      time.Time
		Dead    bool
		Noted   []time.Time
	}
	// KeepKeys gives the domain its first keys. Existing keys stay.
	KeepKeys struct{ Keys []Key }
)

// Decide returns the effect of cmd on s as events; no events mean no change. It does not modify s.
func Decide(s *State, cmd Command, env Env) ([]Event, error) { return cmd.decide(s, env) }

func (c Claim) decide(s *State, env Env) ([]Event, error) {
	switch {
	case s.Claimed() && s.Account == c.Account:
		return nil, fault.New(fault.Refused, fmt.Sprintf("The domain %s already belongs to this account", s.Name))
	case s.Status == Verified:
		return nil, fault.New(fault.Refused, fmt.Sprintf("The domain %s belongs to another account", s.Name))
	case s.Claimed() && !c.Proven:
		proof := OwnershipRecord(s.Name, c.Token)
		return nil, fault.New(fault.Refused, fmt.Sprintf(
			"The domain %s is claimed by another account. If it is yours, publish the TXT record %s with the value %s and claim it again",
			s.Name, proof.Name, proof.Value))
	}
	return []Event{claimed{Account: c.Account, Token: c.Token, Keys: c.Keys, At: env.Now}}, nil
}

func (c Checked) decide(s *State, env Env) ([]Event, error) {
	if !s.Claimed() || s.Token != c.Token {
		return nil, nil // a late report about a claim that is over
	}
	e := checked{At: env.Now, Status: s.Status, MissingSince: s.MissingSince, Found: s.Found&^c.Known | c.Found&c.Known}
	switch {
	case c.Found&c.Known&needed == needed:
		e.Status, e.MissingSince = Verified, time.Time{}
	case c.Known&^c.Found&needed == 0, s.Status != Verified:
		// No record is known to be missing, or the domain has no verified status to lose.
	case c.Asked, !s.MissingSince.IsZero() && env.Now.Sub(s.MissingSince) >= MissingGrace:
		e.Status, e.MissingSince = Failing, time.Time{}
	case s.MissingSince.IsZero():
		e.MissingSince = env.Now
	}
	return []Event{e}, nil
}

func (c Release) decide(s *State, _ Env) ([]Event, error) {
	switch {
	case !s.Claimed() || s.Account != c.Account:
		return nil, NotFound(s.Name)
	case s.Inboxes == 1:
		return nil, fault.New(fault.Refused, fmt.Sprintf("1 inbox uses the domain %s. Delete it first", s.Name))
	case s.Inboxes > 0:
		return nil, fault.New(fault.Refused, fmt.Sprintf("%d inboxes use the domain %s. Delete them first", s.Inboxes, s.Name))
	}
	return []Event{released{}}, nil
}

func (c Attach) decide(s *State, _ Env) ([]Event, error) {
	switch {
	case s.Account != c.Account || s.Status != Verified:
		return nil, NotVerified(s.Name)
	case slices.ContainsFunc(c.Noted, c.At.Equal):
		return nil, nil
	}
	return []Event{noted{c.Address, len(c.Noted) == 0, append(slices.Clone(c.Noted), c.At)}}, nil
}

func (c Detach) decide(_ *State, _ Env) ([]Event, error) {
	left := slices.DeleteFunc(slices.Clone(c.Noted), func(at time.Time) bool {
		if at.IsZero() {
			return c.Dead
		}
		return at.Equal(c.At)
	})
	switch len(left) {
	case len(c.Noted):
		return nil, nil
	case 0:
		return []Event{detached{c.Address}}, nil
	}
	return []Event{noted{c.Address, false, left}}, nil
}

func (c KeepKeys) decide(s *State, _ Env) ([]Event, error) {
	if len(s.Keys) > 0 {
		return nil, nil
	}
	return []Event{keysKept{c.Keys}}, nil
}

// NotFound is the fault for a domain that is not the account's, whether or not another account has
// it.
func NotFound(name string) error {
	return fault.New(fault.NotFound, fmt.Sprintf("The domain %s is not one of this account's domains", name))
}

// NotVerified is the fault for an inbox under a domain that is not verified.
func NotVerified(name string) error {
	return fault.New(fault.Refused, fmt.Sprintf("The domain %s is not a verified domain of this account", name))
}

// Event is something that happened to a domain. apply changes the state and cannot fail. rows adds
// what must be written for it, from the state after apply.
type Event interface {
	apply(*State)
	rows(*State, *Rows)
}

// Apply applies events to s in order and collects the rows that they touch. The caller commits the
// rows before anybody may see s. If the commit fails, s must be discarded and loaded again.
func (r *Rows) Apply(s *State, evs []Event) {
	r.Name = s.Name
	for _, ev := range evs {
		ev.apply(s)
		ev.rows(s, r)
	}
}

type (
	claimed struct {
		Account account.ID
		Token   string
		Keys    []Key
		At      time.Time
	}
	checked struct {
		At           time.Time
		Status       Status
		Found        Found
		MissingSince time.Time
	}
	released struct{}
	noted    struct {
		Address string
		First   bool // of the address
		Times   []time.Time
	}
	detached struct{ Address string }
	keysKept struct{ Keys []Key }
)

func (r *Rows) put(s *State) {
	c := *s
	r.Put, r.Drop = &c, false
}

// clear empties the list of inboxes, so that those of an earlier owner get no more messages.
func (r *Rows) clear() { r.Clear, r.Attach, r.Detach = true, nil, nil }

func (e claimed) apply(s *State) {
	*s = State{Name: s.Name, Account: e.Account, Token: e.Token, Status: Pending, Keys: e.Keys, ClaimedAt: e.At}
}
func (e claimed) rows(s *State, r *Rows) {
	r.clear()
	r.put(s)
}

func (e checked) apply(s *State) {
	s.CheckedAt, s.Status, s.Found, s.MissingSince = e.At, e.Status, e.Found, e.MissingSince
	if s.Status == Verified && s.VerifiedAt.IsZero() {
		s.VerifiedAt = e.At
	}
}
func (e checked) rows(s *State, r *Rows) { r.put(s) }

func (released) apply(s *State) { *s = State{Name: s.Name} }
func (released) rows(_ *State, r *Rows) {
	r.clear()
	r.Put, r.Drop = nil, true
}

func (e noted) apply(s *State) {
	if e.First {
		s.Inboxes++
	}
}
func (e noted) rows(s *State, r *Rows) {
	r.forget(e.Address)
	r.Attach = append(r.Attach, Attached{e.Address, e.Times})
	if e.First {
		r.put(s)
	}
}

func (e detached) apply(s *State) { s.Inboxes-- }
func (e detached) rows(s *State, r *Rows) {
	r.forget(e.Address)
	r.Detach = append(r.Detach, e.Address)
	r.put(s)
}

func (e keysKept) apply(s *State)         { s.Keys = e.Keys }
func (e keysKept) rows(s *State, r *Rows) { r.put(s) }

// forget removes from r what it contains about an address.
func (r *Rows) forget(address string) {
	r.Attach = slices.DeleteFunc(r.Attach, func(a Attached) bool { return a.Address == address })
	r.Detach = slices.DeleteFunc(r.Detach, func(a string) bool { return a == address })
}

// Noted returns the recorded creations of address after r is committed, if r contains them.
func (r *Rows) Noted(address string) (times []time.Time, known bool) {
	for _, a := range r.Attach {
		if a.Address == address {
			return a.Times, true
		}
	}
	return nil, r.Clear || slices.Contains(r.Detach, address)
}
