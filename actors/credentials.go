package actors

import (
	"context"
	"math"
	"strconv"
	"time"

	"github.com/puzpuzpuz/xsync/v4"

	"inboxd/actors/engine"
	"inboxd/internal/base/fault"
	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
)

// CredentialStore is the storage that credentials need.
type CredentialStore interface {
	// Credential also returns the id of the key that has the hash, 0 for a token that is not a key.
	Credential(partition.ID, account.Hash) (id account.ID, key int64, found bool, err error)
	KeyOfInbox(id account.ID, address string) (int64, error)
	Keys(id account.ID, after int64, limit int) ([]account.Key, error)
	// ClockSeen is as in AccountStore.
	ClockSeen() time.Time
}

// Credentials authenticates tokens, and issues and revokes keys. It is immutable except for the
// principals, which are safe for concurrent use; any goroutine may use it.
type Credentials struct {
	owners     accountOwners
	store      CredentialStore
	principals *principals
	minter     minter
	clock      *engine.Clock
	now        func() time.Time
}

var errCredential = fault.New(fault.Unauthenticated, "A valid API key is required")

// Authenticate resolves a session token or an API key. A cached credential costs a hash and a map
// look-up, without a lock or an allocation. A malformed one never reaches the store, and an unknown
// one never reaches an actor.
func (c *Credentials) Authenticate(ctx context.Context, token []byte) (*account.Principal, error) {
	h := account.HashToken(token)
	p := c.principals.get(h)
	if p == nil || !p.Valid(c.now()) {
		var err error
		if p, err = c.lookUp(ctx, token, h); err != nil {
			return nil, err
		}
	}
	if sec := c.clock.Unix(); p.Used.Load() != sec {
		p.Used.Store(sec)
	}
	return p, nil
}

func (c *Credentials) lookUp(ctx context.Context, token []byte, h account.Hash) (*account.Principal, error) {
	_, home, ok := account.ParseToken(string(token))
	if !ok {
		return nil, errCredential
	}
	p, err := c.find(ctx, home, h)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return nil, errCredential
	}
	p.Used.Store(c.clock.Unix())
	if slides(p, c.now()) {
		// The credential was idle for long and may not be used again before a crash, so noteUses
		// could be too late. If the disk is full, the session keeps its old expiry.
		_, _ = c.owners.order(ctx, p.Account, account.TouchSession{Hash: h})
	}
	return p, nil
}

// find asks the account's owner for the principal of a credential; nil if none exists.
func (c *Credentials) find(ctx context.Context, home partition.ID, h account.Hash) (*account.Principal, error) {
	id, key, ok, err := c.store.Credential(home, h)
	if err != nil {
		return nil, engine.Busy(err)
	}
	if !ok {
		return nil, nil
	}
	got, err := c.owners.order(ctx, id, present{h, key})
	p, _ := got.(*account.Principal)
	return p, err
}

// Opens reports whether a key of the account still authenticates: it is neither revoked nor
// expired.
func (c *Credentials) Opens(ctx context.Context, id account.ID, key account.Hash) (bool, error) {
	p, err := c.find(ctx, id.Partition(), key)
	return p != nil, err
}

// IsInUse reports whether a credential is cached and still valid.
func (c *Credentials) IsInUse(h account.Hash) bool {
	p := c.principals.get(h)
	return p != nil && p.Valid(c.now())
}

// slides reports whether a use at now extends the expiry of the session p enough to record it.
func slides(p *account.Principal, now time.Time) bool {
	return p.Kind == account.KindSession && now.Add(account.SessionLife).Sub(p.ExpiresAt) > account.SessionStep
}

// noteUses records when credentials were last used, if that moved far enough. A crash loses the
// uses of the last minute, and of the rest at most LastUsedStep. A session is also extended when it
// is looked up.
func (c *Credentials) noteUses() {
	now := c.now()
	c.principals.sweep(c.env(now), func(p *account.Principal) {
		at := time.Unix(p.Used.Load(), 0).UTC()
		switch {
		case slides(p, now):
			c.owners.notify(p.Account, account.TouchSession{Hash: p.Hash})
		case p.Kind == account.KindSession:
		case at.Sub(p.Noted()) >= account.LastUsedStep:
			p.Note(at)
			c.owners.notify(p.Account, account.TouchKey{ID: p.KeyID, At: at})
		}
	})
}

func (c *Credentials) env(now time.Time) account.Env {
	return account.Env{Now: now, Seen: c.store.ClockSeen()}
}

// IssueKey creates an account key. Its token is returned only here. The operator's principal has no
// kind.
func (c *Credentials) IssueKey(ctx context.Context, by *account.Principal, label string, scopes account.Scope, days *int) (account.Issued, error) {
	return c.issue(ctx, by, account.Key{Kind: account.KindAccountKey, Label: label, Scopes: scopes}, days)
}

// IssueInboxKey creates the one key of an inbox; Refused if the inbox already has one.
func (c *Credentials) IssueInboxKey(ctx context.Context, by *account.Principal, address string, scopes account.Scope, days *int) (account.Issued, error) {
	return c.issue(ctx, by, account.Key{Kind: account.KindInboxKey, Inbox: address, Scopes: scopes}, days)
}

func (c *Credentials) issue(ctx context.Context, by *account.Principal, k account.Key, days *int) (account.Issued, error) {
	expires, err := account.Lifetime(days, c.now())
	if err != nil {
		return account.Issued{}, err
	}
	token := c.minter.mint(k.Kind, by.Account)
	k.Hash, k.Prefix, k.ExpiresAt = account.HashToken([]byte(token)), account.KeyPrefix(token), expires
	got, err := c.owners.order(ctx, by.Account, account.IssueKey{By: by, Key: k})
	if err != nil {
		return account.Issued{}, err
	}
	return account.Issued{Token: token, Key: got.(account.Key)}, nil
}

// RevokeKey revokes a key immediately, also for requests that are waiting.
func (c *Credentials) RevokeKey(ctx context.Context, id account.ID, key int64) error {
	_, err := c.owners.order(ctx, id, account.RevokeKey{ID: key})
	return err
}

// RevokeInboxKey revokes the key of an inbox immediately; NotFound if the inbox has none.
func (c *Credentials) RevokeInboxKey(ctx context.Context, id account.ID, address string) error {
	_, err := c.owners.order(ctx, id, account.RevokeInboxKey{Inbox: address})
	return err
}

// Keys pages through the account's keys, oldest first, including expired ones and uses that are not
// recorded yet. Ended is set in each key that has ended. An empty cursor starts; the returned
// cursor is empty at the end.
func (c *Credentials) Keys(_ context.Context, id account.ID, cursor string, limit int) ([]account.Key, string, error) {
	after, err := parseKeyCursor(cursor)
	if err != nil {
		return nil, "", err
	}
	keys, err := c.store.Keys(id, after, limit+1)
	if err != nil {
		return nil, "", engine.Busy(err)
	}
	next := ""
	if len(keys) > limit {
		keys = keys[:limit]
		next = strconv.FormatInt(keys[limit-1].ID, 36)
	}
	env := c.env(c.now())
	for i := range keys {
		if k := &keys[i]; k.Expired(env) && !k.Ended {
			k.Ended = true
			c.owners.notify(id, account.EndExpired{KeyID: k.ID}) // the reader of the list has now seen it as ended
		}
		if p := c.principals.get(keys[i].Hash); p != nil {
			keys[i].LastUsedAt = latest(keys[i].LastUsedAt, unixTime(p.Used.Load()))
		}
	}
	return keys, next, nil
}

// ListSessions returns the account's sessions, oldest first, and when each was last used.
func (c *Credentials) ListSessions(ctx context.Context, id account.ID) ([]account.Session, []time.Time, error) {
	got, err := c.owners.order(ctx, id, readSessions{})
	list, _ := got.([]account.Session)
	used := make([]time.Time, len(list))
	for i := range list {
		used[i] = latest(list[i].CreatedAt, list[i].LastUsed())
		if p := c.principals.get(list[i].Hash); p != nil {
			used[i] = latest(used[i], unixTime(p.Used.Load()))
		}
	}
	return list, used, err
}

// EndSession ends the account's session with this public id immediately; NotFound if none exists.
func (c *Credentials) EndSession(ctx context.Context, id account.ID, session string) error {
	list, _, err := c.ListSessions(ctx, id)
	if err != nil {
		return err
	}
	for _, ses := range list {
		if ses.ID() == session {
			_, err := c.owners.order(ctx, id, account.EndSession{Hash: ses.Hash})
			return err
		}
	}
	return fault.New(fault.NotFound, "Session not found. GET /api/account/sessions lists your sessions")
}

// HaveKeys returns which inboxes of the account have a key, expired or not. It needs one look-up
// for each inbox.
func (c *Credentials) HaveKeys(_ context.Context, id account.ID, addresses []string) ([]bool, error) {
	held := make([]bool, len(addresses))
	for i, address := range addresses {
		key, err := c.store.KeyOfInbox(id, address)
		if err != nil {
			return nil, engine.Busy(err)
		}
		held[i] = key != 0
	}
	return held, nil
}

// parseKeyCursor reads the id of the last key of the previous page.
func parseKeyCursor(cursor string) (int64, error) {
	if cursor == "" {
		return 0, nil
	}
	after, err := strconv.ParseInt(cursor, 36, 64)
	if err != nil || after < 1 || after == math.MaxInt64 {
		return 0, badCursor()
	}
	return after, nil
}

func badCursor() error {
	return fault.Field("cursor", "is not a valid cursor of this list. Use 'next_cursor' of the previous page")
}

// latest returns the later of both.
func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// unixTime returns the zero time ("never") for second 0.
func unixTime(sec int64) time.Time {
	if sec == 0 {
		return time.Time{}
	}
	return time.Unix(sec, 0).UTC()
}

// principals caches the principal of a credential by its hash. Account owners write it; every
// request reads it without a lock.
type principals struct {
	byHash *xsync.Map[account.Hash, *account.Principal]
}

// principalIdle is how long an unused principal stays cached.
const principalIdle = 15 * time.Minute

func newPrincipals() *principals {
	return &principals{byHash: xsync.NewMap[account.Hash, *account.Principal]()}
}

func (ps *principals) get(h account.Hash) *account.Principal {
	p, _ := ps.byHash.Load(h)
	return p
}

func (ps *principals) put(p *account.Principal) { ps.byHash.Store(p.Hash, p) }

// revoke revokes a principal for every request that holds it.
func (ps *principals) revoke(h account.Hash) {
	if p, ok := ps.byHash.LoadAndDelete(h); ok {
		p.Revoke()
	}
}

// revokeAll revokes every credential of an account whose key id is in the range; a session's is 0.
func (ps *principals) revokeAll(id account.ID, from, to int64) {
	ps.byHash.DeleteMatching(func(_ account.Hash, p *account.Principal) (bool, bool) {
		of := p.Account == id && from <= p.KeyID && p.KeyID <= to
		if of {
			p.Revoke()
		}
		return of, false
	})
}

// Lose removes the principals of a group's accounts. Their owners have left, so none is added
// again.
func (ps *principals) Lose(g partition.Group) error {
	ps.byHash.DeleteMatching(func(_ account.Hash, p *account.Principal) (bool, bool) {
		of := p.Account.Partition().Group() == g
		if of {
			p.Move()
		}
		return of, false
	})
	return nil
}

// sweep evicts principals that are over or were idle for principalIdle, and calls used for each of
// the others.
func (ps *principals) sweep(env account.Env, used func(*account.Principal)) {
	edge := env.Now.Add(-principalIdle).Unix()
	ps.byHash.DeleteMatching(func(_ account.Hash, p *account.Principal) (bool, bool) {
		if p.Used.Load() < edge || p.Over(env) {
			p.Drop()
			return true, false
		}
		used(p)
		return false, false
	})
}
