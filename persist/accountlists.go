package persist

import (
	"encoding/binary"
	"fmt"
	"time"

	"inboxd/internal/core/account"
	"inboxd/internal/core/idempotency"
)

// The integer keys of this record are on disk: append only; never reorder or reuse.

type reservedRecord struct {
	At             stamp        `cbor:"1,keyasint,omitempty"`
	Label          string       `cbor:"2,keyasint,omitempty"`
	RetentionHours int          `cbor:"3,keyasint,omitempty"`
	Once           *requestName `cbor:"4,keyasint,omitempty"`
	Claim          int64        `cbor:"5,keyasint,omitempty"`
	KeepNewest     bool         `cbor:"6,keyasint,omitempty"`
	Encrypted      bool         `cbor:"7,keyasint,omitempty"`
}

func (r *reservedRecord) from(v *account.Reservation) {
	*r = reservedRecord{At: stampOf(v.At), Label: v.Label, RetentionHours: v.RetentionHours, Claim: v.Claim, KeepNewest: v.KeepNewest, Encrypted: v.Encrypted}
	if v.Once != (idempotency.Key{}) {
		r.Once = (*requestName)(&v.Once)
	}
}

func (r *reservedRecord) reservation() account.Reservation {
	v := account.Reservation{At: r.At.time(), Label: r.Label, RetentionHours: r.RetentionHours, Claim: r.Claim, KeepNewest: r.KeepNewest, Encrypted: r.Encrypted}
	if r.Once != nil {
		v.Once = idempotency.Key(*r.Once)
	}
	return v
}

// listKey is the key of an entry of an account's list: [kind][partition][id][^time][address]. The
// inverted time makes a forward scan start at the newest.
func listKey(id account.ID, e account.InboxEntry) []byte {
	key := appendOwner(nil, kindList, id)
	key = binary.BigEndian.AppendUint64(key, ^(uint64(e.CreatedAt.UnixMilli()) ^ 1<<63))
	return append(key, e.Address...)
}

func readListed(suffix, value []byte) account.InboxEntry {
	ms := int64(^binary.BigEndian.Uint64(suffix) ^ 1<<63)
	return account.InboxEntry{Address: string(suffix[8:]), CreatedAt: time.UnixMilli(ms).UTC(), Live: true, Encrypted: len(value) > 1}
}

// listedEncrypted is the row value of an encrypted inbox; other inboxes have only its first byte.
var listedEncrypted = []byte{recordVersion, 1}

func listValue(e account.InboxEntry) []byte {
	if e.Encrypted {
		return listedEncrypted
	}
	return listedEncrypted[:1]
}

func reservedKey(id account.ID, address string) []byte {
	return append(appendPart(nil, id, partReserved), address...)
}

// list writes the changes of the account's inboxes. A reservation has its row among the account's
// own rows; a live inbox has its row in the list.
func (w *writer) list(r *account.Rows) {
	for _, e := range r.PutInboxes {
		if e.Live {
			w.delete(reservedKey(r.ID, e.Address))
			w.set(listKey(r.ID, e), listValue(e))
			continue
		}
		var rec reservedRecord
		rec.from(&e.Reservation)
		rec.At = stampOf(e.CreatedAt)
		w.put(reservedKey(r.ID, e.Address), &rec)
	}
	for _, e := range r.DropInboxes {
		if e.Live {
			w.delete(listKey(r.ID, e))
		} else {
			w.delete(reservedKey(r.ID, e.Address))
		}
	}
}

// Inboxes returns up to limit live inboxes of an account, newest first, after the entry after. The
// zero entry starts at the newest.
func (t *accountTable) Inboxes(id account.ID, after account.InboxEntry, limit int) ([]account.InboxEntry, error) {
	keys := under(appendOwner(nil, kindList, id))
	if after.Address != "" {
		keys = keys.behind(listKey(id, after))
	}
	return list(t.engine, keys, limit, func(key, value []byte) (account.InboxEntry, error) {
		return readListed(key[prefixLen+idLen:], value), nil
	})
}

// Listed reports whether the account's list has the inbox, and whether the inbox is encrypted. It
// uses only Address and CreatedAt of e.
func (t *accountTable) Listed(id account.ID, e account.InboxEntry) (listed, encrypted bool, err error) {
	key := listKey(id, e)
	listed, err = t.read(key, func(value []byte) error {
		encrypted = readListed(key[prefixLen+idLen:], value).Encrypted
		return nil
	})
	return listed, encrypted, err
}

// suppressionTable stores the addresses that accounts send no messages to, because messages to them
// bounced.
type suppressionTable struct{ *engine }

// The integer keys of this record are on disk: append only; never reorder or reuse.
type suppressionRecord struct {
	Inbox   string `cbor:"1,keyasint,omitempty"`
	Message int64  `cbor:"2,keyasint,omitempty"`
	Reason  string `cbor:"3,keyasint,omitempty"`
	At      stamp  `cbor:"4,keyasint,omitempty"`
}

func (r *suppressionRecord) suppression(email string) account.Suppression {
	return account.Suppression{Email: email, Inbox: r.Inbox, Message: r.Message, Reason: r.Reason, At: r.At.time()}
}

func suppressionKey(id account.ID, email string) []byte {
	return append(appendOwner(nil, kindSuppression, id), email...)
}

// PutSuppression records that the account sends no messages to an address. It returns once that is
// durable.
func (t *suppressionTable) PutSuppression(id account.ID, sup account.Suppression) error {
	return t.update(id.Partition(), 0, func(w *writer) {
		w.put(suppressionKey(id, sup.Email), &suppressionRecord{sup.Inbox, sup.Message, sup.Reason, stampOf(sup.At)})
	})
}

// DropSuppression allows messages to an address again; false if the address was not suppressed.
func (t *suppressionTable) DropSuppression(id account.ID, email string) (bool, error) {
	if found, err := t.has(suppressionKey(id, email)); err != nil || !found {
		return false, err
	}
	return true, t.update(id.Partition(), 0, func(w *writer) { w.delete(suppressionKey(id, email)) })
}

// Suppression looks up one address.
func (t *suppressionTable) Suppression(id account.ID, email string) (account.Suppression, bool, error) {
	var r suppressionRecord
	found, err := t.get(suppressionKey(id, email), &r)
	if err != nil {
		return account.Suppression{}, false, fmt.Errorf("persist: suppression of account %s: %w", id, err)
	}
	return r.suppression(email), found, nil
}

// Suppressions returns up to limit of the account's suppressed addresses that follow after, in byte
// order.
func (t *suppressionTable) Suppressions(id account.ID, after string, limit int) ([]account.Suppression, error) {
	prefix := appendOwner(nil, kindSuppression, id)
	keys := under(prefix)
	if after != "" {
		keys = keys.behind(suppressionKey(id, after))
	}
	return list(t.engine, keys, limit, func(key, value []byte) (account.Suppression, error) {
		var r suppressionRecord
		err := decode(value, &r)
		return r.suppression(string(key[len(prefix):])), err
	})
}
