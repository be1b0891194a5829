package persist

import (
	"fmt"
	"time"

	"inboxd/internal/account"
	"inboxd/internal/once"
	"inboxd/internal/partition"
)

// Owners of records of requests, first byte behind the partition. Stored: append only.
const (
	onceOfAccount byte = 1 // account id
	onceOfInbox   byte = 2 // address, 0x00
)

// onceKey and onceDigest are kept as byte strings.
type (
	onceKey    [32]byte
	onceDigest [32]byte
)

// onceRecord is what is kept of a request. Integer keys: append only; never reuse.
type onceRecord struct {
	Digest  onceDigest `cbor:"1,keyasint"`
	Address string     `cbor:"2,keyasint,omitempty"`
	Told    []byte     `cbor:"3,keyasint,omitempty"`
}

// accountOnce begins the keys of an account's records: [kind][partition][1][id].
func accountOnce(id account.ID) []byte {
	return append(append(appendPrefix(nil, kindOnce, id.Partition()), onceOfAccount), id[:]...)
}

// inboxOnce begins the keys of an inbox's records: [kind][partition][2][address 0x00].
func inboxOnce(address string) []byte {
	return append(append(append(appendPrefix(nil, kindOnce, partition.Of(address)), onceOfInbox), address...), 0)
}

// appendOnce ends the key of a record: [name 32][time 8]. The time is in it so that whoever
// removes old records can never remove one that was made meanwhile.
func appendOnce(owner []byte, key once.Key, at time.Time) []byte {
	return appendTime(append(owner, key[:]...), at)
}

// once writes the changes of an owner's records, drops before puts.
func (w *writer) once(owner []byte, rs *once.Records) {
	n := len(owner)
	for i := range rs.Drop {
		w.delete(appendOnce(owner[:n:n], rs.Drop[i].Key, rs.Drop[i].At))
	}
	for i := range rs.Put {
		r := &rs.Put[i]
		w.put(appendOnce(owner[:n:n], r.Key, r.At), &onceRecord{
			onceDigest(r.Digest), r.Address, r.Told,
		})
	}
}

// AccountOnce finds the newest record of a request to an account, nil when there is none.
func (s *Store) AccountOnce(id account.ID, key once.Key) (*once.Record, error) {
	return s.findOnce(accountOnce(id), key)
}

// InboxOnce finds the newest record of a request to an inbox, nil when there is none.
func (s *Store) InboxOnce(address string, key once.Key) (*once.Record, error) {
	return s.findOnce(inboxOnce(address), key)
}

func (s *Store) findOnce(owner []byte, key once.Key) (found *once.Record, err error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	prefix := append(owner, key[:]...)
	err = scan(s.db, prefix, end(prefix), func(row, value []byte) error {
		var r onceRecord
		if err := decode(value, &r); err != nil {
			return fmt.Errorf("persist: record of a request %x: %w", row, err)
		}
		found = r.record(key, readTime(row[len(prefix):]))
		return nil
	})
	return found, err
}

func (r *onceRecord) record(key once.Key, at time.Time) *once.Record {
	return &once.Record{
		Request: once.Request{Key: key, Digest: once.Digest(r.Digest)}, At: at,
		Result: once.Result{Address: r.Address, Told: r.Told},
	}
}

// ForgetOnce looks at up to limit records behind the place after (nil: from the first) and
// removes those made before. It returns the place to go on from, nil at the end. The removal
// is not synced: one that a crash takes back is made again.
func (s *Store) ForgetOnce(before time.Time, after []byte, limit int) (next []byte, err error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	from := []byte{byte(kindOnce)}
	if after != nil {
		from = append(after[:len(after):len(after)], 0)
	}
	w := s.newWriter()
	defer w.release()
	looked := 0
	err = scan(s.db, from, []byte{byte(kindOnce) + 1}, func(row, _ []byte) error {
		if readTime(row[len(row)-8:]).Before(before) {
			w.delete(row)
		}
		if looked++; looked == limit {
			next = append([]byte{}, row...)
			return errStop
		}
		return nil
	})
	if err != nil || w.batch.Count() == 0 {
		return next, err
	}
	return next, s.commitLater(w)
}

// onceBytes is about what records add to a batch.
func onceBytes(rs *once.Records) (n int64) {
	for i := range rs.Put {
		n += 256 + int64(len(rs.Put[i].Told))
	}
	return n
}
