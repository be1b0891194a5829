package account

import (
	"fmt"
	"slices"
	"time"

	"inboxd/internal/base/fault"
)

// MaxDomains bounds an account's own domains: each costs keys and a daily check.
const MaxDomains = 100

// Whose a domain is, the owner of its name decides, in another partition; an account lists the
// names where it may have one. An entry's mark is the time of its writing, later each time.

// Commands of the list of own domains.
type (
	// ListDomain puts a name on the list before it is claimed; and, Claimed, once more when it
	// was: with a new mark then, and no limit counts.
	ListDomain struct {
		Name    string
		Claimed bool
	}
	// UnlistDomain takes a name off that was found not to be the account's after the list showed
	// it with Mark. With another one it was claimed since, and stays.
	UnlistDomain struct {
		Name string
		Mark time.Time
	}
)

type (
	domainListed   struct{ Domain Listed }
	domainUnlisted struct{ Name string }
)

// Listed is an entry of the list.
type Listed struct {
	Name string
	Mark time.Time // zero: from before entries had marks
}

func (c ListDomain) decide(s *State, env Env) ([]Event, error) {
	mark, listed := s.Domains[c.Name]
	switch {
	case c.Claimed:
	case listed:
		return nil, nil // left by a crash
	case len(s.Domains) >= MaxDomains:
		return nil, fault.New(fault.Refused, fmt.Sprintf("An account holds at most %d domains. Delete one first", MaxDomains))
	}
	now := env.Now
	if c.Claimed {
		// The entry from before the claim may have been taken off, within this very millisecond,
		// by one of two who saw it; the other is still to come.
		now = now.Add(time.Millisecond)
	}
	if listed && !now.After(mark) {
		now = mark.Add(time.Millisecond)
	}
	return []Event{domainListed{Listed{c.Name, now}}}, nil
}

func (c UnlistDomain) decide(s *State, _ Env) ([]Event, error) {
	if mark, listed := s.Domains[c.Name]; !listed || !mark.Equal(c.Mark) {
		return nil, nil
	}
	return []Event{domainUnlisted{c.Name}}, nil
}

func (e domainListed) apply(s *State) { s.Domains[e.Domain.Name] = e.Domain.Mark }
func (e domainListed) rows(_ *State, r *Rows) {
	r.forgetDomain(e.Domain.Name)
	r.PutDomains = append(r.PutDomains, e.Domain)
}

// forgetDomain leaves out what r says of a name.
func (r *Rows) forgetDomain(name string) {
	r.PutDomains = slices.DeleteFunc(r.PutDomains, func(l Listed) bool { return l.Name == name })
	r.DropDomains = slices.DeleteFunc(r.DropDomains, func(n string) bool { return n == name })
}

func (e domainUnlisted) apply(s *State) { delete(s.Domains, e.Name) }
func (e domainUnlisted) rows(_ *State, r *Rows) {
	r.forgetDomain(e.Name)
	r.DropDomains = append(r.DropDomains, e.Name)
}
