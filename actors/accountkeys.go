package actors

import (
	"slices"

	"inboxd/internal/core/account"
)

// Keys are not part of an account's state: the entity reads the key that a command refers to. The
// rows of the group being decided take precedence over the store, because they are not committed
// yet.

// keyByID returns the key with this id, or nil if it does not exist; id may be 0.
func (e *accountEntity) keyByID(id int64) (*account.APIKey, error) {
	if id == 0 {
		return nil, nil
	}
	if e.pendingRows != nil {
		has := func(k *account.APIKey) bool { return k.ID == id }
		if slices.ContainsFunc(e.pendingRows.DropKeys, has) {
			return nil, nil
		}
		for _, k := range slices.Backward(e.pendingRows.PutKeys) {
			if has(k) {
				return k, nil
			}
		}
	}
	return e.store.FindKey(e.id, id)
}

// keyOf returns the one key of an inbox (specification, Keys), or nil if it has none.
func (e *accountEntity) keyOf(address string) (*account.APIKey, error) {
	if e.pendingRows != nil {
		for _, k := range slices.Backward(e.pendingRows.PutKeys) {
			if k.Inbox == address && k.Kind == account.KindInboxKey {
				return k, nil
			}
		}
	}
	id, err := e.store.KeyOfInbox(e.id, address)
	if err != nil {
		return nil, err
	}
	return e.keyByID(id)
}

// orderKey adds the key to a command about one key and decides it. IssueKey returns the key.
func (e *accountEntity) orderKey(cmd any) (_ any, err error) {
	switch cmd := cmd.(type) {
	case account.IssueKey:
		return e.issueKey(cmd)
	case account.EndExpired:
		if cmd.FoundKey, err = e.keyByID(cmd.KeyID); err == nil {
			err = e.applyCommand(cmd)
		}
	case account.TouchKey:
		if cmd.FoundKey, err = e.keyByID(cmd.ID); err == nil {
			err = e.applyCommand(cmd)
		}
	case account.RevokeKey:
		if cmd.FoundKey, err = e.keyByID(cmd.ID); err == nil {
			err = e.applyCommand(cmd)
		}
	case account.RevokeInboxKey:
		if cmd.FoundKey, err = e.keyOf(cmd.Inbox); err == nil {
			err = e.applyCommand(cmd)
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
		cmd.InboxHasKey = held != nil
	}
	if err := e.applyCommand(cmd); err != nil {
		return nil, err
	}
	return *e.pendingRows.PutKeys[len(e.pendingRows.PutKeys)-1], nil
}

// revokeSome revokes up to closeStep keys of a closing account.
type revokeSome struct{}

func (e *accountEntity) revokeSome() error {
	keys, err := e.store.ListKeys(e.id, 0, closeStep)
	if err != nil || e.pendingRows != nil { // after other changes of this group: left to the next round
		return err
	}
	return e.applyCommand(account.RevokeKeys{Keys: keys})
}

// revokeEnded removes up to closeStep of the keys with ids up to EndedKeys. It returns whether
// there may be more.
type revokeEnded struct{}

func (e *accountEntity) revokeEnded() (more bool, err error) {
	if e.pendingRows != nil { // after other changes of this group: left to the next round
		return true, nil
	}
	keys, err := e.store.ListKeys(e.id, 0, closeStep)
	if err != nil {
		return false, err
	}
	keys = slices.DeleteFunc(keys, func(k account.APIKey) bool { return k.ID > e.state.EndedKeys })
	return len(keys) > 0, e.applyCommand(account.RevokeKeys{Keys: keys})
}

// claimOf returns the account's claim to a subdomain, including the changes of the current group.
func (e *accountEntity) claimOf(label string) (account.SubdomainClaim, error) {
	if label == "" {
		return account.SubdomainClaim{}, nil
	}
	if e.pendingRows != nil {
		if c, known := e.pendingRows.ClaimOf(label); known {
			return c, nil
		}
	}
	return e.store.FindClaim(e.id, label)
}

// orderClaim adds the account's claim to the subdomain to a reservation and decides it. If a new
// claim is needed and the plan has no room for one, it also adds the claims that have ended.
func (e *accountEntity) orderClaim(cmd *account.ReserveInbox) error {
	if cmd.Claim == nil {
		return e.applyCommand(*cmd)
	}
	found, err := e.claimOf(cmd.Claim.Label)
	switch {
	case err != nil:
		return err
	case found.SerialNumber != 0:
		cmd.Claim = &found
	case !cmd.Claim.IsRandom && e.state.Subdomains >= e.plans.Of(e.state.Plan).MaxSubdomains:
		if cmd.LapsedClaims, err = e.claimsOver(); err != nil {
			return err
		}
	}
	return e.applyCommand(*cmd)
}

// claimsOver finds the chosen subdomains that the account no longer needs.
func (e *accountEntity) claimsOver() (over []account.SubdomainClaim, err error) {
	listed, err := e.store.ListClaims(e.id, account.SubdomainClaim{}, int(e.state.Subdomains))
	for _, c := range listed {
		if c.IsRandom || err != nil {
			break
		}
		if c, err = e.claimOf(c.Label); err == nil && c.SerialNumber != 0 && c.HasLapsed(e.now()) {
			over = append(over, c)
		}
	}
	return over, err
}
