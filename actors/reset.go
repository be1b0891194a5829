package actors

import (
	"context"
	"log/slog"
	"time"

	"inboxd/actors/engine"
	"inboxd/internal/base/failpoint"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
)

// resetQueue bounds how many reset requests wait. Further requests are dropped, and the user has to
// ask again.
const resetQueue = 1024

// mailToken sends a token to its account's address and does not keep it.
type mailToken func(ctx context.Context, email, token string, expires time.Time) error

// PasswordResets sets passwords and verifies e-mail addresses by a token that was sent by mail. It is
// immutable; any goroutine may use it.
type PasswordResets struct {
	accounts        *AccountService
	registry        *InboxRegistry
	store           CredentialStore
	minter          minter
	log             *slog.Logger
	sendResetToken  mailToken   // of a reset; nil if none is sent, and then no token is created
	sendVerifyToken mailToken   // of a verification; nil if none is sent
	requestedEmails chan string // e-mail addresses with a requested reset, read by run
}

// RequestReset sends a password-reset token to the address if an account has it. It always returns
// immediately, so that the time does not reveal whether the account exists.
func (r *PasswordResets) RequestReset(email string) {
	if r.sendResetToken == nil {
		return
	}
	select {
	case r.requestedEmails <- email:
	default:
		r.log.Warn("too many password reset requests, one was dropped")
	}
}

// RequestVerification sends a token that verifies the address of an account, unless the address is
// verified or enough tokens are outstanding. It returns when the message is on disk.
func (r *PasswordResets) RequestVerification(ctx context.Context, id account.ID) error {
	picture, err := r.accounts.owners.readSnapshot(ctx, id)
	if err != nil || r.sendVerifyToken == nil || !picture.profile.EmailUnverified {
		return err
	}
	return r.sendToken(ctx, picture.profile, account.StartReset{VerifiesEmail: true}, r.sendVerifyToken)
}

// VerifyEmail uses such a token.
func (r *PasswordResets) VerifyEmail(ctx context.Context, token string) error {
	id, err := r.findTokenAccount(token, account.KindVerify, account.BadVerification())
	if err == nil {
		_, err = r.accounts.owners.sendCommand(ctx, id, account.VerifyEmail{Hash: account.HashToken([]byte(token))})
	}
	return err
}

// findTokenAccount returns the account of a token of this kind, or the error bad.
func (r *PasswordResets) findTokenAccount(token string, kind account.TokenKind, bad error) (account.ID, error) {
	of, home, ok := account.ParseToken(token)
	if !ok || of != kind {
		return account.ID{}, bad
	}
	id, _, found, err := r.store.FindCredential(home, account.HashToken([]byte(token)))
	switch {
	case err != nil:
		return id, engine.BusyError(err)
	case !found:
		return id, bad
	}
	return id, nil
}

// runSupervisor processes the requests one by one until ctx ends.
func (r *PasswordResets) runSupervisor(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case email := <-r.requestedEmails:
			profile, err := r.accounts.byEmail(ctx, email)
			if err == nil && !profile.CreatedAt.IsZero() {
				err = r.sendToken(ctx, profile, account.StartReset{}, r.sendResetToken)
			}
			if err != nil {
				r.log.Warn("password reset message could not be sent", "err", err)
			}
		}
	}
}

func (r *PasswordResets) sendToken(ctx context.Context, profile account.Profile, order account.StartReset, mail mailToken) error {
	token, expires, err := r.startReset(ctx, profile.ID, order)
	if fault.Is(err, fault.Refused) {
		return nil // enough tokens are outstanding
	}
	if err != nil {
		return err
	}
	return mail(ctx, profile.Email, token, expires)
}

func (r *PasswordResets) startReset(ctx context.Context, id account.ID, order account.StartReset) (token string, expires time.Time, err error) {
	kind, life := account.KindReset, account.ResetLife
	if order.VerifiesEmail {
		kind, life = account.KindVerify, account.VerifyLife
	}
	token = r.minter.mintToken(kind, id)
	order.Hash, expires = account.HashToken([]byte(token)), r.accounts.now().Add(life)
	_, err = r.accounts.owners.sendCommand(ctx, id, order)
	return token, expires, err
}

// ResetToken creates a password-reset token that the operator hands over.
func (r *PasswordResets) ResetToken(ctx context.Context, email string) (token string, expires time.Time, err error) {
	profile, err := r.accounts.profileByEmail(ctx, email)
	if err != nil {
		return "", time.Time{}, err
	}
	return r.startReset(ctx, profile.ID, account.StartReset{ByOperator: true})
}

// ResetPassword sets the password by a reset token, which the reset uses up. It also ends
// everything that an intruder may have left to regain access: sessions, keys, webhooks and calendar
// links. The caller must have checked the password.
//
// Links belong to inboxes, so the commit that ends the rest cannot end them. They end before it: if
// the process dies in between, the token stays valid and the old password stays set. They end again
// after the commit, because somebody with an old credential may have created links meanwhile.
func (r *PasswordResets) ResetPassword(ctx context.Context, token, password string) (account.ResetSummary, error) {
	h := account.HashToken([]byte(token))
	id, err := r.findTokenAccount(token, account.KindReset, account.BadReset())
	if err != nil {
		return account.ResetSummary{}, err
	}
	if _, err := r.accounts.owners.sendCommand(ctx, id, account.CheckReset{Hash: h}); err != nil {
		return account.ResetSummary{}, err
	}
	before, err := r.registry.hideCalendars(ctx, id)
	if err != nil {
		return account.ResetSummary{}, err
	}
	var salt [16]byte
	r.accounts.fillRandom(salt[:])
	failpoint.MarkPoint("reset-links-ended")
	got, err := r.accounts.owners.sendCommand(ctx, id, account.ResetPassword{Hash: h, PasswordHash: account.HashPassword(password, salt)})
	if err != nil {
		return account.ResetSummary{}, err
	}
	failpoint.MarkPoint("reset-committed")
	ended := got.(account.ResetSummary)
	ended.Links, err = r.registry.hideCalendars(ctx, id)
	ended.Links += before
	if err == nil {
		err = r.accounts.removeEnded(ctx, id)
	}
	return ended, err
}
