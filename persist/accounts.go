package persist

import (
	"fmt"

	"inboxd/internal/core/account"
)

// accountTable stores accounts: their own rows and the lists of their inboxes.
type accountTable struct {
	*engine
	hooks *webhookTable
}

// The integer keys of these records are on disk: append only; never reorder or reuse.

type accountRecord struct {
	Email        string           `cbor:"1,keyasint,omitempty"`
	PasswordHash string           `cbor:"2,keyasint,omitempty"`
	Plan         account.PlanName `cbor:"3,keyasint,omitempty"`
	CreatedAt    stamp            `cbor:"4,keyasint,omitempty"`
	Inboxes      int64            `cbor:"5,keyasint,omitempty"`
	LastKey      int64            `cbor:"6,keyasint,omitempty"`
	AccountKeys  int64            `cbor:"7,keyasint,omitempty"`
	InboxKeys    int64            `cbor:"8,keyasint,omitempty"`
	ClosingAt    stamp            `cbor:"9,keyasint,omitempty"`
	LastWebhook  int64            `cbor:"20,keyasint,omitempty"`
	LastClaim    int64            `cbor:"21,keyasint,omitempty"`
	Subdomains   int64            `cbor:"22,keyasint,omitempty"`
	Recipient    string           `cbor:"23,keyasint,omitempty"`
	RecipientAt  stamp            `cbor:"24,keyasint,omitempty"`
	Encrypted    int64            `cbor:"25,keyasint,omitempty"`
	EndedKeys    int64            `cbor:"26,keyasint,omitempty"`
	Unverified   bool             `cbor:"27,keyasint,omitempty"`
}

func (r *accountRecord) from(p *account.Profile) {
	*r = accountRecord{
		p.Email, p.PasswordHash, p.Plan, stampOf(p.CreatedAt), p.Inboxes, p.LastKey,
		p.AccountKeys, p.InboxKeys, stampOf(p.ClosingAt), p.LastWebhook, p.LastClaim, p.Subdomains,
		p.Encryption.Recipient, stampOf(p.Encryption.SetAt), p.Encryption.Inboxes, p.EndedKeys, p.Unverified,
	}
}

func (r *accountRecord) profile(id account.ID) account.Profile {
	return account.Profile{
		ID: id, Email: r.Email, PasswordHash: r.PasswordHash, Plan: r.Plan,
		CreatedAt: r.CreatedAt.time(), Inboxes: r.Inboxes, LastKey: r.LastKey,
		AccountKeys: r.AccountKeys, InboxKeys: r.InboxKeys, ClosingAt: r.ClosingAt.time(), LastWebhook: r.LastWebhook,
		LastClaim: r.LastClaim, Subdomains: r.Subdomains,
		Encryption: account.Encryption{Recipient: r.Recipient, SetAt: r.RecipientAt.time(), Inboxes: r.Encrypted},
		EndedKeys:  r.EndedKeys, Unverified: r.Unverified,
	}
}

type usageRecord struct {
	Day     int64 `cbor:"1,keyasint,omitempty"`
	Sends   int64 `cbor:"2,keyasint,omitempty"`
	Answers int64 `cbor:"3,keyasint,omitempty"`
}

// LoadAccount reads an account in short range scans: its profile, the rows after its keys
// (sessions, reserved inboxes and resets), its webhooks, and its list of own domains. It does not
// load live inboxes and keys, of which there may be a million each. For an id that never existed it
// returns an empty State.
func (t *accountTable) LoadAccount(id account.ID) (*account.State, error) {
	st := account.NewState()
	all, keys := under(appendOwner(nil, kindAccount, id)), under(appendPart(nil, id, partKey))
	row := func(key, value []byte) error { return loadAccountRow(st, id, key[len(all.from):], value) }
	err := t.scan(span{all.from, keys.from}, row)
	if err == nil {
		err = t.scan(span{keys.to, all.to}, row)
	}
	if err != nil {
		return nil, fmt.Errorf("persist: loading account %s: %w", id, err)
	}
	if above := t.folder.Above(); !st.CreatedAt.IsZero() {
		st.LastKey, st.LastWebhook = max(st.LastKey, above), max(st.LastWebhook, above)
	}
	hooks, err := t.hooks.Webhooks(id)
	for i := range hooks {
		st.Webhooks[hooks[i].ID] = &hooks[i]
	}
	if err == nil {
		st.Domains, err = t.loadDomains(id)
	}
	return st, err
}

// loadAccountRow reads a row into st; suffix is the part of the key after the account id.
func loadAccountRow(st *account.State, id account.ID, suffix, value []byte) error {
	if len(suffix) == 0 {
		var r accountRecord
		err := decode(value, &r)
		st.Profile = r.profile(id)
		return err
	}
	switch part, rest := suffix[0], suffix[1:]; {
	case part == partSession && len(rest) == len(account.Hash{}):
		var r sessionRecord
		err := decode(value, &r)
		st.Sessions[account.Hash(rest)] = r.session(account.Hash(rest))
		return err
	case part == partReserved:
		var r reservedRecord
		err := decode(value, &r)
		st.Reserved[string(rest)] = r.reservation()
		return err
	case part == partReset && len(rest) == len(account.Hash{}):
		var r resetRecord
		err := decode(value, &r)
		st.Resets[account.Hash(rest)] = account.Reset{Hash: account.Hash(rest), ExpiresAt: r.ExpiresAt.time(), ClockSeen: r.ClockSeen.time(), Verify: r.Verify}
		return err
	case part == partUsage && len(rest) == 0:
		var r usageRecord
		err := decode(value, &r)
		st.Sends = account.Sends{Day: r.Day, Count: r.Sends, Answers: r.Answers}
		return err
	case part == partWebhook:
		return nil // read separately
	}
	return fmt.Errorf("unknown row %x", suffix)
}

// CommitAccount writes the rows as one atomic batch and returns once it is durable. The look-up
// rows of credentials are written and removed together with their keys and sessions. A row that is
// both put and dropped is removed. Errors are faults, as in CommitInbox.
func (t *accountTable) CommitAccount(r *account.Rows) error {
	hooks, err := t.hooks.encrypt(r)
	if err != nil {
		return err
	}
	if r.OnlyCounts() {
		return t.updateLater(r.ID.Partition(), func(w *writer) { w.usage(r) })
	}
	return t.update(r.ID.Partition(), accountBytes(r), func(w *writer) {
		if r.Erase {
			w.erase(r.ID)
			return
		}
		w.profile(r)
		w.usage(r)
		w.keys(r)
		w.sessions(r)
		w.resets(r)
		w.list(r)
		w.webhooks(r, hooks)
		w.domains(r)
		w.claims(r)
		w.requests(accountRequests(r.ID), &r.Once)
	})
}

// accountBytes is the approximate number of bytes that rows add to the disk, 0 if they end
// something. Confirming a reserved inbox counts as ending something: it only moves the
// reservation's row.
func accountBytes(r *account.Rows) int64 {
	const some = 1024
	for _, e := range r.PutInboxes {
		if !e.Live {
			return some
		}
	}
	if r.Erase || r.Profile != nil && !r.Profile.ClosingAt.IsZero() {
		return 0
	}
	begins := len(r.PutSessions) + len(r.PutResets) + len(r.PutWebhooks) + len(r.PutDomains)
	ends := len(r.DropResets) + len(r.DropKeys) + len(r.DropSessions) + len(r.DropInboxes) + len(r.PutInboxes) + len(r.DropWebhooks) + len(r.DropDomains) + len(r.Claims)
	for _, k := range r.PutKeys {
		if k.Ended {
			ends++
		} else {
			begins++
		}
	}
	if begins == 0 && ends > 0 {
		return 0
	}
	return some
}

// profile writes the account's own row. An account that is being deleted also gets a mark, by which
// the next start finds it.
func (w *writer) profile(r *account.Rows) {
	if r.Profile == nil {
		return
	}
	var rec accountRecord
	rec.from(r.Profile)
	w.put(appendOwner(nil, kindAccount, r.ID), &rec)
	if !r.Profile.ClosingAt.IsZero() && !r.Profile.CreatedAt.IsZero() {
		w.mark(appendOwner(nil, kindClosing, r.ID))
	}
}

// usage writes the day's count. It needs no fsync of its own. A message is committed after its
// count in the same log, so whatever part of the log survives a crash counts every message in it.
func (w *writer) usage(r *account.Rows) {
	if r.Sends != nil {
		w.put(appendPart(nil, r.ID, partUsage), &usageRecord{r.Sends.Day, r.Sends.Count, r.Sends.Answers})
	}
}

// erase removes what is left of a closed account: its own rows, its lists, its journal, the numbers
// of taken events, its suppressions, its deliveries, its request records and its closing mark. The
// due entries of the deliveries then lead nowhere. Its credential rows were removed with their
// keys, sessions and reset tokens.
func (w *writer) erase(id account.ID) {
	for _, k := range [...]kind{kindAccount, kindList, kindJournal, kindInboxKey, kindSuppression, kindLastCall, kindDelivery, kindTaken, kindDomainList, kindClaim} {
		w.deleteRange(under(appendOwner(nil, k, id)))
	}
	w.deleteRange(under(accountRequests(id)))
	w.delete(appendOwner(nil, kindClosing, id))
}

// Accounts returns up to limit accounts after the id after, in the order of their partitions. The
// zero id starts.
func (t *accountTable) Accounts(after account.ID, limit int) (out []account.Profile, err error) {
	err = t.heads(accountsBehind(kindAccount, after), func(key, value []byte) ([]byte, error) {
		if len(out) == limit {
			return nil, errStop
		}
		if len(key) < prefixLen+idLen {
			return nil, fmt.Errorf("persist: damaged key %x", key)
		}
		// Each account's first row is its profile, except for an account that was never opened. An
		// account that was voided has a profile without a creation time.
		owner := key[:prefixLen+idLen]
		if len(key) > len(owner) {
			return owner, nil
		}
		var r accountRecord
		if err := decode(value, &r); err != nil {
			return nil, fmt.Errorf("persist: account %x: %w", owner[prefixLen:], err)
		}
		if r.CreatedAt != 0 {
			out = append(out, r.profile(account.ID(owner[prefixLen:])))
		}
		return owner, nil
	})
	return out, err
}

// accountsBehind are the rows of the accounts after one, or of all accounts for the zero id.
func accountsBehind(k kind, after account.ID) span {
	keys := ofKind(k)
	if after != (account.ID{}) {
		keys.from = end(appendOwner(nil, k, after))
	}
	return keys
}

// owners returns up to limit accounts that have rows of a kind, after the id after.
func (e *engine) owners(k kind, after account.ID, limit int) (out []account.ID, err error) {
	err = e.heads(accountsBehind(k, after), func(key, _ []byte) ([]byte, error) {
		if len(out) == limit {
			return nil, errStop
		}
		owner := key[:prefixLen+idLen]
		out = append(out, account.ID(owner[prefixLen:]))
		return owner, nil
	})
	return out, err
}

// PlanOf returns an account's plan, empty if the account does not exist: one point look-up.
func (t *accountTable) PlanOf(id account.ID) (account.PlanName, error) {
	var r accountRecord
	_, err := t.get(appendOwner(nil, kindAccount, id), &r)
	return r.Plan, err
}

// RecipientOf returns an account's public key, empty if it has none: one point look-up.
func (t *accountTable) RecipientOf(id account.ID) (string, error) {
	var r accountRecord
	_, err := t.get(appendOwner(nil, kindAccount, id), &r)
	return r.Recipient, err
}

// Closing returns up to limit accounts whose deletion has begun but not ended.
func (t *accountTable) Closing(limit int) ([]account.ID, error) {
	return list(t.engine, ofKind(kindClosing), limit, func(key, _ []byte) (account.ID, error) {
		return account.ID(key[prefixLen:]), nil
	})
}

// accountRow checks a row of an account; rest is the part of its key after the account id.
func (c *checker) accountRow(k kind, id account.ID, rest, value []byte) (err error) {
	switch {
	case k == kindAccount && len(rest) == 0:
		return c.account(id, value)
	case k == kindAccount && rest[0] == partKey && len(rest) == 9:
		return c.key(id, readNumber(rest), value)
	case k == kindAccount && rest[0] == partWebhook && len(rest) == 9:
		row := webhookRow{id: readNumber(rest)}
		if err = decode(value, &row.record); err == nil && !c.keyless {
			_, err = c.s.hooks.decrypt(id, row)
		}
		return err
	case k == kindAccount:
		c.tokenOf(id, rest)
		return loadAccountRow(account.NewState(), id, rest, value)
	case k == kindList && len(rest) > 8:
		return checkVersion(value)
	case k == kindJournal && len(rest) == 8:
		return decode(value, new(publicRecord))
	case k == kindSuppression && len(rest) > 0:
		return decode(value, new(suppressionRecord))
	case k == kindDomainList && len(rest) > 0:
		_, err = readListedMark(value)
		return err
	case k == kindLastCall && len(rest) == 8:
		return decode(value, new(lastCallRecord))
	case k == kindDelivery && len(rest) == 8:
		return c.delivery(id, readNumber(rest), value)
	case (k == kindInboxKey || k == kindTaken) && len(rest) > 0 && len(value) == 9:
		return checkVersion(value)
	case k == kindClosing && len(rest) == 0:
		return checkVersion(value)
	case k == kindClaim && len(rest) > 1:
		_, err = readClaim(rest, value)
		return err
	}
	return errKey
}

// account checks an account that is not being deleted: its e-mail address must lead to it, and its
// list must have as many inboxes as it counts.
func (c *checker) account(id account.ID, value []byte) error {
	var r accountRecord
	if err := decode(value, &r); err != nil || r.CreatedAt == 0 || r.ClosingAt != 0 {
		return err
	}
	c.sum.Accounts++
	listed := int64(0)
	err := c.s.scan(under(appendOwner(nil, kindList, id)), func(_, _ []byte) error { listed++; return nil })
	if err == nil && listed != r.Inboxes {
		c.found(fmt.Sprintf("the account %s counts %d inboxes, its list has %d", id, r.Inboxes, listed))
	}
	if h, lost := c.s.AccountByEmail(r.Email); lost == nil && h.Account != id {
		c.found(fmt.Sprintf("the account %s cannot be found by its e-mail address %s", id, r.Email))
	}
	return nil
}
