package account

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"inboxd/internal/base/fault"
)

const (
	// ResetLife is how long a password-reset token is valid (specification, Sign-up and sessions).
	ResetLife = time.Hour
	// VerifyLife is how long a token that verifies an e-mail address is valid.
	VerifyLife = 24 * time.Hour
	// maxResets limits the unused tokens of each kind. Further ones are refused and do not replace
	// older ones, so that repeated requests by a stranger cannot invalidate the owner's link.
	maxResets = 5
)

// Commands of a password reset.
type (
	// StartReset stores the hash of a reset token, or of one that verifies the e-mail address. The
	// operator's token is always stored.
	StartReset struct {
		Hash          TokenHash
		ByOperator    bool
		VerifiesEmail bool
	}
	// ResetPassword uses a reset token to set the password. The same commit ends everything that an
	// intruder could use to come back: sessions, keys, webhooks and the other reset tokens. The
	// rows of the keys are removed afterwards, see EndedKeys.
	ResetPassword struct {
		Hash         TokenHash
		PasswordHash string
	}
	// ChangePassword sets the password. It ends every session but the one with hash KeepSession,
	// and every unused token. Old is the hash that the old password was checked against.
	ChangePassword struct {
		OldHash      string
		PasswordHash string
		KeepSession  TokenHash
	}
	// CheckReset changes nothing. It is refused if ResetPassword with this token would be.
	CheckReset struct{ Hash TokenHash }
	// VerifyEmail uses a token that verifies the e-mail address, and ends the others of its kind.
	VerifyEmail struct{ Hash TokenHash }
)

// ResetSummary counts what a password reset ended in the account with an e-mail address.
type ResetSummary struct {
	Email                           string
	Sessions, Keys, Webhooks, Links int64
}

type (
	resetStarted  struct{ Reset ResetToken }
	resetEnded    struct{ Hash TokenHash }
	passwordSet   struct{ PasswordHash string }
	keysEnded     struct{ LastKeyID int64 }
	emailVerified struct{}
)

func (c StartReset) decideEvents(s *State, env Env) ([]Event, error) {
	var evs []Event
	var first TokenHash // the one that expires first
	waiting := 0
	for h, r := range s.ResetTokens {
		if r.hasExpired(env) {
			evs = append(evs, resetEnded{h})
			continue
		}
		if r.VerifiesEmail != c.VerifiesEmail {
			continue
		}
		if waiting == 0 || r.ExpiresAt.Before(s.ResetTokens[first].ExpiresAt) {
			first = h
		}
		waiting++
	}
	if waiting >= maxResets {
		if !c.ByOperator {
			return nil, fault.Refuse(fault.CodeLimitReached, "Several reset links were already sent. Use one of them, or wait an hour")
		}
		evs = append(evs, resetEnded{first})
	}
	life := ResetLife
	if c.VerifiesEmail {
		life = VerifyLife
	}
	return append(evs, resetStarted{ResetToken{Hash: c.Hash, ExpiresAt: env.Now.Add(life), ClockSeen: env.clockSeen(), VerifiesEmail: c.VerifiesEmail}}), nil
}

// BadReset is the fault for an invalid reset token, whatever the reason.
func BadReset() error {
	return fault.Refuse(fault.CodeLinkInvalid, "This password reset link is invalid: it is unknown, was used, or is older than an hour. Request a new one")
}

func (c CheckReset) decideEvents(s *State, env Env) ([]Event, error) {
	if r, known := s.ResetTokens[c.Hash]; !known || r.hasExpired(env) || r.VerifiesEmail {
		return nil, BadReset()
	}
	return nil, nil
}

func (c ResetPassword) decideEvents(s *State, env Env) ([]Event, error) {
	if _, err := (CheckReset{c.Hash}).decideEvents(s, env); err != nil {
		return nil, err
	}
	evs := append(s.endTokens(), passwordSet{c.PasswordHash})
	if s.AccountKeys+s.InboxKeys > 0 {
		evs = append(evs, keysEnded{s.LastKey})
	}
	if s.EmailUnverified {
		evs = append(evs, emailVerified{})
	}
	return append(evs, s.dropWebhooks()...), nil
}

// BadVerification is the fault for an invalid verification token, whatever the reason.
func BadVerification() error {
	return fault.Refuse(fault.CodeLinkInvalid, "This verification link is invalid: it is unknown, was used, or is older than a day. Request a new one")
}

func (c VerifyEmail) decideEvents(s *State, env Env) (evs []Event, _ error) {
	if r, known := s.ResetTokens[c.Hash]; !known || r.hasExpired(env) || !r.VerifiesEmail {
		return nil, BadVerification()
	}
	for h, r := range s.ResetTokens {
		if r.VerifiesEmail {
			evs = append(evs, resetEnded{h})
		}
	}
	return append(evs, emailVerified{}), nil
}

func (c ChangePassword) decideEvents(s *State, _ Env) ([]Event, error) {
	if c.OldHash != s.PasswordHash {
		return nil, BadPassword() // a concurrent request changed it
	}
	evs := slices.DeleteFunc(s.endTokens(), func(e Event) bool { return e == Event(sessionEnded{c.KeepSession}) })
	return append(evs, passwordSet{c.PasswordHash}), nil
}

// SessionList returns the sessions that are valid in env, oldest first.
func (s *State) SessionList(env Env) (out []Session) {
	for _, ses := range s.Sessions {
		if !ses.isExpired(env) {
			out = append(out, *ses)
		}
	}
	slices.SortFunc(out, func(a, b Session) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), bytes.Compare(a.Hash[:], b.Hash[:]))
	})
	return out
}

// CountEnding counts what a password reset that is decided now would end, except links to calendars.
func (s *State) CountEnding(env Env) (e ResetSummary) {
	for _, ses := range s.Sessions {
		if !ses.isExpired(env) {
			e.Sessions++
		}
	}
	e.Email, e.Keys, e.Webhooks = s.Email, s.AccountKeys+s.InboxKeys, int64(len(s.Webhooks))
	return e
}

// endTokens ends every session and every reset token.
func (s *State) endTokens() (evs []Event) {
	for h := range s.Sessions {
		evs = append(evs, sessionEnded{h})
	}
	for h := range s.ResetTokens {
		evs = append(evs, resetEnded{h})
	}
	return evs
}

func (e resetStarted) applyTo(s *State) { s.ResetTokens[e.Reset.Hash] = e.Reset }
func (e resetStarted) collectRows(_ *State, r *Rows) {
	r.PutResets = append(r.PutResets, e.Reset)
}
func (e resetEnded) applyTo(s *State) { delete(s.ResetTokens, e.Hash) }
func (e resetEnded) collectRows(_ *State, r *Rows) {
	r.DropResets = append(r.DropResets, ResetToken{Hash: e.Hash})
}
func (e passwordSet) applyTo(s *State)              { s.PasswordHash = e.PasswordHash }
func (e passwordSet) collectRows(s *State, r *Rows) { r.writeProfile(s) }
func (emailVerified) applyTo(s *State)              { s.EmailUnverified = false }
func (emailVerified) collectRows(s *State, r *Rows) { r.writeProfile(s) }
func (e keysEnded) applyTo(s *State)                { s.EndedKeys = e.LastKeyID }
func (e keysEnded) collectRows(s *State, r *Rows)   { r.writeProfile(s) }
