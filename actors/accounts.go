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

// AccountStore is what accounts need of the disk. A commit is one atomic batch and returns
// only when it is synced; StorageFull means that nothing was written.
type AccountStore interface {
	LoadAccount(account.ID) (*account.State, error)
	CommitAccount(*account.Rows) error
	Key(id account.ID, key int64) (*account.Key, error)
	KeyOfInbox(id account.ID, address string) (int64, error)
	Keys(id account.ID, after int64, limit int) ([]account.Key, error)
	// Listed reports whether the account's list shows an inbox, and whether as encrypted.
	Listed(account.ID, account.InboxEntry) (listed, encrypted bool, err error)
	// ClockSeen reads the clock and returns the latest reading that was ever trusted.
	ClockSeen() time.Time
	// AccountOnce finds the newest record of a request, nil when there is none.
	AccountOnce(account.ID, idempotency.Key) (*idempotency.Record, error)

	PlanOf(account.ID) (account.PlanName, error)
	// RecipientOf is the account's public key; empty: it has none.
	RecipientOf(account.ID) (string, error)
	AccountByEmail(email string) (account.Holding, error)
	SetEmail(email string, holder account.Holding) error
	// Claim is what an account has in a subdomain; without a number: nothing.
	Claim(id account.ID, label string) (account.Claim, error)
	// Claims pages through an account's claims behind after, those that were chosen first.
	Claims(id account.ID, after account.Claim, limit int) ([]account.Claim, error)
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

// picture reads an account, without its reservations; a zero one when there is none.
func (o accountOwners) picture(ctx context.Context, id account.ID) (accountPicture, error) {
	return o.reserved(ctx, id, time.Time{})
}

// whenever is behind all that is reserved.
var whenever = time.Unix(1<<40, 0)

// reserved is picture with the reservations that were made until a time.
func (o accountOwners) reserved(ctx context.Context, id account.ID, until time.Time) (accountPicture, error) {
	got, err := o.order(ctx, id, readAccount{until})
	picture, _ := got.(accountPicture)
	return picture, err
}

// domains reads an account's list of own domains: their marks, by name.
func (o accountOwners) domains(ctx context.Context, id account.ID) (map[string]time.Time, error) {
	got, err := o.order(ctx, id, readDomains{})
	listed, _ := got.(map[string]time.Time)
	return listed, err
}

// Accounts opens accounts, finds them by e-mail address, and shows them. It never changes; any
// goroutine may use it.
type Accounts struct {
	owners accountOwners
	emails uniqueness.Names // an address opens one account
	store  AccountStore
	plans  account.Plans
	now    func() time.Time
	random func([]byte)
	notice func(context.Context, Notice) // to a sign-in address
	verify bool                          // as Options.VerifyAddresses
}

// OpenAccount makes an account for the operator, whose word is enough for the e-mail address.
func (a *Accounts) OpenAccount(ctx context.Context, email, password string, plan account.PlanName) (account.Profile, error) {
	return a.open(ctx, email, password, plan, true)
}

// open makes an account. First the e-mail address becomes its own: a crash before it is
// opened leaves an address that leads nowhere, and the next sign-up takes it over.
func (a *Accounts) open(ctx context.Context, email, password string, plan account.PlanName, verified bool) (account.Profile, error) {
	email, err := account.CanonicalEmail(email)
	if err != nil {
		return account.Profile{}, err
	}
	if err := account.CheckPassword(password); err != nil {
		return account.Profile{}, err
	}
	if known, err := a.byEmail(ctx, email); err != nil || !known.CreatedAt.IsZero() {
		return account.Profile{}, cmp.Or(err, emailTaken()) // and no password was hashed for it
	}
	var salt [16]byte
	var tail [10]byte
	a.random(salt[:])
	a.random(tail[:])
	open := account.Open{ID: account.NewIDBeside(email, a.now(), tail), Email: email, PasswordHash: account.HashPassword(password, salt), Plan: plan, Verified: verified}
	if err := a.claim(ctx, email, open.ID); err != nil {
		return account.Profile{}, err
	}
	if _, err := a.owners.order(ctx, open.ID, open); err != nil {
		return account.Profile{}, takenIf(err)
	}
	picture, err := a.owners.picture(ctx, open.ID)
	return picture.profile, err
}

// claim makes the e-mail address that of an account which is about to be opened. Whoever holds it
// and was not opened yet, because its sign-up was cut off or is behind this one, never will be:
// that is decided by its owner, before the address passes on. So an address never leads to two
// accounts.
func (a *Accounts) claim(ctx context.Context, email string, id account.ID) error {
	return a.emails.Claim(ctx, email, account.Holding{Account: id}, func(holder account.Holding) error {
		_, err := a.owners.order(ctx, holder.Account, account.Void{ID: holder.Account})
		return takenIf(err)
	})
}

func emailTaken() error {
	return fault.New(fault.Refused, "An account with this e-mail address already exists. Log in, or reset its password")
}

// takenIf is the sentence for the person when an account was refused for another one.
func takenIf(err error) error {
	if fault.Is(err, fault.Refused) {
		return emailTaken()
	}
	return err
}

// byEmail returns the profile of an e-mail address; a zero one when nobody has it.
func (a *Accounts) byEmail(ctx context.Context, email string) (account.Profile, error) {
	holder, err := a.store.AccountByEmail(email)
	if err != nil {
		return account.Profile{}, engine.Busy(err)
	}
	if holder == (account.Holding{}) {
		return account.Profile{}, nil
	}
	picture, err := a.owners.picture(ctx, holder.Account)
	return picture.profile, err
}

// Account is the profile of an e-mail address, for the operator: NotFound when nobody has it.
func (a *Accounts) Account(ctx context.Context, email string) (account.Profile, error) {
	return a.named(ctx, email)
}

// named is byEmail for the operator: NotFound when nobody has the address.
func (a *Accounts) named(ctx context.Context, email string) (account.Profile, error) {
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

// erase frees an account's e-mail address, and then removes what is left of the account: the
// address never leads to one that was. A crash between leaves an account that is closing.
func (a *Accounts) erase(ctx context.Context, profile account.Profile) error {
	if _, err := a.emails.Order(ctx, profile.Email, account.FreeName{Of: profile.ID}); err != nil {
		return err
	}
	_, err := a.owners.order(ctx, profile.ID, account.Erase{})
	return err
}

// Usage returns an account beside what its plan allows.
func (a *Accounts) Usage(ctx context.Context, id account.ID) (account.Usage, error) {
	picture, err := a.owners.reserved(ctx, id, whenever)
	if err != nil {
		return account.Usage{}, err
	}
	return account.Usage{
		Profile: picture.profile, Plan: a.plans.Of(picture.profile.Plan),
		Inboxes: picture.profile.Inboxes + int64(len(picture.reserved)),
		Keys:    picture.profile.AccountKeys + picture.profile.InboxKeys,
		Sends:   picture.sends.On(a.now()), Reserved: picture.reserved,
	}, nil
}

// checkPassword returns the profile that a password was checked against: Forbidden for any other than
// the account's.
func (a *Accounts) checkPassword(ctx context.Context, id account.ID, password string) (account.Profile, error) {
	picture, err := a.owners.picture(ctx, id)
	if err == nil && !account.PasswordMatches(picture.profile.PasswordHash, password) {
		err = account.BadPassword()
	}
	return picture.profile, err
}

// SetRecipient makes a public key the account's. Mail that comes behind the answer is sealed for it. The
// password may be empty while no key is set.
func (a *Accounts) SetRecipient(ctx context.Context, id account.ID, recipient sealed.Recipient, password string) error {
	key := recipient.String()
	return a.changeKey(ctx, id, key, password, func(hash string) account.Command {
		return account.SetRecipient{Recipient: key, PasswordHash: hash}
	})
}

// DropRecipient takes an account's public key away; Refused while encrypted inboxes live. The password
// is as for SetRecipient.
func (a *Accounts) DropRecipient(ctx context.Context, id account.ID, password string) error {
	return a.changeKey(ctx, id, "", password, func(hash string) account.Command {
		return account.DropRecipient{PasswordHash: hash}
	})
}

// changeKey changes the public key to what it shall be, and lets the sign-in address know: the message is
// queued before the change is acknowledged. While others must verify their addresses, one that is not
// verified gets none: it may be a stranger's.
func (a *Accounts) changeKey(ctx context.Context, id account.ID, key, password string, order func(passwordHash string) account.Command) error {
	before, err := a.owners.picture(ctx, id)
	if err != nil {
		return err
	}
	p, checked := before.profile, "" // the hash that the password was checked against; empty: none was given
	if password != "" {
		if checked = p.PasswordHash; !account.PasswordMatches(checked, password) {
			return account.BadPassword()
		}
	}
	if _, err := a.owners.order(ctx, id, order(checked)); err != nil {
		return err
	}
	if p.Encryption.Recipient == key || a.verify && p.Unverified {
		return nil
	}
	text := "Encryption was turned off: the public key of the account was deleted."
	if key != "" {
		text = "Messages to its encrypted inboxes are encrypted for this public key from now on:\n\n" + key
	}
	a.notice(ctx, Notice{
		To: p.Email, Subject: "The encryption key of your account was changed",
		Text: fmt.Sprintf("The encryption key of the account %s was changed.\n\n%s\n\nIf you did not do this, set a new password at once.\n", p.Email, text),
	})
	return nil
}

// removeEnded takes the keys that a password reset ended out of the inventory. A crash leaves the rest,
// which opens nothing, to the next log-in: without one nobody sees it.
func (a *Accounts) removeEnded(ctx context.Context, id account.ID) error {
	for {
		got, err := a.owners.order(ctx, id, revokeEnded{})
		if more, _ := got.(bool); !more || err != nil {
			return err
		}
	}
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
