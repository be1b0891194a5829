package actors

import (
	"maps"
	"math"
	"time"

	"inboxd/actors/engine"
	"inboxd/actors/webhooks"
	"inboxd/internal/base/failpoint"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
)

// accountEntity drives internal/core/account for one account and keeps the cache of its principals
// consistent. Only the owner adds or removes a principal, so a credential that is looked up while
// it is being revoked cannot return to the cache. Only the owner's goroutine touches state, rows
// and found.
type accountEntity struct {
	engine.EntitySlot
	id                   account.ID
	store                AccountStore
	now                  func() time.Time
	plans                account.Plans
	namespaces           inbox.Namespaces
	principals           *principalCache
	capacities           *capacityCache
	webhookSubscriptions *webhooks.SubscriptionCache
	requestQuota         *requestQuota

	state           *account.State
	pendingRows     *account.Rows // of the group being decided; nil if nothing changed
	foundPrincipals []*account.Principal
	planChanged     bool // the group changes the plan
	passwordReset   bool // the group resets the password
}

// Commands that read an account, in addition to those of internal/core/account.
type (
	// presentCredential looks up a credential. It returns the principal, or nil if the credential
	// is unknown or has ended. key is the id of the key that the store has under this hash, 0 if
	// there is none.
	presentCredential struct {
		hash  account.TokenHash
		keyID int64
	}
	// readAccount returns a copy of the state, with the reservations made until the given time. The
	// limit matters because thousands of creations may run at once, and each of them reads the
	// account.
	readAccount struct{ reservedUntil time.Time }
	// readDomains returns a copy of the list of own domains.
	readDomains struct{}
	// readSessions returns the sessions, oldest first.
	readSessions struct{}
	// readWebhooks returns the webhooks, oldest first.
	readWebhooks struct{}
)

// accountPicture is the result of readAccount.
type accountPicture struct {
	profile   account.Profile
	reserved  map[string]account.InboxReservation
	sendQuota account.SendCount
}

func (e *accountEntity) LoadState() (err error) {
	e.state, err = e.store.LoadAccount(e.id)
	return err
}

func (e *accountEntity) DecideCommand(cmd any) (any, error) {
	switch cmd := cmd.(type) {
	case presentCredential:
		return e.presentCredential(cmd)
	case recallRecord:
		return e.recallRequest(cmd.Request)
	case revokeSome:
		return nil, e.revokeSome()
	case revokeEnded:
		return e.revokeEnded()
	case readAccount:
		return e.takeSnapshot(cmd.reservedUntil), nil
	case readDomains:
		return maps.Clone(e.state.ListedDomains), nil
	case readSessions:
		return e.state.SessionList(e.env()), nil
	case readWebhooks:
		return e.state.WebhookList(), nil
	case account.AddWebhook:
		if err := e.applyCommand(cmd); err != nil {
			return nil, err
		}
		return *e.state.Webhooks[e.state.LastWebhook], nil
	case account.ReleaseInbox:
		var err error
		if cmd.WasListed, cmd.Encrypted, err = e.isListed(account.InboxEntry{Address: cmd.Address, CreatedAt: cmd.CreatedAt, IsLive: true}); err != nil {
			return nil, err
		}
		if cmd.Claim, err = e.claimOf(e.namespaces.Subdomain(cmd.Address)); err != nil {
			return nil, err
		}
		return nil, e.applyCommand(cmd)
	case account.YieldClaim:
		var err error
		if cmd.Claim, err = e.claimOf(cmd.Claim.Label); err != nil {
			return nil, err
		}
		return nil, e.applyCommand(cmd)
	case account.CheckReset:
		return nil, e.useToken(cmd.Hash, cmd)
	case account.VerifyEmail:
		return nil, e.useToken(cmd.Hash, cmd)
	case account.ResetPassword:
		ended := e.state.CountEnding(e.env())
		e.passwordReset = true
		return ended, e.useToken(cmd.Hash, cmd)
	case account.IssueKey, account.EndExpired, account.TouchKey, account.RevokeKey, account.RevokeInboxKey:
		return e.orderKey(cmd)
	case account.ReserveInbox:
		return e.reserveInbox(cmd)
	case account.SetPlan:
		e.planChanged = true
		return nil, e.applyCommand(cmd)
	case account.Command:
		return nil, e.applyCommand(cmd)
	}
	return nil, nil
}

// presentCredential finds a principal. All requests with the same credential share one principal,
// so that revoking it reaches each of them, including those that asked during the look-up.
func (e *accountEntity) presentCredential(cmd presentCredential) (*account.Principal, error) {
	env := e.env()
	for _, p := range append(e.foundPrincipals, e.principals.findPrincipal(cmd.hash)) {
		if p != nil && p.Hash == cmd.hash && p.IsValid(env.Now) && !p.HasExpired(env) {
			return p, nil
		}
	}
	key, err := e.keyByID(cmd.keyID)
	if err != nil {
		return nil, err
	}
	if p := account.PrincipalOf(e.state, cmd.hash, key, env); p != nil {
		e.foundPrincipals = append(e.foundPrincipals, p)
		return p, nil
	}
	if e.state.CreatedAt.IsZero() {
		return nil, nil
	}
	return nil, e.applyCommand(account.EndExpired{Hash: cmd.hash, FoundKey: key})
}

// isListed reports whether the account's list shows the entry once the group being decided is
// committed, and whether the inbox is encrypted. The rows of the group take precedence over the
// store.
func (e *accountEntity) isListed(entry account.InboxEntry) (listed, encrypted bool, err error) {
	if e.pendingRows != nil {
		if _, gone := entry.In(e.pendingRows.DropInboxes); gone {
			return false, false, nil
		}
		if put, found := entry.In(e.pendingRows.PutInboxes); found {
			return true, put.Encrypted, nil
		}
	}
	return e.store.FindListing(e.id, entry)
}

func (e *accountEntity) env() account.Env {
	return account.Env{Now: e.now(), LatestSeen: e.store.ClockSeen(), Plans: e.plans}
}

func (e *accountEntity) applyCommand(cmd account.Command) error {
	evs, err := account.Decide(e.state, cmd, e.env())
	if err != nil || len(evs) == 0 {
		return err
	}
	if e.pendingRows == nil {
		e.pendingRows = &account.Rows{}
	}
	e.pendingRows.Apply(e.state, evs)
	return nil
}

// useToken decides a command that uses a token. If the token has expired, it records that first.
func (e *accountEntity) useToken(h account.TokenHash, cmd account.Command) error {
	if err := e.applyCommand(account.EndExpired{Hash: h}); err != nil {
		return err
	}
	return e.applyCommand(cmd)
}

func (e *accountEntity) takeSnapshot(until time.Time) accountPicture {
	p := accountPicture{profile: e.state.Profile, reserved: map[string]account.InboxReservation{}, sendQuota: e.state.DailySends}
	for address, r := range e.state.ReservedInboxes {
		if !r.At.After(until) {
			p.reserved[address] = r
		}
	}
	return p
}

func (e *accountEntity) CommitRows() error {
	if e.pendingRows == nil {
		return nil
	}
	failpoint.MarkPoint("account-decided")
	err := e.store.CommitAccount(e.pendingRows)
	failpoint.MarkPoint("account-committed")
	return err
}

// PublishState adds the principals that were looked up to the cache. Then it removes those that a
// committed change ended, because one group may hold both.
func (e *accountEntity) PublishState() {
	e.notifyMoved()
	rows, reset := e.pendingRows, e.passwordReset
	e.pendingRows, e.passwordReset = nil, false
	for _, p := range e.foundPrincipals {
		e.principals.storePrincipal(p)
	}
	e.foundPrincipals = nil
	if rows == nil {
		return
	}
	if rows.EraseAll || len(rows.PutWebhooks)+len(rows.DropWebhooks) > 0 {
		e.webhookSubscriptions.ForgetAccount(e.id)
	}
	for _, ses := range rows.DropSessions {
		e.principals.revokePrincipal(ses.Hash)
	}
	for _, k := range rows.DropKeys {
		e.principals.revokePrincipal(k.Hash)
	}
	for _, k := range rows.PutKeys {
		if k.SeenExpired {
			e.principals.revokePrincipal(k.Hash)
		}
	}
	switch p := rows.Profile; {
	case p == nil:
	case !p.ClosingAt.IsZero():
		e.principals.revokeAll(e.id, 0, math.MaxInt64) // its keys are still in the store, but they no longer authenticate
	case reset:
		e.principals.revokeAll(e.id, 1, p.EndedKeys)
	}
	failpoint.MarkPoint("account-published")
}

// notifyMoved makes the inboxes read their capacity again.
func (e *accountEntity) notifyMoved() {
	if e.planChanged {
		e.planChanged = false
		e.capacities.planChanges.Add(1)
	}
}

// DiscardState implements engine.Entity. After a failed commit it is unknown what is on disk.
func (e *accountEntity) DiscardState() {
	e.notifyMoved()
	e.state, e.pendingRows, e.foundPrincipals, e.passwordReset = nil, nil, nil, false
}

func (e *accountEntity) MemoryBytes() int64 {
	if e.state == nil {
		return 0
	}
	return int64(120*len(e.state.Sessions) + 60*len(e.state.ResetTokens) + 160*len(e.state.ReservedInboxes) + 400*len(e.state.Webhooks) + 120*len(e.state.ListedDomains))
}
