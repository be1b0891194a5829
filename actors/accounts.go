package actors

import (
	"context"
	"time"

	"inboxd/actors/engine"
	"inboxd/internal/account"
	"inboxd/internal/fault"
	"inboxd/internal/once"
)

// AccountStore is what accounts need of the disk. A commit is one atomic batch and returns
// only when it is synced; StorageFull means that nothing was written.
type AccountStore interface {
	LoadAccount(account.ID) (*account.State, error)
	CommitAccount(*account.Rows) error
	Key(id account.ID, key int64) (*account.Key, error)
	KeyOfInbox(id account.ID, address string) (int64, error)
	Keys(id account.ID, after int64, limit int) ([]account.Key, error)
	Listed(account.ID, account.InboxEntry) (bool, error)
	// AccountOnce finds the newest record of a request, nil when there is none.
	AccountOnce(account.ID, once.Key) (*once.Record, error)

	AccountByEmail(email string) (account.ID, bool, error)
	PutEmail(email string, id account.ID) error
	DropEmail(email string) error
	Accounts(after account.ID, limit int) ([]account.Profile, error)
}

// accountOwners hands commands to the owners of accounts.
type accountOwners struct{ *engine.Directory }

// order returns after the command's commit.
func (o accountOwners) order(ctx context.Context, id account.ID, cmd any) (any, error) {
	return o.Do(ctx, string(id[:]), cmd, 0)
}

// notify does not wait for the command's answer.
func (o accountOwners) notify(id account.ID, cmd any) { o.Notify(string(id[:]), cmd) }

// picture reads an account; a zero one when there is none.
func (o accountOwners) picture(ctx context.Context, id account.ID) (accountPicture, error) {
	got, err := o.order(ctx, id, readAccount{})
	picture, _ := got.(accountPicture)
	return picture, err
}

// Accounts opens accounts, finds them by e-mail address, and shows them. Only its locks
// change; any goroutine may use it.
type Accounts struct {
	owners accountOwners
	store  AccountStore
	plans  account.Plans
	now    func() time.Time
	random func([]byte)
	emails engine.Locks // by address: it opens one account
}

// OpenAccount makes an account. The e-mail's row is written first: a crash before the
// account's own row leaves a row that leads nowhere, and the next sign-up takes it over.
func (a *Accounts) OpenAccount(ctx context.Context, email, password string, plan account.PlanName) (account.Profile, error) {
	email, err := account.CanonicalEmail(email)
	if err != nil {
		return account.Profile{}, err
	}
	if err := account.CheckPassword(password); err != nil {
		return account.Profile{}, err
	}
	mu := a.emails.Of(email)
	mu.Lock()
	defer mu.Unlock()
	if known, err := a.byEmail(ctx, email); err != nil || !known.CreatedAt.IsZero() {
		if err == nil {
			err = fault.New(fault.Refused, "An account with this e-mail address exists already")
		}
		return account.Profile{}, err
	}
	var salt [16]byte
	var tail [10]byte
	a.random(salt[:])
	a.random(tail[:])
	open := account.Open{ID: account.NewID(a.now(), tail), Email: email, PasswordHash: account.HashPassword(password, salt), Plan: plan}
	if err := a.store.PutEmail(email, open.ID); err != nil {
		return account.Profile{}, err
	}
	if _, err := a.owners.order(ctx, open.ID, open); err != nil {
		return account.Profile{}, err
	}
	return a.byEmail(ctx, email)
}

// byEmail returns the profile of an e-mail address; a zero one when nobody has it.
func (a *Accounts) byEmail(ctx context.Context, email string) (account.Profile, error) {
	id, ok, err := a.store.AccountByEmail(email)
	if err != nil {
		return account.Profile{}, engine.Busy(err)
	}
	if !ok {
		return account.Profile{}, nil
	}
	picture, err := a.owners.picture(ctx, id)
	return picture.profile, err
}

// named is byEmail for the operator: NotFound when nobody has the address.
func (a *Accounts) named(ctx context.Context, email string) (account.Profile, error) {
	email, err := account.CanonicalEmail(email)
	if err != nil {
		return account.Profile{}, err
	}
	profile, err := a.byEmail(ctx, email)
	if err == nil && profile.CreatedAt.IsZero() {
		err = fault.New(fault.NotFound, "There is no account with this e-mail address")
	}
	return profile, err
}

// erase removes an account and then frees its e-mail address. A crash between leaves a row
// that leads nowhere, which the next sign-up takes over.
func (a *Accounts) erase(ctx context.Context, profile account.Profile) error {
	mu := a.emails.Of(profile.Email)
	mu.Lock()
	defer mu.Unlock()
	if _, err := a.owners.order(ctx, profile.ID, account.Erase{}); err != nil {
		return err
	}
	holder, found, err := a.store.AccountByEmail(profile.Email)
	if err != nil || !found || holder != profile.ID {
		return err
	}
	return a.store.DropEmail(profile.Email)
}

// Usage returns an account beside what its plan allows.
func (a *Accounts) Usage(ctx context.Context, id account.ID) (account.Usage, error) {
	picture, err := a.owners.picture(ctx, id)
	if err != nil {
		return account.Usage{}, err
	}
	return account.Usage{
		Profile: picture.profile, Plan: a.plans.Of(picture.profile.Plan),
		Inboxes: picture.profile.Inboxes + int64(len(picture.reserved)),
		Keys:    picture.profile.AccountKeys + picture.profile.InboxKeys,
		Sends:   picture.sends.On(a.now()),
	}, nil
}

// SetPlan moves the account with this e-mail address to another plan.
func (a *Accounts) SetPlan(ctx context.Context, email string, plan account.PlanName) error {
	profile, err := a.named(ctx, email)
	if err != nil {
		return err
	}
	_, err = a.owners.order(ctx, profile.ID, account.SetPlan{Plan: plan})
	return err
}

// Profiles pages through all accounts by id, for the operator.
func (a *Accounts) Profiles(after account.ID, limit int) ([]account.Profile, error) {
	return a.store.Accounts(after, limit)
}
