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

// Env is what Decide may know besides state and command.
type Env struct{ Now time.Time }

// Commands of a domain.
type (
	// Claim makes the domain the account's own, unless another account has it. Proven says
	// that the account's ownership record was found just now: then a claim of somebody who
	// never verified, or whose records are gone for good, gives way (ADR 0016).
	Claim struct {
		Account account.ID
		Token   string
		Keys    []Key
		Proven  bool
	}
	// Checked reports what DNS says of the claim with this token: Known names the records
	// that got an answer. Asked says that the owner wanted to know.
	Checked struct {
		Token string
		Known Found
		Found Found
		Asked bool
	}
	// Release gives the domain back; Refused while inboxes live under it.
	Release struct{ Account account.ID }
	// Attach notes a creation under the domain, by its time, before it is made; Refused unless
	// the domain is verified for the account. Noted is what the list has of the address
	// already: it is not held in memory.
	Attach struct {
		Account account.ID
		Address string
		At      time.Time
		Noted   []time.Time
	}
	// Detach takes the note away, after a deletion or a creation that failed; that of another
	// creation at the address stays, however late this comes. Dead says that nobody lives
	// there: a note without a time, from before notes had any, goes too.
	Detach struct {
		Address string
		At      time.Time
		Dead    bool
		Noted   []time.Time
	}
	// KeepKeys gives the domain its first keys; keys that are there stay.
	KeepKeys struct{ Keys []Key }
)

// Decide says what cmd does to s, as events; none means that nothing changes. It does not
// touch s.
func Decide(s *State, cmd Command, env Env) ([]Event, error) { return cmd.decide(s, env) }

func (c Claim) decide(s *State, env Env) ([]Event, error) {
	switch {
	case s.Claimed() && s.Account == c.Account:
		return nil, fault.New(fault.Refused, fmt.Sprintf("The domain %s is one of this account's domains already", s.Name))
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
		// nothing is known to be missing, or there is nothing to lose
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
		return nil, fault.New(fault.Refused, fmt.Sprintf("1 inbox lives under %s. Delete it first", s.Name))
	case s.Inboxes > 0:
		return nil, fault.New(fault.Refused, fmt.Sprintf("%d inboxes live under %s. Delete them first", s.Inboxes, s.Name))
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

// NotFound is the answer about a domain that is not the account's, whether or not somebody
// else has it.
func NotFound(name string) error {
	return fault.New(fault.NotFound, fmt.Sprintf("The domain %s is not one of this account's domains", name))
}

// NotVerified is the answer to an inbox under a domain that can't carry it.
func NotVerified(name string) error {
	return fault.New(fault.Refused, fmt.Sprintf("The domain %s is not a verified domain of this account", name))
}

// Event is something that happened to a domain. apply changes the state and cannot fail;
// rows names what must be written for it, from the state after apply.
type Event interface {
	apply(*State)
	rows(*State, *Rows)
}

// Apply moves s over events, in order, and collects the rows they touch. The caller commits
// the rows before anything of s may be seen; when that fails, s must be thrown away and
// loaded again.
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

// clear begins the list of inboxes anew: those of an earlier owner get no more mail.
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

// forget leaves out what r says of an address.
func (r *Rows) forget(address string) {
	r.Attach = slices.DeleteFunc(r.Attach, func(a Attached) bool { return a.Address == address })
	r.Detach = slices.DeleteFunc(r.Detach, func(a string) bool { return a == address })
}

// Noted says which creations the list has of address once r is committed, as far as r knows.
func (r *Rows) Noted(address string) (times []time.Time, known bool) {
	for _, a := range r.Attach {
		if a.Address == address {
			return a.Times, true
		}
	}
	return nil, r.Clear || slices.Contains(r.Detach, address)
}
