package persist

import (
	"fmt"

	"inboxd/internal/core/account"
)

// accountTable stores accounts: their own rows and the lists of their inboxes.
type accountTable struct {
	*storageEngine
	hooks *webhookTable
}

// The integer keys of these records are on disk: append only; never reorder or reuse.

type accountRecord struct {
	Email          string           `cbor:"1,keyasint,omitempty"`
	PasswordHash   string           `cbor:"2,keyasint,omitempty"`
	PlanName       account.PlanName `cbor:"3,keyasint,omitempty"`
	CreatedAt      unixMillis       `cbor:"4,keyasint,omitempty"`
	InboxCount     int64            `cbor:"5,keyasint,omitempty"`
	LastKey        int64            `cbor:"6,keyasint,omitempty"`
	AccountKeys    int64            `cbor:"7,keyasint,omitempty"`
	InboxKeys      int64            `cbor:"8,keyasint,omitempty"`
	ClosingAt      unixMillis       `cbor:"9,keyasint,omitempty"`
	LastWebhook    int64            `cbor:"20,keyasint,omitempty"`
	LastClaim      int64            `cbor:"21,keyasint,omitempty"`
	Subdomains     int64            `cbor:"22,keyasint,omitempty"`
	RecipientKey   string           `cbor:"23,keyasint,omitempty"`
	RecipientAt    unixMillis       `cbor:"24,keyasint,omitempty"`
	EncryptedCount int64            `cbor:"25,keyasint,omitempty"`
	EndedKeys      int64            `cbor:"26,keyasint,omitempty"`
	IsUnverified   bool             `cbor:"27,keyasint,omitempty"`
}

func (r *accountRecord) copyFrom(p *account.Profile) {
	*r = accountRecord{
		p.Email, p.PasswordHash, p.Plan, stampOf(p.CreatedAt), p.LiveInboxes, p.LastKey,
		p.AccountKeys, p.InboxKeys, stampOf(p.ClosingAt), p.LastWebhook, p.LastClaim, p.Subdomains,
		p.Encryption.PublicKey, stampOf(p.Encryption.SetAt), p.Encryption.EncryptedInboxes, p.EndedKeys, p.EmailUnverified,
	}
}

func (r *accountRecord) toProfile(id account.ID) account.Profile {
	return account.Profile{
		ID: id, Email: r.Email, PasswordHash: r.PasswordHash, Plan: r.PlanName,
		CreatedAt: r.CreatedAt.toTime(), LiveInboxes: r.InboxCount, LastKey: r.LastKey,
		AccountKeys: r.AccountKeys, InboxKeys: r.InboxKeys, ClosingAt: r.ClosingAt.toTime(), LastWebhook: r.LastWebhook,
		LastClaim: r.LastClaim, Subdomains: r.Subdomains,
		Encryption: account.EncryptionState{PublicKey: r.RecipientKey, SetAt: r.RecipientAt.toTime(), EncryptedInboxes: r.EncryptedCount},
		EndedKeys:  r.EndedKeys, EmailUnverified: r.IsUnverified,
	}
}

type usageRecord struct {
	DayNumber   int64 `cbor:"1,keyasint,omitempty"`
	SendCount   int64 `cbor:"2,keyasint,omitempty"`
	AnswerCount int64 `cbor:"3,keyasint,omitempty"`
}

// LoadAccount reads an account in short range scans: its profile, the rows after its keys
// (sessions, reserved inboxes and resets), its webhooks, and its list of own domains. It does not
// load live inboxes and keys, of which there may be a million each. For an id that never existed it
// returns an empty State.
func (t *accountTable) LoadAccount(id account.ID) (*account.State, error) {
	st := account.NewState()
	all, keys := prefixRange(appendOwner(nil, kindAccount, id)), prefixRange(appendPart(nil, id, partKey))
	row := func(key, value []byte) error { return loadAccountRow(st, id, key[len(all.from):], value) }
	err := t.scanRows(keyRange{all.from, keys.from}, row)
	if err == nil {
		err = t.scanRows(keyRange{keys.to, all.to}, row)
	}
	if err != nil {
		return nil, fmt.Errorf("persist: loading account %s: %w", id, err)
	}
	if above := t.folder.MinimumID(); !st.CreatedAt.IsZero() {
		st.LastKey, st.LastWebhook = max(st.LastKey, above), max(st.LastWebhook, above)
	}
	hooks, err := t.hooks.Webhooks(id)
	for i := range hooks {
		st.Webhooks[hooks[i].ID] = &hooks[i]
	}
	if err == nil {
		st.ListedDomains, err = t.loadDomains(id)
	}
	return st, err
}

// loadAccountRow reads a row into st; suffix is the part of the key after the account id.
func loadAccountRow(st *account.State, id account.ID, suffix, value []byte) error {
	if len(suffix) == 0 {
		var r accountRecord
		err := decodeRecord(value, &r)
		st.Profile = r.toProfile(id)
		return err
	}
	switch part, rest := suffix[0], suffix[1:]; {
	case part == partSession && len(rest) == len(account.TokenHash{}):
		var r sessionRecord
		err := decodeRecord(value, &r)
		st.Sessions[account.TokenHash(rest)] = r.toSession(account.TokenHash(rest))
		return err
	case part == partReserved:
		var r reservedRecord
		err := decodeRecord(value, &r)
		st.ReservedInboxes[string(rest)] = r.toReservation()
		return err
	case part == partReset && len(rest) == len(account.TokenHash{}):
		var r resetRecord
		err := decodeRecord(value, &r)
		st.ResetTokens[account.TokenHash(rest)] = account.ResetToken{Hash: account.TokenHash(rest), ExpiresAt: r.ExpiresAt.toTime(), ClockSeen: r.ClockSeen.toTime(), VerifiesEmail: r.VerifiesEmail}
		return err
	case part == partUsage && len(rest) == 0:
		var r usageRecord
		err := decodeRecord(value, &r)
		st.DailySends = account.SendCount{UTCDay: r.DayNumber, Count: r.SendCount, AnswerCopies: r.AnswerCount}
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
	hooks, err := t.hooks.encryptRows(r)
	if err != nil {
		return err
	}
	if r.OnlyCounts() {
		return t.updateLater(r.ID.HomePartition(), func(w *batchWriter) { w.writeUsage(r) })
	}
	return t.commitUpdate(r.ID.HomePartition(), accountBytes(r), func(w *batchWriter) {
		if r.EraseAll {
			w.eraseAccount(r.ID)
			return
		}
		w.writeProfile(r)
		w.writeUsage(r)
		w.writeKeys(r)
		w.writeSessions(r)
		w.writeResets(r)
		w.writeInboxList(r)
		w.webhooks(r, hooks)
		w.writeDomains(r)
		w.writeClaims(r)
		w.writeRequests(accountRequests(r.ID), &r.IdempotencyRecords)
	})
}

// accountBytes is the approximate number of bytes that rows add to the disk, 0 if they end
// something. Confirming a reserved inbox counts as ending something: it only moves the
// reservation's row.
func accountBytes(r *account.Rows) int64 {
	const some = 1024
	for _, e := range r.PutInboxes {
		if !e.IsLive {
			return some
		}
	}
	if r.EraseAll || r.Profile != nil && !r.Profile.ClosingAt.IsZero() {
		return 0
	}
	begins := len(r.PutSessions) + len(r.PutResets) + len(r.PutWebhooks) + len(r.PutDomains)
	ends := len(r.DropResets) + len(r.DropKeys) + len(r.DropSessions) + len(r.DropInboxes) + len(r.PutInboxes) + len(r.DropWebhooks) + len(r.DropDomains) + len(r.Claims)
	for _, k := range r.PutKeys {
		if k.SeenExpired {
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

// writeProfile writes the account's own row. An account that is being deleted also gets a mark, by
// which the next start finds it.
func (w *batchWriter) writeProfile(r *account.Rows) {
	if r.Profile == nil {
		return
	}
	var rec accountRecord
	rec.copyFrom(r.Profile)
	w.putRecord(appendOwner(nil, kindAccount, r.ID), &rec)
	if !r.Profile.ClosingAt.IsZero() && !r.Profile.CreatedAt.IsZero() {
		w.markKey(appendOwner(nil, kindClosing, r.ID))
	}
}

// writeUsage writes the day's count. It needs no fsync of its own. A message is committed after its
// count in the same log, so whatever part of the log survives a crash counts every message in it.
func (w *batchWriter) writeUsage(r *account.Rows) {
	if r.Sends != nil {
		w.putRecord(appendPart(nil, r.ID, partUsage), &usageRecord{r.Sends.UTCDay, r.Sends.Count, r.Sends.AnswerCopies})
	}
}

// eraseAccount removes what is left of a closed account: its own rows, its lists, its journal, the
// numbers of taken events, its suppressions, its deliveries, its request records and its closing
// mark. The due entries of the deliveries then lead nowhere. Its credential rows were removed with
// their keys, sessions and reset tokens.
func (w *batchWriter) eraseAccount(id account.ID) {
	for _, k := range [...]rowKind{kindAccount, kindList, kindJournal, kindInboxKey, kindSuppression, kindLastCall, kindDelivery, kindTaken, kindDomainList, kindClaim} {
		w.deleteRange(prefixRange(appendOwner(nil, k, id)))
	}
	w.deleteRange(prefixRange(accountRequests(id)))
	w.deleteKey(appendOwner(nil, kindClosing, id))
}

// ListAccounts returns up to limit accounts after the id after, in the order of their partitions. The
// zero id starts.
func (t *accountTable) ListAccounts(after account.ID, limit int) (out []account.Profile, err error) {
	err = t.scanHeads(accountsBehind(kindAccount, after), func(key, value []byte) ([]byte, error) {
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
		if err := decodeRecord(value, &r); err != nil {
			return nil, fmt.Errorf("persist: account %x: %w", owner[prefixLen:], err)
		}
		if r.CreatedAt != 0 {
			out = append(out, r.toProfile(account.ID(owner[prefixLen:])))
		}
		return owner, nil
	})
	return out, err
}

// accountsBehind are the rows of the accounts after one, or of all accounts for the zero id.
func accountsBehind(k rowKind, after account.ID) keyRange {
	keys := ofKind(k)
	if after != (account.ID{}) {
		keys.from = endOfPrefix(appendOwner(nil, k, after))
	}
	return keys
}

// listOwners returns up to limit accounts that have rows of a kind, after the id after.
func (e *storageEngine) listOwners(k rowKind, after account.ID, limit int) (out []account.ID, err error) {
	err = e.scanHeads(accountsBehind(k, after), func(key, _ []byte) ([]byte, error) {
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
	_, err := t.getRecord(appendOwner(nil, kindAccount, id), &r)
	return r.PlanName, err
}

// RecipientOf returns an account's public key, empty if it has none: one point look-up.
func (t *accountTable) RecipientOf(id account.ID) (string, error) {
	var r accountRecord
	_, err := t.getRecord(appendOwner(nil, kindAccount, id), &r)
	return r.RecipientKey, err
}

// ListClosing returns up to limit accounts whose deletion has begun but not ended.
func (t *accountTable) ListClosing(limit int) ([]account.ID, error) {
	return listRows(t.storageEngine, ofKind(kindClosing), limit, func(key, _ []byte) (account.ID, error) {
		return account.ID(key[prefixLen:]), nil
	})
}

// accountRow checks a row of an account; rest is the part of its key after the account id.
func (c *folderChecker) accountRow(k rowKind, id account.ID, rest, value []byte) (err error) {
	switch {
	case k == kindAccount && len(rest) == 0:
		return c.checkAccount(id, value)
	case k == kindAccount && rest[0] == partKey && len(rest) == 9:
		return c.checkKey(id, readNumber(rest), value)
	case k == kindAccount && rest[0] == partWebhook && len(rest) == 9:
		row := webhookRow{id: readNumber(rest)}
		if err = decodeRecord(value, &row.webhookRecord); err == nil && !c.keyless {
			_, err = c.s.hooks.decrypt(id, row)
		}
		return err
	case k == kindAccount:
		c.tokenOf(id, rest)
		return loadAccountRow(account.NewState(), id, rest, value)
	case k == kindList && len(rest) > 8:
		return checkVersion(value)
	case k == kindJournal && len(rest) == 8:
		return decodeRecord(value, new(publicRecord))
	case k == kindSuppression && len(rest) > 0:
		return decodeRecord(value, new(suppressionRecord))
	case k == kindDomainList && len(rest) > 0:
		_, err = readListedMark(value)
		return err
	case k == kindLastCall && len(rest) == 8:
		return decodeRecord(value, new(lastCallRecord))
	case k == kindDelivery && len(rest) == 8:
		return c.checkDelivery(id, readNumber(rest), value)
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

// checkAccount checks an account that is not being deleted: its e-mail address must lead to it, and its
// list must have as many inboxes as it counts.
func (c *folderChecker) checkAccount(id account.ID, value []byte) error {
	var r accountRecord
	if err := decodeRecord(value, &r); err != nil || r.CreatedAt == 0 || r.ClosingAt != 0 {
		return err
	}
	c.checkSummary.LiveAccounts++
	listed := int64(0)
	err := c.s.scanRows(prefixRange(appendOwner(nil, kindList, id)), func(_, _ []byte) error { listed++; return nil })
	if err == nil && listed != r.InboxCount {
		c.reportProblem(fmt.Sprintf("the account %s counts %d inboxes, its list has %d", id, r.InboxCount, listed))
	}
	if h, lost := c.s.AccountByEmail(r.Email); lost == nil && h.Account != id {
		c.reportProblem(fmt.Sprintf("the account %s cannot be found by its e-mail address %s", id, r.Email))
	}
	return nil
}
