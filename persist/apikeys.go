package persist

import (
	"encoding/binary"
	"fmt"

	"inboxd/internal/account"
	"inboxd/internal/partition"
)

// An account's keys are rows that are read when somebody asks: by id, by the hash of the
// token, by the inbox they belong to, or some at a time. The look-up rows by hash and by
// inbox are written and removed in the batch of the key.

func keyKey(id account.ID, key int64) []byte {
	return binary.BigEndian.AppendUint64(appendPart(nil, id, partKey), uint64(key))
}

func inboxKeyKey(id account.ID, address string) []byte {
	return append(appendOwner(nil, kindInboxKey, id), address...)
}

// keyed is the value of a look-up row: what precedes it, and the key's id.
func keyed(head []byte, key int64) []byte {
	return binary.BigEndian.AppendUint64(append([]byte{recordVersion}, head...), uint64(key))
}

func (w *writer) putKey(id account.ID, k *account.Key) {
	var rec keyRecord
	rec.from(k)
	w.put(keyKey(id, k.ID), &rec)
	w.set(appendCredential(nil, id.Partition(), k.Hash), keyed(id[:], k.ID))
	if k.Kind == account.KindInboxKey {
		w.set(inboxKeyKey(id, k.Inbox), keyed(nil, k.ID))
	}
}

func (w *writer) dropKey(id account.ID, k *account.Key) {
	w.delete(keyKey(id, k.ID))
	w.delete(appendCredential(nil, id.Partition(), k.Hash))
	if k.Kind == account.KindInboxKey {
		w.delete(inboxKeyKey(id, k.Inbox))
	}
}

// Credential finds whose token has this hash, in the partition the token names, and which
// key it is; key is 0 for a token that is none.
func (s *Store) Credential(p partition.ID, h account.Hash) (id account.ID, key int64, found bool, err error) {
	if err := s.enter(); err != nil {
		return id, 0, false, err
	}
	defer s.leave()
	row := appendCredential(nil, p, h)
	value, done, err := s.lookup(row)
	if value == nil || err != nil {
		return id, 0, false, err
	}
	defer done()
	if err := checkVersion(value); err != nil || len(value) != 1+idLen && len(value) != 1+idLen+8 {
		return id, 0, false, fmt.Errorf("persist: damaged row %x: %v", row, err)
	}
	if len(value) > 1+idLen {
		key = int64(binary.BigEndian.Uint64(value[1+idLen:]))
	}
	return account.ID(value[1:]), key, true, nil
}

// Key reads one key of an account, nil when it is not there.
func (s *Store) Key(id account.ID, key int64) (*account.Key, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	var r keyRecord
	found, err := s.get(keyKey(id, key), &r)
	if err != nil {
		return nil, fmt.Errorf("persist: key %d of account %s: %w", key, id, err)
	}
	if !found {
		return nil, nil
	}
	return r.key(key), nil
}

// KeyOfInbox finds the id of the key that an inbox of the account holds, 0 when there is none.
func (s *Store) KeyOfInbox(id account.ID, address string) (int64, error) {
	if err := s.enter(); err != nil {
		return 0, err
	}
	defer s.leave()
	row := inboxKeyKey(id, address)
	value, done, err := s.lookup(row)
	if value == nil || err != nil {
		return 0, err
	}
	defer done()
	if err := checkVersion(value); err != nil || len(value) != 1+8 {
		return 0, fmt.Errorf("persist: damaged row %x: %v", row, err)
	}
	return int64(binary.BigEndian.Uint64(value[1:])), nil
}

// Keys returns up to limit keys of an account behind the key after, by ascending id.
func (s *Store) Keys(id account.ID, after int64, limit int) ([]account.Key, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	var out []account.Key
	prefix := appendPart(nil, id, partKey)
	err := scan(s.db, keyKey(id, after+1), end(prefix), func(row, value []byte) error {
		if len(out) == limit {
			return errStop
		}
		var r keyRecord
		if len(row) != len(prefix)+8 {
			return fmt.Errorf("unknown row %x", row)
		}
		if err := decode(value, &r); err != nil {
			return err
		}
		out = append(out, *r.key(int64(binary.BigEndian.Uint64(row[len(prefix):]))))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("persist: keys of account %s: %w", id, err)
	}
	return out, nil
}
