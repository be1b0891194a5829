package memstore

import (
	"maps"
	"slices"
	"time"

	"inboxd/internal/account"
	"inboxd/internal/once"
)

// onceName names a record: whose it is, which request, and when it was made.
type onceName struct {
	owner string // account id, or address
	key   once.Key
	at    int64
}

func (s *Store) putOnce(owner string, rs *once.Records) {
	for _, r := range rs.Drop {
		delete(s.onceRows, onceName{owner, r.Key, r.At.UnixMilli()})
	}
	for _, r := range rs.Put {
		put(&s.onceRows, onceName{owner, r.Key, r.At.UnixMilli()}, r)
	}
}

func (s *Store) findOnce(owner string, key once.Key) (newest *once.Record, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, r := range s.onceRows {
		if name.owner == owner && name.key == key && (newest == nil || r.At.After(newest.At)) {
			newest = &r
		}
	}
	return newest, nil
}

// AccountOnce finds the newest record of a request to an account.
func (s *Store) AccountOnce(id account.ID, key once.Key) (*once.Record, error) {
	return s.findOnce(string(id[:]), key)
}

// InboxOnce finds the newest record of a request to an inbox.
func (s *Store) InboxOnce(address string, key once.Key) (*once.Record, error) {
	return s.findOnce(address, key)
}

// ForgetOnce removes all records made before, in one step.
func (s *Store) ForgetOnce(before time.Time, _ []byte, _ int) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.onceRows, func(_ onceName, r once.Record) bool { return r.At.Before(before) })
	return nil, nil
}

// OnceRecords counts the records of requests.
func (s *Store) OnceRecords() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.onceRows)
}

// Key reads one key, nil when it is not there.
func (s *Store) Key(id account.ID, key int64) (*account.Key, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if rows := s.accounts[id]; rows != nil {
		if k, ok := rows.keys[key]; ok {
			return &k, nil
		}
	}
	return nil, nil
}

// KeyOfInbox finds the key of an inbox, 0 when it holds none.
func (s *Store) KeyOfInbox(id account.ID, address string) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if rows := s.accounts[id]; rows != nil {
		for _, k := range rows.keys {
			if k.Kind == account.KindInboxKey && k.Inbox == address {
				return k.ID, nil
			}
		}
	}
	return 0, nil
}

// Keys returns keys behind after, by ascending id.
func (s *Store) Keys(id account.ID, after int64, limit int) (out []account.Key, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := s.accounts[id]
	if rows == nil {
		return nil, nil
	}
	for _, key := range slices.Sorted(maps.Keys(rows.keys)) {
		if key > after && len(out) < limit {
			out = append(out, rows.keys[key])
		}
	}
	return out, nil
}

// Closing returns accounts whose deletion has begun.
func (s *Store) Closing(limit int) (out []account.ID, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, rows := range s.accounts {
		if !rows.profile.ClosingAt.IsZero() && len(out) < limit {
			out = append(out, id)
		}
	}
	return out, nil
}

// DropEmail frees a sign-in address.
func (s *Store) DropEmail(email string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.owners, email)
	return nil
}
