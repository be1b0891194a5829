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
	// FindCredential also returns the id of the key that has the hash, 0 for a token that is not a key.
	FindCredential(partition.ID, account.TokenHash) (id account.ID, key int64, found bool, err error)
	KeyOfInbox(id account.ID, address string) (int64, error)
	ListKeys(id account.ID, after int64, limit int) ([]account.APIKey, error)
	// ClockSeen is as in AccountStore.
	ClockSeen() time.Time
}

// CredentialService authenticates tokens, and issues and revokes keys. It is immutable except for the
// principals, which are safe for concurrent use; any goroutine may use it.
type CredentialService struct {
	owners     accountOwners
	store      CredentialStore
	principals *principalCache
	minter     minter
	clock      *engine.CoarseClock
	now        func() time.Time
}

var errCredential = fault.New(fault.Unauthenticated, "A valid API key is required")

// Authenticate resolves a session token or an API key. A cached credential costs a hash and a map
// look-up, without a lock or an allocation. A malformed one never reaches the store, and an unknown
// one never reaches an actor.
func (c *CredentialService) Authenticate(ctx context.Context, token []byte) (*account.Principal, error) {
	h := account.HashToken(token)
	p := c.principals.findPrincipal(h)
	if p == nil || !p.IsValid(c.now()) {
		var err error
		if p, err = c.lookUp(ctx, token, h); err != nil {
			return nil, err
		}
	}
	if sec := c.clock.Unix(); p.LastUsedUnix.Load() != sec {
		p.LastUsedUnix.Store(sec)
	}
	return p, nil
}

func (c *CredentialService) lookUp(ctx context.Context, token []byte, h account.TokenHash) (*account.Principal, error) {
	_, home, ok := account.ParseToken(string(token))
	if !ok {
		return nil, errCredential
	}
	p, err := c.findPrincipal(ctx, home, h)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return nil, errCredential
	}
	p.LastUsedUnix.Store(c.clock.Unix())
	if shouldExtendSession(p, c.now()) {
		// The credential was idle for long and may not be used again before a crash, so noteUses
		// could be too late. If the disk is full, the session keeps its old expiry.
		_, _ = c.owners.sendCommand(ctx, p.Account, account.TouchSession{Hash: h})
	}
	return p, nil
}

// findPrincipal asks the account's owner for the principal of a credential; nil if none exists.
func (c *CredentialService) findPrincipal(ctx context.Context, home partition.ID, h account.TokenHash) (*account.Principal, error) {
	id, key, ok, err := c.store.FindCredential(home, h)
	if err != nil {
		return nil, engine.BusyError(err)
	}
	if !ok {
		return nil, nil
	}
	got, err := c.owners.sendCommand(ctx, id, presentCredential{h, key})
	p, _ := got.(*account.Principal)
	return p, err
}

// IsKeyValid reports whether a key of the account still authenticates: it is neither revoked nor
// expired.
func (c *CredentialService) IsKeyValid(ctx context.Context, id account.ID, key account.TokenHash) (bool, error) {
	p, err := c.findPrincipal(ctx, id.HomePartition(), key)
	return p != nil, err
}

// IsInUse reports whether a credential is cached and still valid.
func (c *CredentialService) IsInUse(h account.TokenHash) bool {
	p := c.principals.findPrincipal(h)
	return p != nil && p.IsValid(c.now())
}

// shouldExtendSession reports whether a use at now extends the expiry of the session p enough to
// record it.
func shouldExtendSession(p *account.Principal, now time.Time) bool {
	return p.Kind == account.KindSession && now.Add(account.SessionLife).Sub(p.ExpiresAt) > account.SessionStep
}

// noteUses records when credentials were last used, if that moved far enough. A crash loses the
// uses of the last minute, and of the rest at most LastUsedStep. A session is also extended when it
// is looked up.
func (c *CredentialService) noteUses() {
	now := c.now()
	c.principals.sweepIdle(c.env(now), func(p *account.Principal) {
		at := time.Unix(p.LastUsedUnix.Load(), 0).UTC()
		switch {
		case shouldExtendSession(p, now):
			c.owners.notifyOwner(p.Account, account.TouchSession{Hash: p.Hash})
		case p.Kind == account.KindSession:
		case at.Sub(p.LastRecorded()) >= account.LastUsedStep:
			p.RecordUse(at)
			c.owners.notifyOwner(p.Account, account.TouchKey{ID: p.KeyID, At: at})
		}
	})
}

func (c *CredentialService) env(now time.Time) account.Env {
	return account.Env{Now: now, LatestSeen: c.store.ClockSeen()}
}

// IssueKey creates an account key. Its token is returned only here. The operator's principal has no
// kind.
func (c *CredentialService) IssueKey(ctx context.Context, by *account.Principal, label string, scopes account.ScopeSet, days *int) (account.IssuedKey, error) {
	return c.issueKey(ctx, by, account.APIKey{Kind: account.KindAccountKey, Label: label, Scopes: scopes}, days)
}

// IssueInboxKey creates the one key of an inbox; Refused if the inbox already has one.
func (c *CredentialService) IssueInboxKey(ctx context.Context, by *account.Principal, address string, scopes account.ScopeSet, days *int) (account.IssuedKey, error) {
	return c.issueKey(ctx, by, account.APIKey{Kind: account.KindInboxKey, Inbox: address, Scopes: scopes}, days)
}

func (c *CredentialService) issueKey(ctx context.Context, by *account.Principal, k account.APIKey, days *int) (account.IssuedKey, error) {
	expires, err := account.ExpiryAfter(days, c.now())
	if err != nil {
		return account.IssuedKey{}, err
	}
	token := c.minter.mintToken(k.Kind, by.Account)
	k.Hash, k.Prefix, k.ExpiresAt = account.HashToken([]byte(token)), account.KeyPrefix(token), expires
	got, err := c.owners.sendCommand(ctx, by.Account, account.IssueKey{By: by, Key: k})
	if err != nil {
		return account.IssuedKey{}, err
	}
	return account.IssuedKey{Token: token, Key: got.(account.APIKey)}, nil
}

// RevokeKey revokes a key immediately, also for requests that are waiting.
func (c *CredentialService) RevokeKey(ctx context.Context, id account.ID, key int64) error {
	_, err := c.owners.sendCommand(ctx, id, account.RevokeKey{ID: key})
	return err
}

// RevokeInboxKey revokes the key of an inbox immediately; NotFound if the inbox has none.
func (c *CredentialService) RevokeInboxKey(ctx context.Context, id account.ID, address string) error {
	_, err := c.owners.sendCommand(ctx, id, account.RevokeInboxKey{Inbox: address})
	return err
}

// AccountKeys pages through the account's keys, oldest first, including expired ones and uses that
// are not recorded yet. Ended is set in each key that has ended. An empty cursor starts; the
// returned cursor is empty at the end.
func (c *CredentialService) AccountKeys(_ context.Context, id account.ID, cursor string, limit int) ([]account.APIKey, string, error) {
	after, err := parseKeyCursor(cursor)
	if err != nil {
		return nil, "", err
	}
	keys, err := c.store.ListKeys(id, after, limit+1)
	if err != nil {
		return nil, "", engine.BusyError(err)
	}
	next := ""
	if len(keys) > limit {
		keys = keys[:limit]
		next = strconv.FormatInt(keys[limit-1].ID, 36)
	}
	env := c.env(c.now())
	for i := range keys {
		if k := &keys[i]; k.Expired(env) && !k.SeenExpired {
			k.SeenExpired = true
			c.owners.notifyOwner(id, account.EndExpired{KeyID: k.ID}) // the reader of the list has now seen it as ended
		}
		if p := c.principals.findPrincipal(keys[i].Hash); p != nil {
			keys[i].LastUsedAt = laterTime(keys[i].LastUsedAt, unixTime(p.LastUsedUnix.Load()))
		}
	}
	return keys, next, nil
}

// ListSessions returns the account's sessions, oldest first, and when each was last used.
func (c *CredentialService) ListSessions(ctx context.Context, id account.ID) ([]account.Session, []time.Time, error) {
	got, err := c.owners.sendCommand(ctx, id, readSessions{})
	list, _ := got.([]account.Session)
	used := make([]time.Time, len(list))
	for i := range list {
		used[i] = laterTime(list[i].CreatedAt, list[i].LastUsed())
		if p := c.principals.findPrincipal(list[i].Hash); p != nil {
			used[i] = laterTime(used[i], unixTime(p.LastUsedUnix.Load()))
		}
	}
	return list, used, err
}

// EndSession ends the account's session with this public id immediately; NotFound if none exists.
func (c *CredentialService) EndSession(ctx context.Context, id account.ID, session string) error {
	list, _, err := c.ListSessions(ctx, id)
	if err != nil {
		return err
	}
	for _, ses := range list {
		if ses.ID() == session {
			_, err := c.owners.sendCommand(ctx, id, account.EndSession{Hash: ses.Hash})
			return err
		}
	}
	return fault.New(fault.NotFound, "Session not found. GET /api/account/sessions lists your sessions")
}

// HaveKeys returns which inboxes of the account have a key, expired or not. It needs one look-up
// for each inbox.
func (c *CredentialService) HaveKeys(_ context.Context, id account.ID, addresses []string) ([]bool, error) {
	held := make([]bool, len(addresses))
	for i, address := range addresses {
		key, err := c.store.KeyOfInbox(id, address)
		if err != nil {
			return nil, engine.BusyError(err)
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
	return fault.InvalidField("cursor", "is not a valid cursor of this list. Use 'next_cursor' of the previous page")
}

// laterTime returns the later of both.
func laterTime(a, b time.Time) time.Time {
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

// principalCache caches the principal of a credential by its hash. Account owners write it; every
// request reads it without a lock.
type principalCache struct {
	byHash *xsync.Map[account.TokenHash, *account.Principal]
}

// principalIdle is how long an unused principal stays cached.
const principalIdle = 15 * time.Minute

func newPrincipals() *principalCache {
	return &principalCache{byHash: xsync.NewMap[account.TokenHash, *account.Principal]()}
}

func (ps *principalCache) findPrincipal(h account.TokenHash) *account.Principal {
	p, _ := ps.byHash.Load(h)
	return p
}

func (ps *principalCache) storePrincipal(p *account.Principal) { ps.byHash.Store(p.Hash, p) }

// revokePrincipal revokes a principal for every request that holds it.
func (ps *principalCache) revokePrincipal(h account.TokenHash) {
	if p, ok := ps.byHash.LoadAndDelete(h); ok {
		p.Revoke()
	}
}

// revokeAll revokes every credential of an account whose key id is in the range; a session's is 0.
func (ps *principalCache) revokeAll(id account.ID, from, to int64) {
	ps.byHash.DeleteMatching(func(_ account.TokenHash, p *account.Principal) (bool, bool) {
		of := p.Account == id && from <= p.KeyID && p.KeyID <= to
		if of {
			p.Revoke()
		}
		return of, false
	})
}

// ReleaseGroup removes the principals of a group's accounts. Their owners have left, so none is added
// again.
func (ps *principalCache) ReleaseGroup(g partition.Group) error {
	ps.byHash.DeleteMatching(func(_ account.TokenHash, p *account.Principal) (bool, bool) {
		of := p.Account.HomePartition().Group() == g
		if of {
			p.MarkMoved()
		}
		return of, false
	})
	return nil
}

// sweepIdle evicts principals that are over or were idle for principalIdle, and calls used for each of
// the others.
func (ps *principalCache) sweepIdle(env account.Env, used func(*account.Principal)) {
	edge := env.Now.Add(-principalIdle).Unix()
	ps.byHash.DeleteMatching(func(_ account.TokenHash, p *account.Principal) (bool, bool) {
		if p.LastUsedUnix.Load() < edge || p.HasExpired(env) {
			p.MarkDropped()
			return true, false
		}
		used(p)
		return false, false
	})
}
