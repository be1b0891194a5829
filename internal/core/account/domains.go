package account

import (
	"slices"
	"time"

	"inboxd/internal/base/fault"
)

// MaxDomains limits an account's own domains, because each costs keys and a daily check.
const MaxDomains = 100

// The owner of a domain name, in another partition, decides whose it is. An account only lists the
// names that may be its own. The mark of an entry is the time when it was written, and it increases
// with each write.

// Commands of the list of own domains.
type (
	// ListDomain adds a name to the list before it is claimed. With AlreadyClaimed it is sent again
	// after the claim; then it sets a new mark and no limit applies.
	ListDomain struct {
		Name           string
		AlreadyClaimed bool
	}
	// UnlistDomain removes a name that turned out not to be the account's after the list showed it
	// with Mark. With another mark it was claimed since, and stays.
	UnlistDomain struct {
		Name     string
		SeenMark time.Time
	}
)

type (
	domainListed   struct{ Domain ListedDomain }
	domainUnlisted struct{ Name string }
)

// ListedDomain is an entry of the list.
type ListedDomain struct {
	Name      string
	WrittenAt time.Time // zero: written before entries had marks
}

func (c ListDomain) decideEvents(s *State, env Env) ([]Event, error) {
	mark, listed := s.ListedDomains[c.Name]
	switch {
	case c.AlreadyClaimed:
	case listed:
		return nil, nil // left by a crash
	case len(s.ListedDomains) >= MaxDomains:
		return nil, fault.Refuse(fault.CodeLimitReached, "An account can have at most %d domains. Delete one first", MaxDomains)
	}
	now := env.Now
	if c.AlreadyClaimed {
		// Two requests may have seen the entry from before the claim. One may have removed it
		// within this very millisecond, and the other is still to come. The new mark must differ
		// from the one that they saw.
		now = now.Add(time.Millisecond)
	}
	if listed && !now.After(mark) {
		now = mark.Add(time.Millisecond)
	}
	return []Event{domainListed{ListedDomain{c.Name, now}}}, nil
}

func (c UnlistDomain) decideEvents(s *State, _ Env) ([]Event, error) {
	if mark, listed := s.ListedDomains[c.Name]; !listed || !mark.Equal(c.SeenMark) {
		return nil, nil
	}
	return []Event{domainUnlisted{c.Name}}, nil
}

func (e domainListed) applyTo(s *State) { s.ListedDomains[e.Domain.Name] = e.Domain.WrittenAt }
func (e domainListed) collectRows(_ *State, r *Rows) {
	r.forgetDomain(e.Domain.Name)
	r.PutDomains = append(r.PutDomains, e.Domain)
}

// forgetDomain removes from r what it contains about a name.
func (r *Rows) forgetDomain(name string) {
	r.PutDomains = slices.DeleteFunc(r.PutDomains, func(l ListedDomain) bool { return l.Name == name })
	r.DropDomains = slices.DeleteFunc(r.DropDomains, func(n string) bool { return n == name })
}

func (e domainUnlisted) applyTo(s *State) { delete(s.ListedDomains, e.Name) }
func (e domainUnlisted) collectRows(_ *State, r *Rows) {
	r.forgetDomain(e.Name)
	r.DropDomains = append(r.DropDomains, e.Name)
}
