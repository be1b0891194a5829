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
	RevokeKeys struct{ Keys []APIKey }
	// Erase removes the closed account itself, after its inboxes and keys are removed.
	Erase struct{}
)

type (
	closingBegun struct{ At time.Time }
	rowsErased   struct{}
)

// growsAccount reports whether a closing account refuses cmd.
func growsAccount(cmd Command) bool {
	switch cmd.(type) {
	case StartSession, IssueKey, ReserveInbox, StartReset, CheckReset, ResetPassword, VerifyEmail, ChangePassword, SetPlan, AddWebhook, ListDomain, SetRecipient:
		return true
	}
	return false
}

func (Close) decideEvents(s *State, env Env) ([]Event, error) {
	if !s.ClosingAt.IsZero() {
		return nil, nil
	}
	return append(append(s.endTokens(), closingBegun{env.Now}), s.dropWebhooks()...), nil
}

func (c RevokeKeys) decideEvents(s *State, _ Env) (evs []Event, _ error) {
	for _, k := range c.Keys {
		evs = append(evs, keyRevoked{k})
	}
	return evs, nil
}

func (Erase) decideEvents(s *State, _ Env) ([]Event, error) {
	if s.ClosingAt.IsZero() || s.LiveInboxes > 0 || s.AccountKeys+s.InboxKeys > 0 || len(s.ReservedInboxes) > 0 {
		return nil, fault.New(fault.TemporarilyUnavailable, "The account is not empty yet")
	}
	return []Event{rowsErased{}}, nil
}

func (e closingBegun) applyTo(s *State)              { s.ClosingAt = e.At }
func (e closingBegun) collectRows(s *State, r *Rows) { r.writeProfile(s) }

// applyTo leaves the state of an account that never existed. Earlier writes of the same batch are
// removed too.
func (rowsErased) applyTo(s *State) {
	id := s.ID
	*s = *NewState()
	s.ID = id
}
func (rowsErased) collectRows(s *State, r *Rows) { *r = Rows{ID: s.ID, EraseAll: true} }
