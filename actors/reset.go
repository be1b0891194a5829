package actors

import (
	"context"
	"log/slog"
	"time"

	"inboxd/actors/engine"
	"inboxd/internal/account"
	"inboxd/internal/failpoint"
	"inboxd/internal/fault"
)

// resetQueue bounds how many requests for a reset wait; what comes beyond is dropped, and
// the person asks again.
const resetQueue = 1024

// Resets sets passwords anew by a token. It never changes; any goroutine may use it.
type Resets struct {
	accounts *Accounts
	registry *Registry
	store    CredentialStore
	minter   minter
	log      *slog.Logger
	// mail mails a token to its account's address; nil: no such mail, and no token is made.
	mail  func(ctx context.Context, email, token string, expires time.Time) error
	asked chan string // e-mail addresses, for run
}

// RequestReset has a password-reset token mailed to the address if an account has it. It
// returns at once in every case, so that nobody learns by the time it takes who has an
// account.
func (r *Resets) RequestReset(email string) {
	if r.mail == nil {
		return
	}
	select {
	case r.asked <- email:
	default:
		r.log.Warn("too many password resets are asked for; one was dropped")
	}
}

// run works on the requests, one by one, until ctx is over.
func (r *Resets) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case email := <-r.asked:
			if err := r.send(ctx, email); err != nil {
				r.log.Warn("a password reset could not be mailed", "err", err)
			}
		}
	}
}

func (r *Resets) send(ctx context.Context, email string) error {
	profile, err := r.accounts.byEmail(ctx, email)
	if err != nil || profile.CreatedAt.IsZero() {
		return err
	}
	token, expires, err := r.start(ctx, profile.ID, false)
	if fault.Is(err, fault.Refused) {
		return nil // enough of them wait already
	}
	if err != nil {
		return err
	}
	return r.mail(ctx, profile.Email, token, expires)
}

func (r *Resets) start(ctx context.Context, id account.ID, operator bool) (token string, expires time.Time, err error) {
	token = r.minter.mint(account.KindReset, id)
	expires = r.accounts.now().Add(account.ResetLife)
	_, err = r.accounts.owners.order(ctx, id, account.StartReset{Hash: account.HashToken([]byte(token)), Operator: operator})
	return token, expires, err
}

// ResetToken makes a password-reset token for the operator to hand over.
func (r *Resets) ResetToken(ctx context.Context, email string) (token string, expires time.Time, err error) {
	profile, err := r.accounts.named(ctx, email)
	if err != nil {
		return "", time.Time{}, err
	}
	return r.start(ctx, profile.ID, true)
}

// ResetPassword sets the password by a reset token, which ends by that, and ends what anybody may have
// left in the account to come back by: sessions, keys, webhooks and links to calendars. The password
// must have been checked.
//
// Links belong to inboxes, so they can't end in the commit that ends the rest. They end before it: a
// crash between leaves the token good and the old password as it was. They end once more behind it,
// for those that somebody with an old credential made meanwhile.
func (r *Resets) ResetPassword(ctx context.Context, token, password string) (account.Ended, error) {
	kind, home, ok := account.ParseToken(token)
	if !ok || kind != account.KindReset {
		return account.Ended{}, account.BadReset()
	}
	h := account.HashToken([]byte(token))
	id, _, found, err := r.store.Credential(home, h)
	switch {
	case err != nil:
		return account.Ended{}, engine.Busy(err)
	case !found:
		return account.Ended{}, account.BadReset()
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
