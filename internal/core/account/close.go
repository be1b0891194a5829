package account

import (
	"time"

	"inboxd/internal/base/fault"
)

// Deleting an account goes in steps, since it may hold a million inboxes: Close shuts every
// door at once, inboxes and keys go some at a time, and Erase removes the rest. A crash
// between leaves an account that is closing, and the next start goes on with it.

// Commands of a deletion.
type (
	// Close ends every session and reset token and refuses whatever would make the account grow.
	Close struct{}
	// RevokeKeys removes some keys of an account that is closing, or whose password was reset.
	RevokeKeys struct{ Keys []Key }
	// Erase removes the closed account itself, once its inboxes and keys are gone.
	Erase struct{}
)

type (
	closed struct{ At time.Time }
	erased struct{}
)

// grows tells commands that a closing account refuses.
func grows(cmd Command) bool {
	switch cmd.(type) {
	case StartSession, IssueKey, ReserveInbox, StartReset, CheckReset, ResetPassword, VerifyEmail, ChangePassword, SetPlan, AddWebhook, ListDomain, SetRecipient:
		return true
	}
	return false
}

func (Close) decide(s *State, env Env) ([]Event, error) {
	if !s.ClosingAt.IsZero() {
		return nil, nil
	}
	return append(append(s.endTokens(), closed{env.Now}), s.dropWebhooks()...), nil
}

func (c RevokeKeys) decide(s *State, _ Env) (evs []Event, _ error) {
	for _, k := range c.Keys {
		evs = append(evs, keyRevoked{k})
	}
	return evs, nil
}

func (Erase) decide(s *State, _ Env) ([]Event, error) {
	if s.ClosingAt.IsZero() || s.Inboxes > 0 || s.AccountKeys+s.InboxKeys > 0 || len(s.Reserved) > 0 {
		return nil, fault.New(fault.Unavailable, "The account is not empty yet")
	}
	return []Event{erased{}}, nil
}

func (e closed) apply(s *State)         { s.ClosingAt = e.At }
func (e closed) rows(s *State, r *Rows) { r.profile(s) }

// erased leaves the state of an account that never was. What the same batch wrote before
// goes with the rest.
func (erased) apply(s *State) {
	id := s.ID
	*s = *NewState()
	s.ID = id
}
func (erased) rows(s *State, r *Rows) { *r = Rows{ID: s.ID, Erase: true} }
