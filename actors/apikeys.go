package actors

import (
	"context"
	"math"
	"slices"
	"strconv"
	"time"

	"inboxd/actors/engine"
	"inboxd/internal/account"
	"inboxd/internal/fault"
)

// Keys are not in an account's state: the entity reads the one that a command is about. What
// the group being decided says of a key goes before what the store shows, because the
// group is not committed yet.

// key returns the key with this id as it stands, nil when it is gone; id may be 0.
func (e *accountEntity) key(id int64) (*account.Key, error) {
	if id == 0 {
		return nil, nil
	}
	if e.rows != nil {
		has := func(k *account.Key) bool { return k.ID == id }
		if slices.ContainsFunc(e.rows.DropKeys, has) {
			return nil, nil
		}
		for _, k := range slices.Backward(e.rows.PutKeys) {
			if has(k) {
				return k, nil
			}
		}
	}
	return e.store.Key(e.id, id)
}

// keyOf returns the one key of an inbox (specification, Keys), nil when it has none.
func (e *accountEntity) keyOf(address string) (*account.Key, error) {
	if e.rows != nil {
		for _, k := range slices.Backward(e.rows.PutKeys) {
			if k.Inbox == address && k.Kind == account.KindInboxKey {
				return k, nil
			}
		}
	}
	id, err := e.store.KeyOfInbox(e.id, address)
	if err != nil {
		return nil, err
	}
	return e.key(id)
}

// orderKey decides a command about one key, once it carries that key. The answer to
// IssueKey is the key.
func (e *accountEntity) orderKey(cmd any) (_ any, err error) {
	switch cmd := cmd.(type) {
	case account.IssueKey:
		return e.issueKey(cmd)
	case account.TouchKey:
		if cmd.Found, err = e.key(cmd.ID); err == nil {
			err = e.order(cmd)
		}
	case account.RevokeKey:
		if cmd.Found, err = e.key(cmd.ID); err == nil {
			err = e.order(cmd)
		}
	case account.RevokeInboxKey:
		if cmd.Found, err = e.keyOf(cmd.Inbox); err == nil {
			err = e.order(cmd)
		}
	}
	return nil, err
}

func (e *accountEntity) issueKey(cmd account.IssueKey) (any, error) {
	if cmd.Key.Kind == account.KindInboxKey {
		held, err := e.keyOf(cmd.Key.Inbox)
		if err != nil {
			return nil, err
		}
		cmd.Held = held != nil
	}
	if err := e.order(cmd); err != nil {
		return nil, err
	}
	return *e.rows.PutKeys[len(e.rows.PutKeys)-1], nil
}

// IssueKey makes an account key; its token is in the answer and nowhere else.
func (s *System) IssueKey(ctx context.Context, id account.ID, label string, scopes account.Scope, days *int) (account.Issued, error) {
	return s.issue(ctx, id, account.Key{Kind: account.KindAccountKey, Label: label, Scopes: scopes}, days)
}

// IssueInboxKey makes the one key of an inbox; Refused while it holds one.
func (s *System) IssueInboxKey(ctx context.Context, id account.ID, address string, scopes account.Scope, days *int) (account.Issued, error) {
	return s.issue(ctx, id, account.Key{Kind: account.KindInboxKey, Inbox: address, Scopes: scopes}, days)
}

// RevokeInboxKey ends the key of an inbox at once; NotFound when it holds none.
func (s *System) RevokeInboxKey(ctx context.Context, id account.ID, address string) error {
	_, err := s.ask(ctx, id, account.RevokeInboxKey{Inbox: address})
	return err
}

func (s *System) issue(ctx context.Context, id account.ID, k account.Key, days *int) (account.Issued, error) {
	expires, err := account.Lifetime(days, s.now())
	if err != nil {
		return account.Issued{}, err
	}
	token := s.mint(k.Kind, id)
	k.Hash, k.Prefix, k.ExpiresAt = account.HashToken([]byte(token)), account.KeyPrefix(token), expires
	got, err := s.ask(ctx, id, account.IssueKey{Key: k})
	if err != nil {
		return account.Issued{}, err
	}
	return account.Issued{Token: token, Key: got.(account.Key)}, nil
}

// Keys pages through the account's inventory, oldest first: expired keys too, with uses
// that are not written down yet. An empty cursor starts; the returned one is empty at the
// end.
func (s *System) Keys(_ context.Context, id account.ID, cursor string, limit int) ([]account.Key, string, error) {
	after, err := parseKeyCursor(cursor)
	if err != nil {
		return nil, "", err
	}
	keys, err := s.store.Keys(id, after, limit+1)
	if err != nil {
		return nil, "", engine.Busy(err)
	}
	next := ""
	if len(keys) > limit {
		keys = keys[:limit]
		next = strconv.FormatInt(keys[limit-1].ID, 36)
	}
	for i := range keys {
		if p := s.principals.get(keys[i].Hash); p != nil {
			keys[i].LastUsedAt = latest(keys[i].LastUsedAt, unixTime(p.Used.Load()))
		}
	}
	return keys, next, nil
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
	return fault.Field("cursor", "is not one that this service gave")
}

// HaveKeys tells which of some inboxes of the account hold a key, expired or not: one
// look-up each.
func (s *System) HaveKeys(_ context.Context, id account.ID, addresses []string) ([]bool, error) {
	held := make([]bool, len(addresses))
	for i, address := range addresses {
		key, err := s.store.KeyOfInbox(id, address)
		if err != nil {
			return nil, engine.Busy(err)
		}
		held[i] = key != 0
	}
	return held, nil
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

// RevokeKey ends a key at once, for requests that are waiting too.
func (s *System) RevokeKey(ctx context.Context, id account.ID, key int64) error {
	_, err := s.ask(ctx, id, account.RevokeKey{ID: key})
	return err
}
