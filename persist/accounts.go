package persist

import (
	"encoding/binary"
	"fmt"

	"inboxd/internal/account"
	"inboxd/internal/partition"
)

// LoadAccount reads an account in one range scan: profile, keys, sessions and reserved
// inboxes. Live inboxes are not loaded, they may be a million. An id that never existed
// gives an empty State.
func (s *Store) LoadAccount(id account.ID) (*account.State, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	st := account.NewState()
	prefix := appendOwner(nil, kindAccount, id)
	err := scan(s.db, prefix, end(prefix), func(key, value []byte) error {
		return loadAccountRow(st, id, key[len(prefix):], value)
	})
	if err != nil {
		return nil, fmt.Errorf("persist: loading account %s: %w", id, err)
	}
	return st, nil
}

func loadAccountRow(st *account.State, id account.ID, suffix, value []byte) error {
	switch {
	case len(suffix) == 0:
		var r accountRecord
		err := decode(value, &r)
		st.Profile = r.profile(id)
		return err
	case suffix[0] == partKey && len(suffix) == 9:
		var r keyRecord
		err := decode(value, &r)
		k := r.key(int64(binary.BigEndian.Uint64(suffix[1:])))
		st.Keys[k.ID] = k
		return err
	case suffix[0] == partSession && len(suffix) == 1+len(account.Hash{}):
		var r sessionRecord
		err := decode(value, &r)
		h := account.Hash(suffix[1:])
		st.Sessions[h] = &account.Session{Hash: h, CreatedAt: r.CreatedAt.time(), ExpiresAt: r.ExpiresAt.time()}
		return err
	case suffix[0] == partReserved:
		var r reservedRecord
		err := decode(value, &r)
		st.Reserved[string(suffix[1:])] = r.At.time()
		return err
	}
	return loadUsage(st, suffix, value)
}

// CommitAccount writes the rows as one atomic batch and returns once it is on disk. The
// look-up rows of credentials go with the keys and sessions they belong to; what is both
// put and dropped is gone. Errors are faults, as for CommitInbox.
func (s *Store) CommitAccount(r *account.Rows) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	if accountAdds(r) && !r.OnlyCounts() {
		if err := s.gate.admit(1024); err != nil {
			return err
		}
	}
	w := s.newWriter()
	defer w.release()
	if r.Profile != nil {
		var rec accountRecord
		rec.from(r.Profile)
		w.key = appendOwner(w.key[:0], kindAccount, r.ID)
		w.put(w.key, &rec)
	}
	for _, k := range r.PutKeys {
		w.putKey(r.ID, k)
	}
	for _, k := range r.DropKeys {
		w.delete(keyKey(r.ID, k.ID))
		w.delete(appendCredential(nil, r.ID.Partition(), k.Hash))
	}
	for _, ses := range r.PutSessions {
		w.putSession(r.ID, ses)
	}
	for _, ses := range r.DropSessions {
		w.delete(append(appendPart(nil, r.ID, partSession), ses.Hash[:]...))
		w.delete(appendCredential(nil, r.ID.Partition(), ses.Hash))
	}
	w.list(r)
	w.putUsage(r)
	if r.OnlyCounts() {
		return s.commitLater(w)
	}
	return s.commit(r.ID.Partition(), w)
}

// accountAdds tells rows that begin something from those that end it. Confirming a
// reserved inbox ends something: it only moves the reservation's row.
func accountAdds(r *account.Rows) bool {
	for _, e := range r.PutInboxes {
		if !e.Live {
			return true
		}
	}
	ends := len(r.DropKeys) + len(r.DropSessions) + len(r.DropInboxes) + len(r.PutInboxes)
	return len(r.PutKeys)+len(r.PutSessions) > 0 || ends == 0
}

func keyKey(id account.ID, key int64) []byte {
	return binary.BigEndian.AppendUint64(appendPart(nil, id, partKey), uint64(key))
}

func (w *writer) putKey(id account.ID, k *account.Key) {
	var rec keyRecord
	rec.from(k)
	w.put(keyKey(id, k.ID), &rec)
	w.credential(id, k.Hash)
}

func (w *writer) putSession(id account.ID, ses *account.Session) {
	w.put(append(appendPart(nil, id, partSession), ses.Hash[:]...),
		&sessionRecord{stampOf(ses.CreatedAt), stampOf(ses.ExpiresAt)})
	w.credential(id, ses.Hash)
}

func (w *writer) credential(id account.ID, h account.Hash) {
	w.set(appendCredential(nil, id.Partition(), h), append([]byte{recordVersion}, id[:]...))
}

// list writes the changes of the account's inboxes: a reservation has its row among the
// account's own, a live inbox has it in the list.
func (w *writer) list(r *account.Rows) {
	for _, e := range r.PutInboxes {
		reserved := append(appendPart(nil, r.ID, partReserved), e.Address...)
		if e.Live {
			w.delete(reserved)
			w.set(appendListed(nil, r.ID, e), []byte{recordVersion})
		} else {
			w.put(reserved, &reservedRecord{stampOf(e.CreatedAt)})
		}
	}
	for _, e := range r.DropInboxes {
		if e.Live {
			w.delete(appendListed(nil, r.ID, e))
		} else {
			w.delete(append(appendPart(nil, r.ID, partReserved), e.Address...))
		}
	}
}

// Credential finds whose token has this hash, in the partition the token names.
func (s *Store) Credential(p partition.ID, h account.Hash) (account.ID, bool, error) {
	return s.owner(appendCredential(nil, p, h))
}

// AccountByEmail finds the account of a canonical e-mail address.
func (s *Store) AccountByEmail(email string) (account.ID, bool, error) {
	return s.owner(appendText(nil, kindEmail, email))
}

// owner reads a row whose value is an account id.
func (s *Store) owner(key []byte) (id account.ID, found bool, err error) {
	if err := s.enter(); err != nil {
		return id, false, err
	}
	defer s.leave()
	value, done, err := s.lookup(key)
	if value == nil || err != nil {
		return id, false, err
	}
	defer done()
	if err := checkVersion(value); err != nil || len(value) != 1+idLen {
		return id, false, fmt.Errorf("persist: damaged row %x: %v", key, err)
	}
	return account.ID(value[1:]), true, nil
}

// PutEmail gives an e-mail address to an account and returns once that is on disk.
func (s *Store) PutEmail(email string, id account.ID) error {
	return s.putOwner(partition.Of(email), appendText(nil, kindEmail, email), id)
}

// SubdomainOwner finds the account that a subdomain of the service belongs to.
func (s *Store) SubdomainOwner(label string) (account.ID, bool, error) {
	return s.owner(appendText(nil, kindSubdomain, label))
}

// PutSubdomain gives a subdomain to an account and returns once that is on disk.
func (s *Store) PutSubdomain(label string, id account.ID) error {
	return s.putOwner(partition.Of(label), appendText(nil, kindSubdomain, label), id)
}

func (s *Store) putOwner(p partition.ID, key []byte, id account.ID) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	if err := s.gate.admit(512); err != nil {
		return err
	}
	w := s.newWriter()
	defer w.release()
	w.set(key, append([]byte{recordVersion}, id[:]...))
	return s.commit(p, w)
}

// Inboxes returns up to limit live inboxes of an account, newest first, behind the entry
// after; the zero entry starts at the newest.
func (s *Store) Inboxes(id account.ID, after account.InboxEntry, limit int) ([]account.InboxEntry, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	prefix := appendOwner(nil, kindList, id)
	from := prefix
	if after.Address != "" {
		from = append(appendListed(nil, id, after), 0)
	}
	var out []account.InboxEntry
	err := scan(s.db, from, end(prefix), func(key, _ []byte) error {
		if len(out) == limit {
			return errStop
		}
		out = append(out, readListed(key[len(prefix):]))
		return nil
	})
	return out, err
}

// Listed reports whether the account's list shows the inbox. Address and CreatedAt count.
func (s *Store) Listed(id account.ID, e account.InboxEntry) (bool, error) {
	return s.has(appendListed(nil, id, e))
}

// Accounts returns up to limit accounts behind after, in the order of their partitions;
// the zero id starts.
func (s *Store) Accounts(after account.ID, limit int) ([]account.Profile, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	from := []byte{byte(kindAccount)}
	if after != (account.ID{}) {
		from = end(appendOwner(nil, kindAccount, after))
	}
	var out []account.Profile
	for len(out) < limit {
		key, value, err := s.first(from, []byte{byte(kindAccount) + 1})
		if key == nil || err != nil {
			return out, err
		}
		// Each account's first row is its profile; the next account is behind all its rows.
		if len(key) < prefixLen+idLen {
			return out, fmt.Errorf("persist: damaged key %x", key)
		}
		owner := key[:prefixLen+idLen]
		from = end(owner)
		if len(key) > len(owner) {
			continue // rows without a profile: an account that was never opened
		}
		var r accountRecord
		if err := decode(value, &r); err != nil {
			return out, fmt.Errorf("persist: account %x: %w", owner[prefixLen:], err)
		}
		out = append(out, r.profile(account.ID(owner[prefixLen:])))
	}
	return out, nil
}
