package persist

import (
	"fmt"

	"inboxd/internal/account"
)

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

// PutSuppression notes that the account sends no mail to an address, and returns once that
// is on disk.
func (s *Store) PutSuppression(id account.ID, sup account.Suppression) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	w := s.newWriter()
	defer w.release()
	w.put(suppressionKey(id, sup.Email), &suppressionRecord{sup.Inbox, sup.Message, sup.Reason, stampOf(sup.At)})
	return s.commit(id.Partition(), w)
}

// DropSuppression allows mail to an address again; false when it was allowed.
func (s *Store) DropSuppression(id account.ID, email string) (bool, error) {
	if _, found, err := s.Suppression(id, email); err != nil || !found {
		return false, err
	}
	if err := s.enter(); err != nil {
		return false, err
	}
	defer s.leave()
	w := s.newWriter()
	defer w.release()
	w.delete(suppressionKey(id, email))
	return true, s.commit(id.Partition(), w)
}

// Suppression looks one address up.
func (s *Store) Suppression(id account.ID, email string) (account.Suppression, bool, error) {
	if err := s.enter(); err != nil {
		return account.Suppression{}, false, err
	}
	defer s.leave()
	var r suppressionRecord
	found, err := s.get(suppressionKey(id, email), &r)
	if err != nil {
		return account.Suppression{}, false, fmt.Errorf("persist: suppression of account %s: %w", id, err)
	}
	return r.suppression(email), found, nil
}

// Suppressions returns up to limit of the account's suppressed addresses behind after, in
// the order of their bytes.
func (s *Store) Suppressions(id account.ID, after string, limit int) ([]account.Suppression, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	prefix := appendOwner(nil, kindSuppression, id)
	from := prefix
	if after != "" {
		from = append(suppressionKey(id, after), 0)
	}
	var out []account.Suppression
	err := scan(s.db, from, end(prefix), func(key, value []byte) error {
		if len(out) == limit {
			return errStop
		}
		var r suppressionRecord
		err := decode(value, &r)
		out = append(out, r.suppression(string(key[len(prefix):])))
		return err
	})
	return out, err
}
