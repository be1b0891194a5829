package actors

import (
	"slices"

	"inboxd/internal/core/account"
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
	case account.EndExpired:
		if cmd.Found, err = e.key(cmd.KeyID); err == nil {
			err = e.order(cmd)
		}
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

// revokeSome ends some keys of a closing account.
type revokeSome struct{}

func (e *accountEntity) revokeSome() error {
	keys, err := e.store.Keys(e.id, 0, closeStep)
	if err != nil || e.rows != nil { // behind other changes of this group: the next round
		return err
	}
	return e.order(account.RevokeKeys{Keys: keys})
}

// revokeEnded removes some of the keys that EndedKeys means; its answer is whether there may be more.
type revokeEnded struct{}

func (e *accountEntity) revokeEnded() (more bool, err error) {
	if e.rows != nil { // behind other changes of this group: the next round
		return true, nil
	}
	keys, err := e.store.Keys(e.id, 0, closeStep)
	if err != nil {
		return false, err
	}
	keys = slices.DeleteFunc(keys, func(k account.Key) bool { return k.ID > e.state.EndedKeys })
	return len(keys) > 0, e.order(account.RevokeKeys{Keys: keys})
}

// claim returns what the account has in a subdomain, as the group leaves it.
func (e *accountEntity) claim(label string) (account.Claim, error) {
	if label == "" {
		return account.Claim{}, nil
	}
	if e.rows != nil {
		if c, known := e.rows.Claim(label); known {
			return c, nil
		}
	}
	return e.store.Claim(e.id, label)
}

// orderClaim decides a reservation once it carries what the account has in its subdomain, and, when it
// needs a new claim and the plan leaves no room for it, those that are over.
func (e *accountEntity) orderClaim(cmd *account.ReserveInbox) error {
	if cmd.Claim == nil {
		return e.order(*cmd)
	}
	found, err := e.claim(cmd.Claim.Label)
	switch {
	case err != nil:
		return err
	case found.Number != 0:
		cmd.Claim = &found
	case !cmd.Claim.Random && e.state.Subdomains >= e.plans.Of(e.state.Plan).MaxSubdomains:
		if cmd.Over, err = e.claimsOver(); err != nil {
			return err
		}
	}
	return e.order(*cmd)
}

// claimsOver finds the chosen subdomains that the account has no use for any more.
func (e *accountEntity) claimsOver() (over []account.Claim, err error) {
	listed, err := e.store.Claims(e.id, account.Claim{}, int(e.state.Subdomains))
	for _, c := range listed {
		if c.Random || err != nil {
			break
		}
		if c, err = e.claim(c.Label); err == nil && c.Number != 0 && c.Over(e.now()) {
			over = append(over, c)
		}
	}
	return over, err
}
