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
		Hash     Hash
		Operator bool
		Verify   bool
	}
	// ResetPassword uses a reset token to set the password. The same commit ends everything that an
	// intruder could use to come back: sessions, keys, webhooks and the other reset tokens. The
	// rows of the keys are removed afterwards, see EndedKeys.
	ResetPassword struct {
		Hash         Hash
		PasswordHash string
	}
	// ChangePassword sets the password. It ends every session but the one with hash Keep, and every
	// unused token. Old is the hash that the old password was checked against.
	ChangePassword struct {
		Old          string
		PasswordHash string
		Keep         Hash
	}
	// CheckReset changes nothing. It is refused if ResetPassword with this token would be.
	CheckReset struct{ Hash Hash }
	// VerifyEmail uses a token that verifies the e-mail address, and ends the others of its kind.
	VerifyEmail struct{ Hash Hash }
)

// Ended counts what a password reset ended in the account with an e-mail address.
type Ended struct {
	Email                           string
	Sessions, Keys, Webhooks, Links int64
}

type (
	resetStarted struct{ Reset Reset }
	resetEnded   struct{ Hash Hash }
	passwordSet  struct{ Hash string }
	keysEnded    struct{ Through int64 }
	verified     struct{}
)

func (c StartReset) decide(s *State, env Env) ([]Event, error) {
	var evs []Event
	var first Hash // the one that expires first
	waiting := 0
	for h, r := range s.Resets {
		if r.over(env) {
			evs = append(evs, resetEnded{h})
			continue
		}
		if r.Verify != c.Verify {
			continue
		}
		if waiting == 0 || r.ExpiresAt.Before(s.Resets[first].ExpiresAt) {
			first = h
		}
		waiting++
	}
	if waiting >= maxResets {
		if !c.Operator {
			return nil, fault.New(fault.Refused, "Several reset links were already sent. Use one of them, or wait an hour")
		}
		evs = append(evs, resetEnded{first})
	}
	life := ResetLife
	if c.Verify {
		life = VerifyLife
	}
	return append(evs, resetStarted{Reset{Hash: c.Hash, ExpiresAt: env.Now.Add(life), ClockSeen: env.clockSeen(), Verify: c.Verify}}), nil
}

// BadReset is the fault for an invalid reset token, whatever the reason.
func BadReset() error {
	return fault.New(fault.Refused, "This password reset link is invalid: it is unknown, was used, or is older than an hour. Request a new one")
}

func (c CheckReset) decide(s *State, env Env) ([]Event, error) {
	if r, known := s.Resets[c.Hash]; !known || r.over(env) || r.Verify {
		return nil, BadReset()
	}
	return nil, nil
}

func (c ResetPassword) decide(s *State, env Env) ([]Event, error) {
	if _, err := (CheckReset{c.Hash}).decide(s, env); err != nil {
		return nil, err
	}
	evs := append(s.endTokens(), passwordSet{c.PasswordHash})
	if s.AccountKeys+s.InboxKeys > 0 {
		evs = append(evs, keysEnded{s.LastKey})
	}
	if s.Unverified {
		evs = append(evs, verified{})
	}
	return append(evs, s.dropWebhooks()...), nil
}

// BadVerification is the fault for an invalid verification token, whatever the reason.
func BadVerification() error {
	return fault.New(fault.Refused, "This verification link is invalid: it is unknown, was used, or is older than a day. Request a new one")
}

func (c VerifyEmail) decide(s *State, env Env) (evs []Event, _ error) {
	if r, known := s.Resets[c.Hash]; !known || r.over(env) || !r.Verify {
		return nil, BadVerification()
	}
	for h, r := range s.Resets {
		if r.Verify {
			evs = append(evs, resetEnded{h})
		}
	}
	return append(evs, verified{}), nil
}

func (c ChangePassword) decide(s *State, _ Env) ([]Event, error) {
	if c.Old != s.PasswordHash {
		return nil, BadPassword() // a concurrent request changed it
	}
	evs := slices.DeleteFunc(s.endTokens(), func(e Event) bool { return e == Event(sessionEnded{c.Keep}) })
	return append(evs, passwordSet{c.PasswordHash}), nil
}

// SessionList returns the sessions that are valid in env, oldest first.
func (s *State) SessionList(env Env) (out []Session) {
	for _, ses := range s.Sessions {
		if !ses.over(env) {
			out = append(out, *ses)
		}
	}
	slices.SortFunc(out, func(a, b Session) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), bytes.Compare(a.Hash[:], b.Hash[:]))
	})
	return out
}

// Ending counts what a password reset that is decided now would end, except links to calendars.
func (s *State) Ending(env Env) (e Ended) {
	for _, ses := range s.Sessions {
		if !ses.over(env) {
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
	for h := range s.Resets {
		evs = append(evs, resetEnded{h})
	}
	return evs
}

func (e resetStarted) apply(s *State) { s.Resets[e.Reset.Hash] = e.Reset }
func (e resetStarted) rows(_ *State, r *Rows) {
	r.PutResets = append(r.PutResets, e.Reset)
}
func (e resetEnded) apply(s *State) { delete(s.Resets, e.Hash) }
func (e resetEnded) rows(_ *State, r *Rows) {
	r.DropResets = append(r.DropResets, Reset{Hash: e.Hash})
}
func (e passwordSet) apply(s *State)         { s.PasswordHash = e.Hash }
func (e passwordSet) rows(s *State, r *Rows) { r.profile(s) }
func (verified) apply(s *State)              { s.Unverified = false }
func (verified) rows(s *State, r *Rows)      { r.profile(s) }
func (e keysEnded) apply(s *State)           { s.EndedKeys = e.Through }
func (e keysEnded) rows(s *State, r *Rows)   { r.profile(s) }
