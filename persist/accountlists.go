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
	At             unixMillis   `cbor:"1,keyasint,omitempty"`
	Label          string       `cbor:"2,keyasint,omitempty"`
	RetentionHours int          `cbor:"3,keyasint,omitempty"`
	RequestName    *requestName `cbor:"4,keyasint,omitempty"`
	ClaimNumber    int64        `cbor:"5,keyasint,omitempty"`
	KeepNewest     bool         `cbor:"6,keyasint,omitempty"`
	IsEncrypted    bool         `cbor:"7,keyasint,omitempty"`
}

func (r *reservedRecord) copyFrom(v *account.InboxReservation) {
	*r = reservedRecord{At: stampOf(v.At), Label: v.Label, RetentionHours: v.RetentionHours, ClaimNumber: v.ClaimNumber, KeepNewest: v.KeepNewest, IsEncrypted: v.Encrypted}
	if v.IdempotencyKey != (idempotency.RequestKey{}) {
		r.RequestName = (*requestName)(&v.IdempotencyKey)
	}
}

func (r *reservedRecord) toReservation() account.InboxReservation {
	v := account.InboxReservation{At: r.At.toTime(), Label: r.Label, RetentionHours: r.RetentionHours, ClaimNumber: r.ClaimNumber, KeepNewest: r.KeepNewest, Encrypted: r.IsEncrypted}
	if r.RequestName != nil {
		v.IdempotencyKey = idempotency.RequestKey(*r.RequestName)
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
	return account.InboxEntry{Address: string(suffix[8:]), CreatedAt: time.UnixMilli(ms).UTC(), IsLive: true, Encrypted: len(value) > 1}
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

// writeInboxList writes the changes of the account's inboxes. A reservation has its row among the
// account's own rows; a live inbox has its row in the list.
func (w *batchWriter) writeInboxList(r *account.Rows) {
	for _, e := range r.PutInboxes {
		if e.IsLive {
			w.deleteKey(reservedKey(r.ID, e.Address))
			w.setKey(listKey(r.ID, e), listValue(e))
			continue
		}
		var rec reservedRecord
		rec.copyFrom(&e.Reservation)
		rec.At = stampOf(e.CreatedAt)
		w.putRecord(reservedKey(r.ID, e.Address), &rec)
	}
	for _, e := range r.DropInboxes {
		if e.IsLive {
			w.deleteKey(listKey(r.ID, e))
		} else {
			w.deleteKey(reservedKey(r.ID, e.Address))
		}
	}
}

// ListInboxes returns up to limit live inboxes of an account, newest first, after the entry after. The
// zero entry starts at the newest.
func (t *accountTable) ListInboxes(id account.ID, after account.InboxEntry, limit int) ([]account.InboxEntry, error) {
	keys := prefixRange(appendOwner(nil, kindList, id))
	if after.Address != "" {
		keys = keys.afterKey(listKey(id, after))
	}
	return listRows(t.storageEngine, keys, limit, func(key, value []byte) (account.InboxEntry, error) {
		return readListed(key[prefixLen+idLen:], value), nil
	})
}

// FindListing reports whether the account's list has the inbox, and whether the inbox is encrypted. It
// uses only Address and CreatedAt of e.
func (t *accountTable) FindListing(id account.ID, e account.InboxEntry) (listed, encrypted bool, err error) {
	key := listKey(id, e)
	listed, err = t.readRow(key, func(value []byte) error {
		encrypted = readListed(key[prefixLen+idLen:], value).Encrypted
		return nil
	})
	return listed, encrypted, err
}

// suppressionTable stores the addresses that accounts send no messages to, because messages to them
// bounced.
type suppressionTable struct{ *storageEngine }

// The integer keys of this record are on disk: append only; never reorder or reuse.
type suppressionRecord struct {
	InboxAddress string     `cbor:"1,keyasint,omitempty"`
	MessageID    int64      `cbor:"2,keyasint,omitempty"`
	Reason       string     `cbor:"3,keyasint,omitempty"`
	At           unixMillis `cbor:"4,keyasint,omitempty"`
}

func (r *suppressionRecord) toSuppression(email string) account.Suppression {
	return account.Suppression{Email: email, Inbox: r.InboxAddress, Message: r.MessageID, Reason: r.Reason, At: r.At.toTime()}
}

func suppressionKey(id account.ID, email string) []byte {
	return append(appendOwner(nil, kindSuppression, id), email...)
}

// PutSuppression records that the account sends no messages to an address. It returns once that is
// durable.
func (t *suppressionTable) PutSuppression(id account.ID, sup account.Suppression) error {
	return t.commitUpdate(id.HomePartition(), 0, func(w *batchWriter) {
		w.putRecord(suppressionKey(id, sup.Email), &suppressionRecord{sup.Inbox, sup.Message, sup.Reason, stampOf(sup.At)})
	})
}

// DropSuppression allows messages to an address again; false if the address was not suppressed.
func (t *suppressionTable) DropSuppression(id account.ID, email string) (bool, error) {
	if found, err := t.hasKey(suppressionKey(id, email)); err != nil || !found {
		return false, err
	}
	return true, t.commitUpdate(id.HomePartition(), 0, func(w *batchWriter) { w.deleteKey(suppressionKey(id, email)) })
}

// FindSuppression looks up one address.
func (t *suppressionTable) FindSuppression(id account.ID, email string) (account.Suppression, bool, error) {
	var r suppressionRecord
	found, err := t.getRecord(suppressionKey(id, email), &r)
	if err != nil {
		return account.Suppression{}, false, fmt.Errorf("persist: suppression of account %s: %w", id, err)
	}
	return r.toSuppression(email), found, nil
}

// Suppressions returns up to limit of the account's suppressed addresses that follow after, in byte
// order.
func (t *suppressionTable) Suppressions(id account.ID, after string, limit int) ([]account.Suppression, error) {
	prefix := appendOwner(nil, kindSuppression, id)
	keys := prefixRange(prefix)
	if after != "" {
		keys = keys.afterKey(suppressionKey(id, after))
	}
	return listRows(t.storageEngine, keys, limit, func(key, value []byte) (account.Suppression, error) {
		var r suppressionRecord
		err := decodeRecord(value, &r)
		return r.toSuppression(string(key[len(prefix):])), err
	})
}
