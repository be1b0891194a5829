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
	decideEvents(*State, Env) ([]Event, error)
}

// Env is what Decide knows besides state and command.
type Env struct{ Now time.Time }

// Commands of a domain.
type (
	// Claim makes the domain the account's own, unless another account has it. Proven means that
	// the account's ownership record was found just now. Then it replaces a claim that was never
	// verified, or whose records are permanently missing (ADR 0016).
	Claim struct {
		Account         account.ID
		Token           string
		Keys            []DKIMKey
		OwnershipProven bool
	}
	// ReportCheck reports what DNS contains for the claim with this token. Known are the records for
	// which DNS gave an answer. Asked means that the owner requested the check.
	ReportCheck struct {
		Token           string
		AnsweredRecords RecordSet
		FoundRecords    RecordSet
		OwnerAsked      bool
	}
	// Release gives the domain back. It is Refused while inboxes exist under it.
	Release struct{ Account account.ID }
	// AttachInbox records a creation under the domain, identified by its time, before it is made. It is
	// Refused unless the domain is verified for the account. Noted is the stored entry of the
	// address, because the list is not in memory.
	AttachInbox struct {
		Account       account.ID
		Address       string
		At            time.Time
		CreationTimes []time.Time
	}
	// DetachInbox removes the record after a deletion or a failed creation. The record of another
	// creation at the address stays, however late this command arrives. Dead means that no inbox
	// exists there: a record without a time, from before times were recorded, is removed too.
	DetachInbox struct {
		Address       string
		At            time.Time
		InboxGone     bool
		CreationTimes []time.Time
	}
	// KeepKeys gives the domain its first keys. Existing keys stay.
	KeepKeys struct{ Keys []DKIMKey }
)

// Decide returns the effect of cmd on s as events; no events mean no change. It does not modify s.
func Decide(s *State, cmd Command, env Env) ([]Event, error) { return cmd.decideEvents(s, env) }

func (c Claim) decideEvents(s *State, env Env) ([]Event, error) {
	switch {
	case s.IsClaimed() && s.Account == c.Account:
		return nil, fault.RefuseField("domain", fault.CodeAlreadyExists, "The domain %s already belongs to this account", s.Name)
	case s.Status == StatusVerified:
		return nil, fault.RefuseField("domain", fault.CodeAddressTaken, "The domain %s belongs to another account", s.Name)
	case s.IsClaimed() && !c.OwnershipProven:
		proof := OwnershipRecord(s.Name, c.Token)
		return nil, fault.RefuseField("domain", fault.CodeAddressTaken,
			"The domain %s is claimed by another account. If it is yours, publish the TXT record %s with the value %s and claim it again",
			s.Name, proof.Name, proof.Value)
	}
	return []Event{claimSet{Account: c.Account, Token: c.Token, Keys: c.Keys, At: env.Now}}, nil
}

func (c ReportCheck) decideEvents(s *State, env Env) ([]Event, error) {
	if !s.IsClaimed() || s.OwnershipToken != c.Token {
		return nil, nil // a late report about a claim that is over
	}
	e := checkRecorded{At: env.Now, Status: s.Status, MissingSince: s.MissingSince, FoundRecords: s.FoundRecords&^c.AnsweredRecords | c.FoundRecords&c.AnsweredRecords}
	switch {
	case c.FoundRecords&c.AnsweredRecords&neededRecords == neededRecords:
		e.Status, e.MissingSince = StatusVerified, time.Time{}
	case c.AnsweredRecords&^c.FoundRecords&neededRecords == 0, s.Status != StatusVerified:
		// No record is known to be missing, or the domain has no verified status to lose.
	case c.OwnerAsked, !s.MissingSince.IsZero() && env.Now.Sub(s.MissingSince) >= MissingGrace:
		e.Status, e.MissingSince = StatusFailing, time.Time{}
	case s.MissingSince.IsZero():
		e.MissingSince = env.Now
	}
	return []Event{e}, nil
}

func (c Release) decideEvents(s *State, _ Env) ([]Event, error) {
	switch {
	case !s.IsClaimed() || s.Account != c.Account:
		return nil, NotFound(s.Name)
	case s.InboxCount == 1:
		return nil, fault.Refuse(fault.CodeInUse, "1 inbox uses the domain %s. Delete it first", s.Name)
	case s.InboxCount > 0:
		return nil, fault.Refuse(fault.CodeInUse, "%d inboxes use the domain %s. Delete them first", s.InboxCount, s.Name)
	}
	return []Event{claimReleased{}}, nil
}

func (c AttachInbox) decideEvents(s *State, _ Env) ([]Event, error) {
	switch {
	case s.Account != c.Account || s.Status != StatusVerified:
		return nil, NotVerified(s.Name)
	case slices.ContainsFunc(c.CreationTimes, c.At.Equal):
		return nil, nil
	}
	return []Event{creationsNoted{c.Address, len(c.CreationTimes) == 0, append(slices.Clone(c.CreationTimes), c.At)}}, nil
}

func (c DetachInbox) decideEvents(_ *State, _ Env) ([]Event, error) {
	left := slices.DeleteFunc(slices.Clone(c.CreationTimes), func(at time.Time) bool {
		if at.IsZero() {
			return c.InboxGone
		}
		return at.Equal(c.At)
	})
	switch len(left) {
	case len(c.CreationTimes):
		return nil, nil
	case 0:
		return []Event{inboxDetached{c.Address}}, nil
	}
	return []Event{creationsNoted{c.Address, false, left}}, nil
}

func (c KeepKeys) decideEvents(s *State, _ Env) ([]Event, error) {
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
	return fault.RefuseField("domain", fault.CodeDomainNotVerified, "The domain %s is not a verified domain of this account", name)
}

// Event is something that happened to a domain. apply changes the state and cannot fail. rows adds
// what must be written for it, from the state after apply.
type Event interface {
	applyTo(*State)
	collectRows(*State, *Rows)
}

// Apply applies events to s in order and collects the rows that they touch. The caller commits the
// rows before anybody may see s. If the commit fails, s must be discarded and loaded again.
func (r *Rows) Apply(s *State, evs []Event) {
	r.Name = s.Name
	for _, ev := range evs {
		ev.applyTo(s)
		ev.collectRows(s, r)
	}
}

type (
	claimSet struct {
		Account account.ID
		Token   string
		Keys    []DKIMKey
		At      time.Time
	}
	checkRecorded struct {
		At           time.Time
		Status       ClaimStatus
		FoundRecords RecordSet
		MissingSince time.Time
	}
	claimReleased  struct{}
	creationsNoted struct {
		Address       string
		IsFirst       bool // of the address
		CreationTimes []time.Time
	}
	inboxDetached struct{ Address string }
	keysKept      struct{ Keys []DKIMKey }
)

func (r *Rows) putRecord(s *State) {
	c := *s
	r.PutState, r.DropRecord = &c, false
}

// clearInboxes empties the list of inboxes, so that those of an earlier owner get no more messages.
func (r *Rows) clearInboxes() { r.ClearInboxes, r.AttachInboxes, r.DetachInboxes = true, nil, nil }

func (e claimSet) applyTo(s *State) {
	*s = State{Name: s.Name, Account: e.Account, OwnershipToken: e.Token, Status: StatusPending, Keys: e.Keys, ClaimedAt: e.At}
}
func (e claimSet) collectRows(s *State, r *Rows) {
	r.clearInboxes()
	r.putRecord(s)
}

func (e checkRecorded) applyTo(s *State) {
	s.CheckedAt, s.Status, s.FoundRecords, s.MissingSince = e.At, e.Status, e.FoundRecords, e.MissingSince
	if s.Status == StatusVerified && s.VerifiedAt.IsZero() {
		s.VerifiedAt = e.At
	}
}
func (e checkRecorded) collectRows(s *State, r *Rows) { r.putRecord(s) }

func (claimReleased) applyTo(s *State) { *s = State{Name: s.Name} }
func (claimReleased) collectRows(_ *State, r *Rows) {
	r.clearInboxes()
	r.PutState, r.DropRecord = nil, true
}

func (e creationsNoted) applyTo(s *State) {
	if e.IsFirst {
		s.InboxCount++
	}
}
func (e creationsNoted) collectRows(s *State, r *Rows) {
	r.forgetAddress(e.Address)
	r.AttachInboxes = append(r.AttachInboxes, AttachedInbox{e.Address, e.CreationTimes})
	if e.IsFirst {
		r.putRecord(s)
	}
}

func (e inboxDetached) applyTo(s *State) { s.InboxCount-- }
func (e inboxDetached) collectRows(s *State, r *Rows) {
	r.forgetAddress(e.Address)
	r.DetachInboxes = append(r.DetachInboxes, e.Address)
	r.putRecord(s)
}

func (e keysKept) applyTo(s *State)              { s.Keys = e.Keys }
func (e keysKept) collectRows(s *State, r *Rows) { r.putRecord(s) }

// forgetAddress removes from r what it contains about an address.
func (r *Rows) forgetAddress(address string) {
	r.AttachInboxes = slices.DeleteFunc(r.AttachInboxes, func(a AttachedInbox) bool { return a.Address == address })
	r.DetachInboxes = slices.DeleteFunc(r.DetachInboxes, func(a string) bool { return a == address })
}

// NotedCreations returns the recorded creations of address after r is committed, if r contains them.
func (r *Rows) NotedCreations(address string) (times []time.Time, known bool) {
	for _, a := range r.AttachInboxes {
		if a.Address == address {
			return a.CreationTimes, true
		}
	}
	return nil, r.ClearInboxes || slices.Contains(r.DetachInboxes, address)
}
