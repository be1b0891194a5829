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

// CredentialStore is what credentials need of the disk.
type CredentialStore interface {
	// Credential also tells which key has the hash, 0 for a token that is no key.
	Credential(partition.ID, account.Hash) (id account.ID, key int64, found bool, err error)
	KeyOfInbox(id account.ID, address string) (int64, error)
	Keys(id account.ID, after int64, limit int) ([]account.Key, error)
	// ClockSeen is as of AccountStore.
	ClockSeen() time.Time
}

// Credentials tells who presents a token, and issues and revokes keys. It never changes but
// for the principals, which guard themselves; any goroutine may use it.
type Credentials struct {
	owners     accountOwners
	store      CredentialStore
	principals *principals
	minter     minter
	clock      *engine.Clock
	now        func() time.Time
}

var errCredential = fault.New(fault.Unauthenticated, "A valid API key is required")

// Authenticate resolves a session token or an API key. One that is in memory costs a hash
// and a map look-up, without lock or allocation; a malformed one never reaches the store,
// an unknown one never reaches an actor.
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
		// Not used for long, and perhaps never again before a crash: noteUses would come too late. On a disk
		// that is full the session is good for as long as it was.
		_, _ = c.owners.order(ctx, p.Account, account.TouchSession{Hash: h})
	}
	return p, nil
}

// find asks the account's owner who a credential speaks for, nil: nobody.
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

// Opens reports whether a key of the account still opens anything: whether it is neither revoked nor expired.
func (c *Credentials) Opens(ctx context.Context, id account.ID, key account.Hash) (bool, error) {
	p, err := c.find(ctx, id.Partition(), key)
	return p != nil, err
}

// IsInUse reports a credential that is in memory and still opens something.
func (c *Credentials) IsInUse(h account.Hash) bool {
	p := c.principals.get(h)
	return p != nil && p.Valid(c.now())
}

// slides reports whether a use at now moves the expiry of p, a session, enough to be written down.
func slides(p *account.Principal, now time.Time) bool {
	return p.Kind == account.KindSession && now.Add(account.SessionLife).Sub(p.ExpiresAt) > account.SessionStep
}

// noteUses writes down when credentials were last used, as far as that moved enough. A crash
// forgets what a minute brought, and of the rest at most LastUsedStep; a session slides when it
// is looked up too.
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

// IssueKey makes an account key; its token is in the answer and nowhere else. The operator's principal
// has no kind.
func (c *Credentials) IssueKey(ctx context.Context, by *account.Principal, label string, scopes account.Scope, days *int) (account.Issued, error) {
	return c.issue(ctx, by, account.Key{Kind: account.KindAccountKey, Label: label, Scopes: scopes}, days)
}

// IssueInboxKey makes the one key of an inbox; Refused while it holds one.
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

// RevokeKey ends a key at once, for requests that are waiting too.
func (c *Credentials) RevokeKey(ctx context.Context, id account.ID, key int64) error {
	_, err := c.owners.order(ctx, id, account.RevokeKey{ID: key})
	return err
}

// RevokeInboxKey ends the key of an inbox at once; NotFound when it holds none.
func (c *Credentials) RevokeInboxKey(ctx context.Context, id account.ID, address string) error {
	_, err := c.owners.order(ctx, id, account.RevokeInboxKey{Inbox: address})
	return err
}

// Keys pages through the account's inventory, oldest first: expired keys too, with uses
// that are not written down yet; Ended in each that is over. An empty cursor starts; the returned one is empty at the
// end.
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
			c.owners.notify(id, account.EndExpired{KeyID: k.ID}) // who reads the list has seen it
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

// EndSession ends the session of an account that has this id in lists, at once; NotFound when none has.
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

// HaveKeys tells which of some inboxes of the account hold a key, expired or not: one
// look-up each.
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

// parseKeyCursor reads the id of the last key shown.
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

// latest is the later of both.
func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// unixTime is the zero time for a second of 0: never.
func unixTime(sec int64) time.Time {
	if sec == 0 {
		return time.Time{}
	}
	return time.Unix(sec, 0).UTC()
}

// principals maps the hash of a credential to who it speaks for. Account owners write it;
// every request reads it, without a lock.
type principals struct {
	byHash *xsync.Map[account.Hash, *account.Principal]
}

// principalIdle is how long an unused principal stays in memory.
const principalIdle = 15 * time.Minute

func newPrincipals() *principals {
	return &principals{byHash: xsync.NewMap[account.Hash, *account.Principal]()}
}

func (ps *principals) get(h account.Hash) *account.Principal {
	p, _ := ps.byHash.Load(h)
	return p
}

func (ps *principals) put(p *account.Principal) { ps.byHash.Store(p.Hash, p) }

// revoke ends a principal for everybody who holds it.
func (ps *principals) revoke(h account.Hash) {
	if p, ok := ps.byHash.LoadAndDelete(h); ok {
		p.Revoke()
	}
}

// revokeAll ends every credential of an account whose key id is in the range; a session's is 0.
func (ps *principals) revokeAll(id account.ID, from, to int64) {
	ps.byHash.DeleteMatching(func(_ account.Hash, p *account.Principal) (bool, bool) {
		of := p.Account == id && from <= p.KeyID && p.KeyID <= to
		if of {
			p.Revoke()
		}
		return of, false
	})
}

// Lose takes out those of a group's accounts, whose owners have left: none is put in any more.
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

// sweep drops principals that were not used since idle before now or are over, and calls used
// for each of the others.
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
