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
type credentialTable struct{ *engine }

// The integer keys of these records are on disk: append only; never reorder or reuse.

type keyRecord struct {
	Hash       account.Hash  `cbor:"1,keyasint"`
	Kind       account.Kind  `cbor:"2,keyasint"`
	Label      string        `cbor:"3,keyasint,omitempty"`
	Scopes     account.Scope `cbor:"4,keyasint,omitempty"`
	Prefix     string        `cbor:"5,keyasint,omitempty"`
	Inbox      string        `cbor:"6,keyasint,omitempty"`
	CreatedAt  stamp         `cbor:"7,keyasint,omitempty"`
	ExpiresAt  stamp         `cbor:"8,keyasint,omitempty"`
	LastUsedAt stamp         `cbor:"9,keyasint,omitempty"`
	Ended      bool          `cbor:"10,keyasint,omitempty"`
	ClockSeen  stamp         `cbor:"11,keyasint,omitempty"`
}

func (r *keyRecord) from(k *account.Key) {
	*r = keyRecord{
		k.Hash, k.Kind, k.Label, k.Scopes, k.Prefix, k.Inbox,
		stampOf(k.CreatedAt), stampOf(k.ExpiresAt), stampOf(k.LastUsedAt), k.Ended, stampOf(k.ClockSeen),
	}
}

func (r *keyRecord) key(id int64) *account.Key {
	return &account.Key{
		ID: id, Hash: r.Hash, Kind: r.Kind, Label: r.Label, Scopes: r.Scopes, Prefix: r.Prefix, Inbox: r.Inbox,
		CreatedAt: r.CreatedAt.time(), ExpiresAt: r.ExpiresAt.time(), LastUsedAt: r.LastUsedAt.time(), Ended: r.Ended, ClockSeen: r.ClockSeen.time(),
	}
}

type sessionRecord struct {
	CreatedAt stamp `cbor:"1,keyasint,omitempty"`
	ExpiresAt stamp `cbor:"2,keyasint,omitempty"`
	ClockSeen stamp `cbor:"3,keyasint,omitempty"`
}

func (r *sessionRecord) session(h account.Hash) *account.Session {
	return &account.Session{Hash: h, CreatedAt: r.CreatedAt.time(), ExpiresAt: r.ExpiresAt.time(), ClockSeen: r.ClockSeen.time()}
}

type resetRecord struct {
	ExpiresAt stamp `cbor:"1,keyasint,omitempty"`
	ClockSeen stamp `cbor:"2,keyasint,omitempty"`
	Verify    bool  `cbor:"3,keyasint,omitempty"`
}

func credentialKey(p partition.ID, h account.Hash) []byte {
	return append(appendPrefix(nil, kindCredential, p), h[:]...)
}

func keyKey(id account.ID, key int64) []byte { return appendNumber(appendPart(nil, id, partKey), key) }

func inboxKeyKey(id account.ID, address string) []byte {
	return append(appendOwner(nil, kindInboxKey, id), address...)
}

func hashKey(id account.ID, part byte, h account.Hash) []byte {
	return append(appendPart(nil, id, part), h[:]...)
}

// keyed is the value of a look-up row: head, and the key's id.
func keyed(head []byte, key int64) []byte {
	return appendNumber(append([]byte{recordVersion}, head...), key)
}

func (w *writer) keys(r *account.Rows) {
	for _, k := range r.DropKeys {
		w.delete(keyKey(r.ID, k.ID))
		w.delete(credentialKey(r.ID.Partition(), k.Hash))
		if k.Kind == account.KindInboxKey {
			w.delete(inboxKeyKey(r.ID, k.Inbox))
		}
	}
	for _, k := range r.PutKeys {
		var rec keyRecord
		rec.from(k)
		w.put(keyKey(r.ID, k.ID), &rec)
		w.set(credentialKey(r.ID.Partition(), k.Hash), keyed(r.ID[:], k.ID))
		if k.Kind == account.KindInboxKey {
			w.set(inboxKeyKey(r.ID, k.Inbox), keyed(nil, k.ID))
		}
	}
}

func (w *writer) sessions(r *account.Rows) {
	for _, ses := range r.PutSessions {
		w.putHash(r.ID, partSession, ses.Hash, &sessionRecord{stampOf(ses.CreatedAt), stampOf(ses.ExpiresAt), stampOf(ses.ClockSeen)})
	}
	for _, ses := range r.DropSessions {
		w.dropHash(r.ID, partSession, ses.Hash)
	}
}

func (w *writer) resets(r *account.Rows) {
	for _, reset := range r.PutResets {
		w.putHash(r.ID, partReset, reset.Hash, &resetRecord{stampOf(reset.ExpiresAt), stampOf(reset.ClockSeen), reset.Verify})
	}
	for _, reset := range r.DropResets {
		w.dropHash(r.ID, partReset, reset.Hash)
	}
}

// putHash writes a row of the account that is also found by its hash.
func (w *writer) putHash(id account.ID, part byte, h account.Hash, rec any) {
	w.put(hashKey(id, part, h), rec)
	w.set(credentialKey(id.Partition(), h), accountValue(id))
}

func (w *writer) dropHash(id account.ID, part byte, h account.Hash) {
	w.delete(hashKey(id, part, h))
	w.delete(credentialKey(id.Partition(), h))
}

// Credential finds the account whose token has this hash, in the partition that the token names,
// and the key's id. The id is 0 for a token that is not a key.
func (t *credentialTable) Credential(p partition.ID, h account.Hash) (id account.ID, key int64, found bool, err error) {
	found, err = t.read(credentialKey(p, h), func(value []byte) error {
		if len(value) == 1+idLen+8 {
			key = readNumber(value)
			value = value[:1+idLen]
		}
		id, err = readAccount(value)
		return err
	})
	return id, key, found && err == nil, err
}

func linkKey(p partition.ID, h account.Hash) []byte {
	return append(appendPrefix(nil, kindLink, p), h[:]...)
}

// links writes and removes the rows that find an inbox by its calendar link. They lie in the
// inbox's partition.
func (w *writer) links(r *inbox.Rows) {
	for _, l := range r.Links {
		key := linkKey(partition.Of(r.Address), l.Hash)
		if l.Gone {
			w.delete(key)
		} else {
			w.set(key, append([]byte{recordVersion}, r.Address...))
		}
	}
}

// Linked finds the inbox whose calendar the token with this hash opens, in the partition that the
// token names; empty if not found.
func (t *credentialTable) Linked(p partition.ID, h account.Hash) (address string, err error) {
	_, err = t.read(linkKey(p, h), func(value []byte) error {
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
	_, err := t.get(calendarKey(nil, address, partCalendar), &r)
	return r.Feed != nil, err
}

// Key reads one key of an account; nil if it does not exist.
func (t *credentialTable) Key(id account.ID, key int64) (*account.Key, error) {
	var r keyRecord
	found, err := t.get(keyKey(id, key), &r)
	if err != nil {
		return nil, fmt.Errorf("persist: key %d of account %s: %w", key, id, err)
	}
	if !found {
		return nil, nil
	}
	return r.key(key), nil
}

// KeyOfInbox returns the id of the key of an account's inbox, 0 if it has none.
func (t *credentialTable) KeyOfInbox(id account.ID, address string) (key int64, err error) {
	_, err = t.read(inboxKeyKey(id, address), func(value []byte) error {
		if err := checkVersion(value); err != nil || len(value) != 1+8 {
			return fmt.Errorf("persist: damaged look-up of the key of %s: %v", address, err)
		}
		key = readNumber(value)
		return nil
	})
	return key, err
}

// Keys returns up to limit keys of an account after the id after, in ascending order.
func (t *credentialTable) Keys(id account.ID, after int64, limit int) ([]account.Key, error) {
	keys := under(appendPart(nil, id, partKey))
	keys.from = keyKey(id, after+1)
	out, err := list(t.engine, keys, limit, func(row, value []byte) (account.Key, error) {
		var r keyRecord
		if len(row) != len(keys.from) {
			return account.Key{}, fmt.Errorf("unknown row %x", row)
		}
		err := decode(value, &r)
		return *r.key(readNumber(row)), err
	})
	if err != nil {
		return nil, fmt.Errorf("persist: keys of account %s: %w", id, err)
	}
	return out, nil
}

func (c *checker) key(id account.ID, n int64, value []byte) error {
	var r keyRecord
	if err := decode(value, &r); err != nil {
		return err
	}
	c.needs(fmt.Sprintf("key %d of account %s cannot be found by its hash", n, id), credentialKey(id.Partition(), r.Hash))
	return nil
}

// tokenOf is key for sessions and resets.
func (c *checker) tokenOf(id account.ID, rest []byte) {
	if (rest[0] == partSession || rest[0] == partReset) && len(rest) == 1+len(account.Hash{}) {
		c.needs(fmt.Sprintf("a session of account %s cannot be found by its hash", id), credentialKey(id.Partition(), account.Hash(rest[1:])))
	}
}

func (c *checker) credential(value []byte) error {
	n := 1 + idLen
	if len(value) != n && len(value) != n+8 {
		return errors.New("its value is invalid")
	}
	id, err := readAccount(value[:n])
	if err == nil && len(value) > n {
		c.needs(fmt.Sprintf("the hash of a key of account %s is stored, but the key is not", id), keyKey(id, readNumber(value)))
	}
	return err
}
