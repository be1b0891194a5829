package actors

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"inboxd/actors/engine"
	"inboxd/actors/uniqueness"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/idempotency"
	"inboxd/internal/mail/sealed"
)

// AccountStore is the storage that accounts need. A commit is one atomic batch and returns only
// after the fsync; StorageFull means that nothing was written.
type AccountStore interface {
	LoadAccount(account.ID) (*account.State, error)
	CommitAccount(*account.Rows) error
	FindKey(id account.ID, key int64) (*account.APIKey, error)
	KeyOfInbox(id account.ID, address string) (int64, error)
	ListKeys(id account.ID, after int64, limit int) ([]account.APIKey, error)
	// FindListing reports whether the account's list shows an inbox, and whether the inbox is
	// encrypted.
	FindListing(account.ID, account.InboxEntry) (listed, encrypted bool, err error)
	// ClockSeen reads the clock and returns the latest reading that was ever trusted.
	ClockSeen() time.Time
	// AccountOnce finds the newest record of a request, or nil if none exists.
	AccountOnce(account.ID, idempotency.RequestKey) (*idempotency.Record, error)

	PlanOf(account.ID) (account.PlanName, error)
	// RecipientOf returns the account's public key, or "" if it has none.
	RecipientOf(account.ID) (string, error)
	AccountByEmail(email string) (account.NameHolder, error)
	SetEmail(email string, holder account.NameHolder) error
	// FindClaim is an account's claim to a subdomain. Without a number, the account has none.
	FindClaim(id account.ID, label string) (account.SubdomainClaim, error)
	// ListClaims pages through an account's claims that follow after, those of chosen subdomains first.
	ListClaims(id account.ID, after account.SubdomainClaim, limit int) ([]account.SubdomainClaim, error)
	ListAccounts(after account.ID, limit int) ([]account.Profile, error)
}

// accountOwners sends commands to the owners of accounts.
type accountOwners struct{ *engine.EntityDirectory }

// sendCommand returns after the command's commit.
func (o accountOwners) sendCommand(ctx context.Context, id account.ID, cmd any) (any, error) {
	return o.Do(ctx, string(id[:]), cmd, 0)
}

// notifyOwner does not wait for the result of the command.
func (o accountOwners) notifyOwner(id account.ID, cmd any) { o.Notify(string(id[:]), cmd) }

// readSnapshot reads an account without its reservations; it is zero if the account does not exist.
func (o accountOwners) readSnapshot(ctx context.Context, id account.ID) (accountPicture, error) {
	return o.readReservations(ctx, id, time.Time{})
}

// distantFuture is later than any reservation.
var distantFuture = time.Unix(1<<40, 0)

// readReservations is picture with the reservations made until the given time.
func (o accountOwners) readReservations(ctx context.Context, id account.ID, until time.Time) (accountPicture, error) {
	got, err := o.sendCommand(ctx, id, readAccount{until})
	picture, _ := got.(accountPicture)
	return picture, err
}

// listDomains reads an account's list of own domains: their marks, by name.
func (o accountOwners) listDomains(ctx context.Context, id account.ID) (map[string]time.Time, error) {
	got, err := o.sendCommand(ctx, id, readDomains{})
	listed, _ := got.(map[string]time.Time)
	return listed, err
}

// AccountService creates accounts, finds them by e-mail address and returns their profiles. It is
// immutable; any goroutine may use it.
type AccountService struct {
	owners          accountOwners
	emailRegistry   uniqueness.NameRegistry // an address opens one account
	store           AccountStore
	plans           account.Plans
	now             func() time.Time
	fillRandom      func([]byte)
	sendNotice      func(context.Context, ServiceNotice) // sent to a sign-in address
	mustVerifyEmail bool                                 // as Options.VerifyAddresses
}

// OpenAccount creates an account for the operator. The e-mail address counts as verified.
func (a *AccountService) OpenAccount(ctx context.Context, email, password string, plan account.PlanName) (account.Profile, error) {
	return a.openAccount(ctx, email, password, plan, true)
}

// openAccount creates an account. It claims the e-mail address first. If the process dies before the
// account is created, the address refers to no account, and the next sign-up takes it over.
func (a *AccountService) openAccount(ctx context.Context, email, password string, plan account.PlanName, verified bool) (account.Profile, error) {
	email, err := account.CanonicalEmail(email)
	if err != nil {
		return account.Profile{}, err
	}
	if err := account.CheckPassword(password); err != nil {
		return account.Profile{}, err
	}
	if known, err := a.byEmail(ctx, email); err != nil || !known.CreatedAt.IsZero() {
		return account.Profile{}, cmp.Or(err, emailTaken()) // without hashing a password
	}
	var salt [16]byte
	var tail [10]byte
	a.fillRandom(salt[:])
	a.fillRandom(tail[:])
	open := account.Open{ID: account.NewIDBeside(email, a.now(), tail), Email: email, PasswordHash: account.HashPassword(password, salt), Plan: plan, EmailVerified: verified}
	if err := a.claimEmail(ctx, email, open.ID); err != nil {
		return account.Profile{}, err
	}
	if _, err := a.owners.sendCommand(ctx, open.ID, open); err != nil {
		return account.Profile{}, takenIf(err)
	}
	picture, err := a.owners.readSnapshot(ctx, open.ID)
	return picture.profile, err
}

// claimEmail assigns the e-mail address to an account that is about to be created. Another holder may
// exist whose account was not created yet, because its sign-up was interrupted or lost the race.
// That holder's owner voids the account before the address passes on, so it can never be created.
// Therefore an address never leads to two accounts.
func (a *AccountService) claimEmail(ctx context.Context, email string, id account.ID) error {
	return a.emailRegistry.ClaimName(ctx, email, account.NameHolder{Account: id}, func(holder account.NameHolder) error {
		_, err := a.owners.sendCommand(ctx, holder.Account, account.BarOpening{ID: holder.Account})
		return takenIf(err)
	})
}

func emailTaken() error {
	return fault.RefuseField("email", fault.CodeAlreadyExists, "An account with this e-mail address already exists. Log in, or reset its password")
}

// takenIf replaces a refusal that another account caused with the error for the user.
func takenIf(err error) error {
	if fault.Is(err, fault.Refused) {
		return emailTaken()
	}
	return err
}

// byEmail returns the profile of an e-mail address; it is zero if no account has the address.
func (a *AccountService) byEmail(ctx context.Context, email string) (account.Profile, error) {
	holder, err := a.store.AccountByEmail(email)
	if err != nil {
		return account.Profile{}, engine.BusyError(err)
	}
	if holder == (account.NameHolder{}) {
		return account.Profile{}, nil
	}
	picture, err := a.owners.readSnapshot(ctx, holder.Account)
	return picture.profile, err
}

// FindAccount returns the profile of an e-mail address to the operator; NotFound if no account has it.
func (a *AccountService) FindAccount(ctx context.Context, email string) (account.Profile, error) {
	return a.profileByEmail(ctx, email)
}

// profileByEmail is byEmail for the operator: NotFound if no account has the address.
func (a *AccountService) profileByEmail(ctx context.Context, email string) (account.Profile, error) {
	email, err := account.CanonicalEmail(email)
	if err != nil {
		return account.Profile{}, err
	}
	profile, err := a.byEmail(ctx, email)
	if err == nil && profile.CreatedAt.IsZero() {
		err = fault.New(fault.NotFound, "No account has this e-mail address. inboxd admin account list shows all accounts")
	}
	return profile, err
}

// eraseAccount frees an account's e-mail address and then removes the rest of the account, so the
// address never leads to an account that no longer exists. A crash between the two steps leaves an
// account that is closing.
func (a *AccountService) eraseAccount(ctx context.Context, profile account.Profile) error {
	if _, err := a.emailRegistry.SendCommand(ctx, profile.Email, account.FreeName{Of: profile.ID}); err != nil {
		return err
	}
	_, err := a.owners.sendCommand(ctx, profile.ID, account.Erase{})
	return err
}

// AccountUsage returns an account together with the limits of its plan.
func (a *AccountService) AccountUsage(ctx context.Context, id account.ID) (account.QuotaUsage, error) {
	picture, err := a.owners.readReservations(ctx, id, distantFuture)
	if err != nil {
		return account.QuotaUsage{}, err
	}
	return account.QuotaUsage{
		Profile: picture.profile, Plan: a.plans.Of(picture.profile.Plan),
		InboxCount: picture.profile.LiveInboxes + int64(len(picture.reserved)),
		KeyCount:   picture.profile.AccountKeys + picture.profile.InboxKeys,
		SendsToday: picture.sendQuota.On(a.now()), ReservedInboxes: picture.reserved,
	}, nil
}

// checkPassword returns the profile that the password was checked against. It fails with Forbidden
// if the password is wrong.
func (a *AccountService) checkPassword(ctx context.Context, id account.ID, password string) (account.Profile, error) {
	picture, err := a.owners.readSnapshot(ctx, id)
	if err == nil && !account.PasswordMatches(picture.profile.PasswordHash, password) {
		err = account.BadPassword()
	}
	return picture.profile, err
}

// SetRecipient sets the account's public key. Messages that arrive after it returns are encrypted
// for that key. The password may be empty as long as the account has no key.
func (a *AccountService) SetRecipient(ctx context.Context, id account.ID, recipient sealed.RecipientKey, password string) error {
	key := recipient.String()
	return a.changeKey(ctx, id, key, password, func(hash string) account.Command {
		return account.SetRecipient{Recipient: key, PasswordHash: hash}
	})
}

// DropRecipient removes the account's public key. It is Refused while the account has encrypted
// inboxes. The password follows the rule of SetRecipient.
func (a *AccountService) DropRecipient(ctx context.Context, id account.ID, password string) error {
	return a.changeKey(ctx, id, "", password, func(hash string) account.Command {
		return account.DropRecipient{PasswordHash: hash}
	})
}

// changeKey sets the public key to key and notifies the sign-in address. The notice is queued
// before the change is acknowledged. If addresses must be verified, an unverified address gets no
// notice, because it may belong to somebody else.
func (a *AccountService) changeKey(ctx context.Context, id account.ID, key, password string, order func(passwordHash string) account.Command) error {
	before, err := a.owners.readSnapshot(ctx, id)
	if err != nil {
		return err
	}
	p, checked := before.profile, "" // the hash that the password was checked against; empty if no password was given
	if password != "" {
		if checked = p.PasswordHash; !account.PasswordMatches(checked, password) {
			return account.BadPassword()
		}
	}
	if _, err := a.owners.sendCommand(ctx, id, order(checked)); err != nil {
		return err
	}
	if p.Encryption.PublicKey == key || a.mustVerifyEmail && p.EmailUnverified {
		return nil
	}
	text := "Encryption was turned off: the public key of the account was deleted."
	if key != "" {
		text = "Messages to its encrypted inboxes are encrypted for this public key from now on:\n\n" + key
	}
	a.sendNotice(ctx, ServiceNotice{
		To: p.Email, Subject: "The encryption key of your account was changed",
		Text: fmt.Sprintf("The encryption key of the account %s was changed.\n\n%s\n\nIf you did not do this, set a new password at once.\n", p.Email, text),
	})
	return nil
}

// removeEnded deletes the keys that a password reset ended. If the process dies, the remaining keys
// no longer authenticate; the next login deletes them. Nobody can list them without logging in.
func (a *AccountService) removeEnded(ctx context.Context, id account.ID) error {
	for {
		got, err := a.owners.sendCommand(ctx, id, revokeEnded{})
		if more, _ := got.(bool); !more || err != nil {
			return err
		}
	}
}

// SetPlan moves the account with this e-mail address to another plan.
func (a *AccountService) SetPlan(ctx context.Context, email string, plan account.PlanName) error {
	profile, err := a.profileByEmail(ctx, email)
	if err != nil {
		return err
	}
	_, err = a.owners.sendCommand(ctx, profile.ID, account.SetPlan{Plan: plan})
	return err
}

// ListProfiles pages through all accounts by id, for the operator.
func (a *AccountService) ListProfiles(after account.ID, limit int) ([]account.Profile, error) {
	return a.store.ListAccounts(after, limit)
}
