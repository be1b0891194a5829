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
	engine.Slot
	id         account.ID
	store      AccountStore
	now        func() time.Time
	plans      account.Plans
	namespaces inbox.Namespaces
	principals *principals
	capacities *capacities
	hooks      *webhooks.Subscriptions
	requests   *requestQuota

	state *account.State
	rows  *account.Rows // of the group being decided; nil if nothing changed
	found []*account.Principal
	moved bool // the group changes the plan
	reset bool // the group resets the password
}

// Commands that read an account, in addition to those of internal/core/account.
type (
	// present looks up a credential. It returns the principal, or nil if the credential is unknown
	// or has ended. key is the id of the key that the store has under this hash, 0 if there is
	// none.
	present struct {
		hash account.Hash
		key  int64
	}
	// readAccount returns a copy of the state, with the reservations made until the given time. The
	// limit matters because thousands of creations may run at once, and each of them reads the
	// account.
	readAccount struct{ until time.Time }
	// readDomains returns a copy of the list of own domains.
	readDomains struct{}
	// readSessions returns the sessions, oldest first.
	readSessions struct{}
	// readWebhooks returns the webhooks, oldest first.
	readWebhooks struct{}
)

// accountPicture is the result of readAccount.
type accountPicture struct {
	profile  account.Profile
	reserved map[string]account.Reservation
	sends    account.Sends
}

func (e *accountEntity) Load() (err error) {
	e.state, err = e.store.LoadAccount(e.id)
	return err
}

func (e *accountEntity) Decide(cmd any) (any, error) {
	switch cmd := cmd.(type) {
	case present:
		return e.present(cmd)
	case recall:
		return e.recall(cmd.Request)
	case revokeSome:
		return nil, e.revokeSome()
	case revokeEnded:
		return e.revokeEnded()
	case readAccount:
		return e.picture(cmd.until), nil
	case readDomains:
		return maps.Clone(e.state.Domains), nil
	case readSessions:
		return e.state.SessionList(e.env()), nil
	case readWebhooks:
		return e.state.WebhookList(), nil
	case account.AddWebhook:
		if err := e.order(cmd); err != nil {
			return nil, err
		}
		return *e.state.Webhooks[e.state.LastWebhook], nil
	case account.ReleaseInbox:
		var err error
		if cmd.Listed, cmd.Encrypted, err = e.listed(account.InboxEntry{Address: cmd.Address, CreatedAt: cmd.CreatedAt, Live: true}); err != nil {
			return nil, err
		}
		if cmd.Claim, err = e.claim(e.namespaces.Subdomain(cmd.Address)); err != nil {
			return nil, err
		}
		return nil, e.order(cmd)
	case account.YieldClaim:
		var err error
		if cmd.Claim, err = e.claim(cmd.Claim.Label); err != nil {
			return nil, err
		}
		return nil, e.order(cmd)
	case account.CheckReset:
		return nil, e.useToken(cmd.Hash, cmd)
	case account.VerifyEmail:
		return nil, e.useToken(cmd.Hash, cmd)
	case account.ResetPassword:
		ended := e.state.Ending(e.env())
		e.reset = true
		return ended, e.useToken(cmd.Hash, cmd)
	case account.IssueKey, account.EndExpired, account.TouchKey, account.RevokeKey, account.RevokeInboxKey:
		return e.orderKey(cmd)
	case account.ReserveInbox:
		return e.reserve(cmd)
	case account.SetPlan:
		e.moved = true
		return nil, e.order(cmd)
	case account.Command:
		return nil, e.order(cmd)
	}
	return nil, nil
}

// present finds a principal. All requests with the same credential share one principal, so that
// revoking it reaches each of them, including those that asked during the look-up.
func (e *accountEntity) present(cmd present) (*account.Principal, error) {
	env := e.env()
	for _, p := range append(e.found, e.principals.get(cmd.hash)) {
		if p != nil && p.Hash == cmd.hash && p.Valid(env.Now) && !p.Over(env) {
			return p, nil
		}
	}
	key, err := e.key(cmd.key)
	if err != nil {
		return nil, err
	}
	if p := account.PrincipalOf(e.state, cmd.hash, key, env); p != nil {
		e.found = append(e.found, p)
		return p, nil
	}
	if e.state.CreatedAt.IsZero() {
		return nil, nil
	}
	return nil, e.order(account.EndExpired{Hash: cmd.hash, Found: key})
}

// listed reports whether the account's list shows the entry once the group being decided is
// committed, and whether the inbox is encrypted. The rows of the group take precedence over the
// store.
func (e *accountEntity) listed(entry account.InboxEntry) (listed, encrypted bool, err error) {
	if e.rows != nil {
		if _, gone := entry.In(e.rows.DropInboxes); gone {
			return false, false, nil
		}
		if put, found := entry.In(e.rows.PutInboxes); found {
			return true, put.Encrypted, nil
		}
	}
	return e.store.Listed(e.id, entry)
}

func (e *accountEntity) env() account.Env {
	return account.Env{Now: e.now(), Seen: e.store.ClockSeen(), Plans: e.plans}
}

func (e *accountEntity) order(cmd account.Command) error {
	evs, err := account.Decide(e.state, cmd, e.env())
	if err != nil || len(evs) == 0 {
		return err
	}
	if e.rows == nil {
		e.rows = &account.Rows{}
	}
	e.rows.Apply(e.state, evs)
	return nil
}

// useToken decides a command that uses a token. If the token has expired, it records that first.
func (e *accountEntity) useToken(h account.Hash, cmd account.Command) error {
	if err := e.order(account.EndExpired{Hash: h}); err != nil {
		return err
	}
	return e.order(cmd)
}

func (e *accountEntity) picture(until time.Time) accountPicture {
	p := accountPicture{profile: e.state.Profile, reserved: map[string]account.Reservation{}, sends: e.state.Sends}
	for address, r := range e.state.Reserved {
		if !r.At.After(until) {
			p.reserved[address] = r
		}
	}
	return p
}

func (e *accountEntity) Commit() error {
	if e.rows == nil {
		return nil
	}
	failpoint.Here("account-decided")
	err := e.store.CommitAccount(e.rows)
	failpoint.Here("account-committed")
	return err
}

// Publish adds the principals that were looked up to the cache. Then it removes those that a
// committed change ended, because one group may hold both.
func (e *accountEntity) Publish() {
	e.tellMoved()
	rows, reset := e.rows, e.reset
	e.rows, e.reset = nil, false
	for _, p := range e.found {
		e.principals.put(p)
	}
	e.found = nil
	if rows == nil {
		return
	}
	if rows.Erase || len(rows.PutWebhooks)+len(rows.DropWebhooks) > 0 {
		e.hooks.Forget(e.id)
	}
	for _, ses := range rows.DropSessions {
		e.principals.revoke(ses.Hash)
	}
	for _, k := range rows.DropKeys {
		e.principals.revoke(k.Hash)
	}
	for _, k := range rows.PutKeys {
		if k.Ended {
			e.principals.revoke(k.Hash)
		}
	}
	switch p := rows.Profile; {
	case p == nil:
	case !p.ClosingAt.IsZero():
		e.principals.revokeAll(e.id, 0, math.MaxInt64) // its keys are still in the store, but they no longer authenticate
	case reset:
		e.principals.revokeAll(e.id, 1, p.EndedKeys)
	}
	failpoint.Here("account-published")
}

// tellMoved makes the inboxes read their capacity again.
func (e *accountEntity) tellMoved() {
	if e.moved {
		e.moved = false
		e.capacities.changes.Add(1)
	}
}

// Abandon implements engine.Entity. After a failed commit it is unknown what is on disk.
func (e *accountEntity) Abandon() {
	e.tellMoved()
	e.state, e.rows, e.found, e.reset = nil, nil, nil, false
}

func (e *accountEntity) Weight() int64 {
	if e.state == nil {
		return 0
	}
	return int64(120*len(e.state.Sessions) + 60*len(e.state.Resets) + 160*len(e.state.Reserved) + 400*len(e.state.Webhooks) + 120*len(e.state.Domains))
}
