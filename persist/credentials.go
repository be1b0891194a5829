package persist

import (
	"errors"
	"fmt"

	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
)

// credentialTable finds credentials by hash: keys, sessions, reset tokens and calendar links. An
// account's keys are read on request: by id, by hash, by their inbox, or in pages. The look-up rows
// are written and removed in the same batch as the row they lead to.
type credentialTable struct{ *storageEngine }

// The integer keys of these records are on disk: append only; never reorder or reuse.

type keyRecord struct {
	TokenHash    account.TokenHash `cbor:"1,keyasint"`
	Kind         account.TokenKind `cbor:"2,keyasint"`
	Label        string            `cbor:"3,keyasint,omitempty"`
	Scopes       account.ScopeSet  `cbor:"4,keyasint,omitempty"`
	Prefix       string            `cbor:"5,keyasint,omitempty"`
	InboxAddress string            `cbor:"6,keyasint,omitempty"`
	CreatedAt    unixMillis        `cbor:"7,keyasint,omitempty"`
	ExpiresAt    unixMillis        `cbor:"8,keyasint,omitempty"`
	LastUsedAt   unixMillis        `cbor:"9,keyasint,omitempty"`
	HasEnded     bool              `cbor:"10,keyasint,omitempty"`
	ClockSeen    unixMillis        `cbor:"11,keyasint,omitempty"`
}

func (r *keyRecord) copyFrom(k *account.APIKey) {
	*r = keyRecord{
		k.Hash, k.Kind, k.Label, k.Scopes, k.Prefix, k.Inbox,
		stampOf(k.CreatedAt), stampOf(k.ExpiresAt), stampOf(k.LastUsedAt), k.SeenExpired, stampOf(k.ClockSeen),
	}
}

func (r *keyRecord) toKey(id int64) *account.APIKey {
	return &account.APIKey{
		ID: id, Hash: r.TokenHash, Kind: r.Kind, Label: r.Label, Scopes: r.Scopes, Prefix: r.Prefix, Inbox: r.InboxAddress,
		CreatedAt: r.CreatedAt.toTime(), ExpiresAt: r.ExpiresAt.toTime(), LastUsedAt: r.LastUsedAt.toTime(), SeenExpired: r.HasEnded, ClockSeen: r.ClockSeen.toTime(),
	}
}

type sessionRecord struct {
	CreatedAt unixMillis `cbor:"1,keyasint,omitempty"`
	ExpiresAt unixMillis `cbor:"2,keyasint,omitempty"`
	ClockSeen unixMillis `cbor:"3,keyasint,omitempty"`
}

func (r *sessionRecord) toSession(h account.TokenHash) *account.Session {
	return &account.Session{Hash: h, CreatedAt: r.CreatedAt.toTime(), ExpiresAt: r.ExpiresAt.toTime(), ClockSeen: r.ClockSeen.toTime()}
}

type resetRecord struct {
	ExpiresAt     unixMillis `cbor:"1,keyasint,omitempty"`
	ClockSeen     unixMillis `cbor:"2,keyasint,omitempty"`
	VerifiesEmail bool       `cbor:"3,keyasint,omitempty"`
}

func credentialKey(p partition.ID, h account.TokenHash) []byte {
	return append(appendPrefix(nil, kindCredential, p), h[:]...)
}

func keyKey(id account.ID, key int64) []byte { return appendNumber(appendPart(nil, id, partKey), key) }

func inboxKeyKey(id account.ID, address string) []byte {
	return append(appendOwner(nil, kindInboxKey, id), address...)
}

func hashKey(id account.ID, part byte, h account.TokenHash) []byte {
	return append(appendPart(nil, id, part), h[:]...)
}

// keyedValue is the value of a look-up row: head, and the key's id.
func keyedValue(head []byte, key int64) []byte {
	return appendNumber(append([]byte{recordVersion}, head...), key)
}

func (w *batchWriter) writeKeys(r *account.Rows) {
	for _, k := range r.DropKeys {
		w.deleteKey(keyKey(r.ID, k.ID))
		w.deleteKey(credentialKey(r.ID.HomePartition(), k.Hash))
		if k.Kind == account.KindInboxKey {
			w.deleteKey(inboxKeyKey(r.ID, k.Inbox))
		}
	}
	for _, k := range r.PutKeys {
		var rec keyRecord
		rec.copyFrom(k)
		w.putRecord(keyKey(r.ID, k.ID), &rec)
		w.setKey(credentialKey(r.ID.HomePartition(), k.Hash), keyedValue(r.ID[:], k.ID))
		if k.Kind == account.KindInboxKey {
			w.setKey(inboxKeyKey(r.ID, k.Inbox), keyedValue(nil, k.ID))
		}
	}
}

func (w *batchWriter) writeSessions(r *account.Rows) {
	for _, ses := range r.PutSessions {
		w.putHash(r.ID, partSession, ses.Hash, &sessionRecord{stampOf(ses.CreatedAt), stampOf(ses.ExpiresAt), stampOf(ses.ClockSeen)})
	}
	for _, ses := range r.DropSessions {
		w.dropHash(r.ID, partSession, ses.Hash)
	}
}

func (w *batchWriter) writeResets(r *account.Rows) {
	for _, reset := range r.PutResets {
		w.putHash(r.ID, partReset, reset.Hash, &resetRecord{stampOf(reset.ExpiresAt), stampOf(reset.ClockSeen), reset.VerifiesEmail})
	}
	for _, reset := range r.DropResets {
		w.dropHash(r.ID, partReset, reset.Hash)
	}
}

// putHash writes a row of the account that is also found by its hash.
func (w *batchWriter) putHash(id account.ID, part byte, h account.TokenHash, rec any) {
	w.putRecord(hashKey(id, part, h), rec)
	w.setKey(credentialKey(id.HomePartition(), h), accountValue(id))
}

func (w *batchWriter) dropHash(id account.ID, part byte, h account.TokenHash) {
	w.deleteKey(hashKey(id, part, h))
	w.deleteKey(credentialKey(id.HomePartition(), h))
}

// FindCredential finds the account whose token has this hash, in the partition that the token names,
// and the key's id. The id is 0 for a token that is not a key.
func (t *credentialTable) FindCredential(p partition.ID, h account.TokenHash) (id account.ID, key int64, found bool, err error) {
	found, err = t.readRow(credentialKey(p, h), func(value []byte) error {
		if len(value) == 1+idLen+8 {
			key = readNumber(value)
			value = value[:1+idLen]
		}
		id, err = readAccount(value)
		return err
	})
	return id, key, found && err == nil, err
}

func linkKey(p partition.ID, h account.TokenHash) []byte {
	return append(appendPrefix(nil, kindLink, p), h[:]...)
}

// writeLinks writes and removes the rows that find an inbox by its calendar link. They lie in the
// inbox's partition.
func (w *batchWriter) writeLinks(r *inbox.Rows) {
	for _, l := range r.LinkRows {
		key := linkKey(partition.Of(r.Address), l.TokenHash)
		if l.IsRemoved {
			w.deleteKey(key)
		} else {
			w.setKey(key, append([]byte{recordVersion}, r.Address...))
		}
	}
}

// FindLinked finds the inbox whose calendar the token with this hash opens, in the partition that the
// token names; empty if not found.
func (t *credentialTable) FindLinked(p partition.ID, h account.TokenHash) (address string, err error) {
	_, err = t.readRow(linkKey(p, h), func(value []byte) error {
		address = string(value[1:])
		return checkVersion(value)
	})
	if err != nil {
		return "", fmt.Errorf("persist: a link to a calendar: %w", err)
	}
	return address, nil
}

// CalendarShared reports whether the calendar of the inbox at an address has a link: one point
// look-up.
func (t *credentialTable) CalendarShared(address string) (bool, error) {
	var r calendarRecord
	_, err := t.getRecord(calendarKey(nil, address, partCalendar), &r)
	return r.Feed != nil, err
}

// FindKey reads one key of an account; nil if it does not exist.
func (t *credentialTable) FindKey(id account.ID, key int64) (*account.APIKey, error) {
	var r keyRecord
	found, err := t.getRecord(keyKey(id, key), &r)
	if err != nil {
		return nil, fmt.Errorf("persist: key %d of account %s: %w", key, id, err)
	}
	if !found {
		return nil, nil
	}
	return r.toKey(key), nil
}

// KeyOfInbox returns the id of the key of an account's inbox, 0 if it has none.
func (t *credentialTable) KeyOfInbox(id account.ID, address string) (key int64, err error) {
	_, err = t.readRow(inboxKeyKey(id, address), func(value []byte) error {
		if err := checkVersion(value); err != nil || len(value) != 1+8 {
			return fmt.Errorf("persist: damaged look-up of the key of %s: %v", address, err)
		}
		key = readNumber(value)
		return nil
	})
	return key, err
}

// ListKeys returns up to limit keys of an account after the id after, in ascending order.
func (t *credentialTable) ListKeys(id account.ID, after int64, limit int) ([]account.APIKey, error) {
	keys := prefixRange(appendPart(nil, id, partKey))
	keys.from = keyKey(id, after+1)
	out, err := listRows(t.storageEngine, keys, limit, func(row, value []byte) (account.APIKey, error) {
		var r keyRecord
		if len(row) != len(keys.from) {
			return account.APIKey{}, fmt.Errorf("unknown row %x", row)
		}
		err := decodeRecord(value, &r)
		return *r.toKey(readNumber(row)), err
	})
	if err != nil {
		return nil, fmt.Errorf("persist: keys of account %s: %w", id, err)
	}
	return out, nil
}

func (c *folderChecker) checkKey(id account.ID, n int64, value []byte) error {
	var r keyRecord
	if err := decodeRecord(value, &r); err != nil {
		return err
	}
	c.requireRows(fmt.Sprintf("key %d of account %s cannot be found by its hash", n, id), credentialKey(id.HomePartition(), r.TokenHash))
	return nil
}

// tokenOf is key for sessions and resets.
func (c *folderChecker) tokenOf(id account.ID, rest []byte) {
	if (rest[0] == partSession || rest[0] == partReset) && len(rest) == 1+len(account.TokenHash{}) {
		c.requireRows(fmt.Sprintf("a session of account %s cannot be found by its hash", id), credentialKey(id.HomePartition(), account.TokenHash(rest[1:])))
	}
}

func (c *folderChecker) checkCredential(value []byte) error {
	n := 1 + idLen
	if len(value) != n && len(value) != n+8 {
		return errors.New("its value is invalid")
	}
	id, err := readAccount(value[:n])
	if err == nil && len(value) > n {
		c.requireRows(fmt.Sprintf("the hash of a key of account %s is stored, but the key is not", id), keyKey(id, readNumber(value)))
	}
	return err
}
