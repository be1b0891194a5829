package persist

import (
	"inboxd/internal/account"
	"inboxd/internal/partition"
)

// erase removes what is left of a closed account: its own rows, its list, its journal, its
// suppressions, its records of requests, and the mark that it is closing. Its credential rows went with the
// keys, sessions and reset tokens they belong to.
func (w *writer) erase(id account.ID) {
	for _, k := range [...]kind{kindAccount, kindList, kindJournal, kindInboxKey, kindSuppression} {
		prefix := appendOwner(nil, k, id)
		w.deleteRange(prefix, end(prefix))
	}
	records := accountOnce(id)
	w.deleteRange(records, end(records))
	w.delete(appendOwner(nil, kindClosing, id))
}

// Closing returns accounts whose deletion has begun and not ended, at most limit.
func (s *Store) Closing(limit int) ([]account.ID, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	var out []account.ID
	err := scan(s.db, []byte{byte(kindClosing)}, []byte{byte(kindClosing) + 1}, func(key, _ []byte) error {
		if len(out) == limit {
			return errStop
		}
		out = append(out, account.ID(key[prefixLen:]))
		return nil
	})
	return out, err
}

// DropEmail frees an e-mail address and returns once that is on disk.
func (s *Store) DropEmail(email string) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	w := s.newWriter()
	defer w.release()
	w.delete(appendText(nil, kindEmail, email))
	return s.commit(partition.Of(email), w)
}
