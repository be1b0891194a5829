package actors

import (
	"context"
	"time"

	"inboxd/actors/engine"
	"inboxd/internal/account"
	"inboxd/internal/fault"
)

// resetQueue bounds how many requests for a reset wait; what comes beyond is dropped, and
// the person asks again.
const resetQueue = 1024

// RequestReset has a password-reset token mailed to the address if an account has it. It
// returns at once in every case, so that nobody learns by the time it takes who has an
// account.
func (s *System) RequestReset(email string) {
	if s.MailReset == nil {
		return
	}
	select {
	case s.resets <- email:
	default:
		s.Logger.Warn("too many password resets are asked for; one was dropped")
	}
}

// mailResetsUntilStopped works on the requests, one by one.
func (s *System) mailResetsUntilStopped() {
	for {
		select {
		case <-s.stop:
			return
		case email := <-s.resets:
			if err := s.mailReset(email); err != nil {
				s.Logger.Warn("a password reset could not be mailed", "err", err)
			}
		}
	}
}

func (s *System) mailReset(email string) error {
	profile, err := s.byEmail(s.running, email)
	if err != nil || profile.CreatedAt.IsZero() {
		return err
	}
	token, expires, err := s.startReset(s.running, profile.ID, false)
	if fault.Is(err, fault.Refused) {
		return nil // enough of them wait already
	}
	if err != nil {
		return err
	}
	return s.MailReset(s.running, profile.Email, token, expires)
}

func (s *System) startReset(ctx context.Context, id account.ID, operator bool) (token string, expires time.Time, err error) {
	token = s.mint(account.KindReset, id)
	expires = s.now().Add(account.ResetLife)
	_, err = s.ask(ctx, id, account.StartReset{Hash: account.HashToken([]byte(token)), Operator: operator})
	return token, expires, err
}

// ResetToken makes a password-reset token for the operator to hand over.
func (s *System) ResetToken(ctx context.Context, email string) (token string, expires time.Time, err error) {
	profile, err := s.named(ctx, email)
	if err != nil {
		return "", time.Time{}, err
	}
	return s.startReset(ctx, profile.ID, true)
}

// ResetPassword sets the password by a reset token, which ends by that, and ends every
// session of the account. The password must have been checked.
func (s *System) ResetPassword(ctx context.Context, token, password string) error {
	kind, home, ok := account.ParseToken(token)
	if !ok || kind != account.KindReset {
		return account.BadReset()
	}
	h := account.HashToken([]byte(token))
	id, _, found, err := s.store.Credential(home, h)
	switch {
	case err != nil:
		return engine.Busy(err)
	case !found:
		return account.BadReset()
	}
	var salt [16]byte
	s.Random(salt[:])
	_, err = s.ask(ctx, id, account.ResetPassword{Hash: h, PasswordHash: account.HashPassword(password, salt)})
	return err
}
