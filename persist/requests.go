package persist

import (
	"bytes"
	"fmt"
	"time"

	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
	"inboxd/internal/core/idempotency"
)

// requestTable stores the idempotency records: requests that run only once, and their responses.
type requestTable struct{ *storageEngine }

// Owners of request records, the first byte after the partition. On disk: append only.
const (
	requestOfAccount byte = 1 // account id
	requestOfInbox   byte = 2 // address, 0x00
)

// requestName and requestDigest are stored as byte strings.
type (
	requestName   [32]byte
	requestDigest [32]byte
)

// requestRecord is the stored form of a request. Integer keys: append only; never reuse.
type requestRecord struct {
	RequestDigest requestDigest `cbor:"1,keyasint"`
	InboxAddress  string        `cbor:"2,keyasint,omitempty"`
	ResponseBody  []byte        `cbor:"3,keyasint,omitempty"`
	OwnerID       *account.ID   `cbor:"4,keyasint,omitempty"`
}

func (r *requestRecord) copyFrom(v *idempotency.Record) {
	*r = requestRecord{RequestDigest: requestDigest(v.Digest), InboxAddress: v.Address, ResponseBody: v.EncodedResponse}
	if owner := account.ID(v.Owner); owner != (account.ID{}) {
		r.OwnerID = &owner
	}
}

// accountRequests begins the keys of an account's records: [kind][partition][1][id].
func accountRequests(id account.ID) []byte {
	return append(append(appendPrefix(nil, kindRequest, id.HomePartition()), requestOfAccount), id[:]...)
}

// inboxRequests begins the keys of an inbox's records: [kind][partition][2][address 0x00].
func inboxRequests(address string) []byte {
	return append(append(append(appendPrefix(nil, kindRequest, partition.Of(address)), requestOfInbox), address...), 0)
}

// requestKey ends the key of a record: [name 32][time 8]. The time is in the key so that the
// removal of old records can never remove one that was written meanwhile.
func requestKey(owner []byte, key idempotency.RequestKey, at time.Time) []byte {
	return appendTime(append(owner[:len(owner):len(owner)], key[:]...), at)
}

// writeRequests writes the changes of an owner's records, drops before puts.
func (w *batchWriter) writeRequests(owner []byte, rs *idempotency.BatchRecords) {
	for i := range rs.DropRecords {
		w.deleteKey(requestKey(owner, rs.DropRecords[i].Key, rs.DropRecords[i].At))
	}
	for i := range rs.PutRecords {
		r := &rs.PutRecords[i]
		var record requestRecord
		record.copyFrom(r)
		w.putRecord(requestKey(owner, r.Key, r.At), &record)
	}
}

// AccountOnce returns the newest record of a request to an account, or nil if none exists.
func (t *requestTable) AccountOnce(id account.ID, key idempotency.RequestKey) (*idempotency.Record, error) {
	return t.findRequest(accountRequests(id), key)
}

// InboxOnce returns the newest record of a request to an inbox, or nil if none exists.
func (t *requestTable) InboxOnce(address string, key idempotency.RequestKey) (*idempotency.Record, error) {
	return t.findRequest(inboxRequests(address), key)
}

func (t *requestTable) findRequest(owner []byte, key idempotency.RequestKey) (found *idempotency.Record, err error) {
	err = t.scanRows(prefixRange(append(owner, key[:]...)), func(row, value []byte) error {
		var r requestRecord
		if err := decodeRecord(value, &r); err != nil {
			return fmt.Errorf("persist: record of a request %x: %w", row, err)
		}
		found = r.toRecord(key, readTime(row[len(row)-8:]))
		return nil
	})
	return found, err
}

func (r *requestRecord) toRecord(key idempotency.RequestKey, at time.Time) *idempotency.Record {
	record := &idempotency.Record{
		Request: idempotency.Request{Key: key, Digest: idempotency.BodyDigest(r.RequestDigest)}, At: at,
		FirstResult: idempotency.FirstResult{Address: r.InboxAddress, EncodedResponse: r.ResponseBody},
	}
	if r.OwnerID != nil {
		record.Owner = *r.OwnerID
	}
	return record
}

// ForgetOnce examines up to limit records after the key after (nil: from the first). It removes those
// written before the time before, and calls stays, if not nil, for the others. It returns the key to
// continue from, or nil at the end. The removal is not synced: if a crash undoes it, a later call
// removes the record again.
func (t *requestTable) ForgetOnce(before time.Time, after []byte, limit int, stays func(*idempotency.Record)) (next []byte, err error) {
	keys := ofKind(kindRequest)
	if after != nil {
		keys = keys.afterKey(after)
	}
	var old [][]byte
	looked := 0
	err = t.scanRows(keys, func(row, value []byte) error {
		if looked++; looked == limit {
			next = bytes.Clone(row)
		}
		if looked > limit {
			return errStop
		}
		at := readTime(row[len(row)-8:])
		if at.Before(before) {
			old = append(old, bytes.Clone(row))
			return nil
		}
		var r requestRecord
		if stays != nil && decodeRecord(value, &r) == nil { // a damaged record is reported when its request is repeated
			stays(r.toRecord(idempotency.RequestKey{}, at))
		}
		return nil
	})
	if err != nil || len(old) == 0 {
		return next, err
	}
	return next, updateEachLater(t.storageEngine, old, partitionOfKey, func(w *batchWriter, row *[]byte) { w.deleteKey(*row) })
}

// requestBytes is the approximate number of bytes that records add to a batch.
func requestBytes(rs *idempotency.BatchRecords) (n int64) {
	for i := range rs.PutRecords {
		n += rs.PutRecords[i].Size()
	}
	return n
}
