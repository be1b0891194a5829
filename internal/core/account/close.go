package account

import (
	"time"

	"inboxd/internal/base/fault"
)

// Deleting an account takes several steps, because it may have a million inboxes. Close refuses new
// work at once, inboxes and keys are removed in groups, and Erase removes the rest. After a crash
// in between, the account is still closing, and the next start continues the deletion.

// Commands of a deletion.
type (
	// Close ends every session and reset token, and refuses commands that would make the account
	// grow.
	Close struct{}
	// RevokeKeys removes some keys of an account that is closing, or whose password was reset.
	RevokeKeys struct{ Keys []Key }
	// Erase removes the closed account itself, after its inboxes and keys are removed.
	Erase struct{}
)

type (
	closed struct{ At time.Time }
	erased struct{}
)

// grows reports whether a closing account refuses cmd.
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

// apply leaves the state of an account that never existed. Earlier writes of the same batch are
// removed too.
func (erased) apply(s *State) {
	id := s.ID
	*s = *NewState()
	s.ID = id
}
func (erased) rows(s *State, r *Rows) { *r = Rows{ID: s.ID, Erase: true} }
