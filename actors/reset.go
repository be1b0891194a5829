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

// Resets sets passwords and verifies e-mail addresses by a token that was sent by mail. It is
// immutable; any goroutine may use it.
type Resets struct {
	accounts *Accounts
	registry *Registry
	store    CredentialStore
	minter   minter
	log      *slog.Logger
	mail     mailToken   // of a reset; nil if none is sent, and then no token is created
	verify   mailToken   // of a verification; nil if none is sent
	asked    chan string // e-mail addresses with a requested reset, read by run
}

// RequestReset sends a password-reset token to the address if an account has it. It always returns
// immediately, so that the time does not reveal whether the account exists.
func (r *Resets) RequestReset(email string) {
	if r.mail == nil {
		return
	}
	select {
	case r.asked <- email:
	default:
		r.log.Warn("too many password reset requests, one was dropped")
	}
}

// RequestVerification sends a token that verifies the address of an account, unless the address is
// verified or enough tokens are outstanding. It returns when the message is on disk.
func (r *Resets) RequestVerification(ctx context.Context, id account.ID) error {
	picture, err := r.accounts.owners.picture(ctx, id)
	if err != nil || r.verify == nil || !picture.profile.Unverified {
		return err
	}
	return r.send(ctx, picture.profile, account.StartReset{Verify: true}, r.verify)
}

// VerifyEmail uses such a token.
func (r *Resets) VerifyEmail(ctx context.Context, token string) error {
	id, err := r.find(token, account.KindVerify, account.BadVerification())
	if err == nil {
		_, err = r.accounts.owners.order(ctx, id, account.VerifyEmail{Hash: account.HashToken([]byte(token))})
	}
	return err
}

// find returns the account of a token of this kind, or the error bad.
func (r *Resets) find(token string, kind account.Kind, bad error) (account.ID, error) {
	of, home, ok := account.ParseToken(token)
	if !ok || of != kind {
		return account.ID{}, bad
	}
	id, _, found, err := r.store.Credential(home, account.HashToken([]byte(token)))
	switch {
	case err != nil:
		return id, engine.Busy(err)
	case !found:
		return id, bad
	}
	return id, nil
}

// run processes the requests one by one until ctx ends.
func (r *Resets) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case email := <-r.asked:
			profile, err := r.accounts.byEmail(ctx, email)
			if err == nil && !profile.CreatedAt.IsZero() {
				err = r.send(ctx, profile, account.StartReset{}, r.mail)
			}
			if err != nil {
				r.log.Warn("password reset message could not be sent", "err", err)
			}
		}
	}
}

func (r *Resets) send(ctx context.Context, profile account.Profile, order account.StartReset, mail mailToken) error {
	token, expires, err := r.start(ctx, profile.ID, order)
	if fault.Is(err, fault.Refused) {
		return nil // enough tokens are outstanding
	}
	if err != nil {
		return err
	}
	return mail(ctx, profile.Email, token, expires)
}

func (r *Resets) start(ctx context.Context, id account.ID, order account.StartReset) (token string, expires time.Time, err error) {
	kind, life := account.KindReset, account.ResetLife
	if order.Verify {
		kind, life = account.KindVerify, account.VerifyLife
	}
	token = r.minter.mint(kind, id)
	order.Hash, expires = account.HashToken([]byte(token)), r.accounts.now().Add(life)
	_, err = r.accounts.owners.order(ctx, id, order)
	return token, expires, err
}

// ResetToken creates a password-reset token that the operator hands over.
func (r *Resets) ResetToken(ctx context.Context, email string) (token string, expires time.Time, err error) {
	profile, err := r.accounts.named(ctx, email)
	if err != nil {
		return "", time.Time{}, err
	}
	return r.start(ctx, profile.ID, account.StartReset{Operator: true})
}

// ResetPassword sets the password by a reset token, which the reset uses up. It also ends
// everything that an intruder may have left to regain access: sessions, keys, webhooks and calendar
// links. The caller must have checked the password.
//
// Links belong to inboxes, so the commit that ends the rest cannot end them. They end before it: if
// the process dies in between, the token stays valid and the old password stays set. They end again
// after the commit, because somebody with an old credential may have created links meanwhile.
func (r *Resets) ResetPassword(ctx context.Context, token, password string) (account.Ended, error) {
	h := account.HashToken([]byte(token))
	id, err := r.find(token, account.KindReset, account.BadReset())
	if err != nil {
		return account.Ended{}, err
	}
	if _, err := r.accounts.owners.order(ctx, id, account.CheckReset{Hash: h}); err != nil {
		return account.Ended{}, err
	}
	before, err := r.registry.hideCalendars(ctx, id)
	if err != nil {
		return account.Ended{}, err
	}
	var salt [16]byte
	r.accounts.random(salt[:])
	failpoint.Here("reset-links-ended")
	got, err := r.accounts.owners.order(ctx, id, account.ResetPassword{Hash: h, PasswordHash: account.HashPassword(password, salt)})
	if err != nil {
		return account.Ended{}, err
	}
	failpoint.Here("reset-committed")
	ended := got.(account.Ended)
	ended.Links, err = r.registry.hideCalendars(ctx, id)
	ended.Links += before
	if err == nil {
		err = r.accounts.removeEnded(ctx, id)
	}
	return ended, err
}
