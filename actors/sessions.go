package actors

import (
	"context"

	"inboxd/internal/core/account"
)

// SessionService handles sign-up, login and logout. It is immutable; any goroutine may use it.
type SessionService struct {
	accounts         *AccountService
	minter           minter
	signUpPlan       account.PlanName                  // of a sign-up
	sendVerification func(context.Context, account.ID) // sends the link that verifies a new account's address; nil if none is sent
}

// SignUp creates an account and its first session. The caller must have checked the password.
func (s *SessionService) SignUp(ctx context.Context, email, password string) (account.SignedIn, error) {
	profile, err := s.accounts.openAccount(ctx, email, password, s.signUpPlan, false)
	if err != nil {
		return account.SignedIn{}, err
	}
	if s.sendVerification != nil {
		s.sendVerification(ctx, profile.ID)
	}
	return s.startSession(ctx, profile)
}

// LogIn starts a session. A wrong password and an unknown address take the same time and return the
// same error.
func (s *SessionService) LogIn(ctx context.Context, email, password string) (account.SignedIn, error) {
	var profile account.Profile
	if canonical, err := account.CanonicalEmail(email); err == nil {
		if profile, err = s.accounts.byEmail(ctx, canonical); err != nil {
			return account.SignedIn{}, err
		}
	}
	if !profile.ClosingAt.IsZero() {
		profile = account.Profile{}
	}
	if !account.PasswordMatches(profile.PasswordHash, password) {
		return account.SignedIn{}, account.BadSignIn()
	}
	return s.startSession(ctx, profile)
}

func (s *SessionService) startSession(ctx context.Context, profile account.Profile) (account.SignedIn, error) {
	if profile.EndedKeys > 0 {
		if err := s.accounts.removeEnded(ctx, profile.ID); err != nil {
			return account.SignedIn{}, err
		}
	}
	token := s.minter.mintToken(account.KindSession, profile.ID)
	if _, err := s.accounts.owners.sendCommand(ctx, profile.ID, account.StartSession{Hash: account.HashToken([]byte(token)), PasswordHash: profile.PasswordHash}); err != nil {
		return account.SignedIn{}, err
	}
	return account.SignedIn{Token: token, ExpiresAt: s.accounts.now().Add(account.SessionLife), Profile: profile}, nil
}

// ChangePassword sets the password if the old one matches, and ends every session except that of p.
// It returns Forbidden if the old one does not match. The caller must have checked the new
// password.
func (s *SessionService) ChangePassword(ctx context.Context, p *account.Principal, old, password string) error {
	known, err := s.accounts.checkPassword(ctx, p.Account, old)
	if err != nil {
		return err
	}
	var salt [16]byte
	s.accounts.fillRandom(salt[:])
	_, err = s.accounts.owners.sendCommand(ctx, p.Account, account.ChangePassword{
		OldHash: known.PasswordHash, PasswordHash: account.HashPassword(password, salt), KeepSession: p.Hash,
	})
	return err
}

// LogOut ends the session of p immediately.
func (s *SessionService) LogOut(ctx context.Context, p *account.Principal) error {
	_, err := s.accounts.owners.sendCommand(ctx, p.Account, account.EndSession{Hash: p.Hash})
	return err
}

// minter generates tokens from random bytes.
type minter func([]byte)

func (random minter) mintToken(kind account.TokenKind, id account.ID) string {
	var bytes [32]byte
	random(bytes[:])
	return account.MintToken(kind, id.HomePartition(), bytes)
}
