package persist

import (
	"fmt"

	"inboxd/internal/account"
	"inboxd/internal/partition"
)

// LoadAccount reads an account in short range scans: its profile, what lies behind its keys
// (sessions, reserved inboxes and resets), and its webhooks. Live inboxes and keys are not
// loaded, they may be a million each. An id that never existed gives an empty State.
func (s *Store) LoadAccount(id account.ID) (*account.State, error) {
	st, err := s.loadAccount(id)
	if err != nil {
		return nil, err
	}
	hooks, err := s.Webhooks(id)
	for i := range hooks {
		st.Webhooks[hooks[i].ID] = &hooks[i]
	}
	return st, err
}

func (s *Store) loadAccount(id account.ID) (*account.State, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	st := account.NewState()
	prefix := appendOwner(nil, kindAccount, id)
	keys := appendPart(nil, id, partKey)
	row := func(key, value []byte) error { return loadAccountRow(st, id, key[len(prefix):], value) }
	err := scan(s.db, prefix, keys, row)
	if err == nil {
		err = scan(s.db, end(keys), end(prefix), row)
	}
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
	case suffix[0] == partSession && len(suffix) == 1+len(account.Hash{}):
		var r sessionRecord
		err := decode(value, &r)
		h := account.Hash(suffix[1:])
		st.Sessions[h] = &account.Session{Hash: h, CreatedAt: r.CreatedAt.time(), ExpiresAt: r.ExpiresAt.time()}
		return err
	case suffix[0] == partReserved:
		var r reservedRecord
		err := decode(value, &r)
		st.Reserved[string(suffix[1:])] = r.reservation()
		return err
	case suffix[0] == partWebhook:
		return nil // read apart
	case suffix[0] == partReset && len(suffix) == 1+len(account.Hash{}):
		var r resetRecord
		err := decode(value, &r)
		st.Resets[account.Hash(suffix[1:])] = r.ExpiresAt.time()
		return err
	}
	return loadUsage(st, suffix, value)
}

// CommitAccount writes the rows as one atomic batch and returns once it is on disk. The
// look-up rows of credentials go with the keys and sessions they belong to; what is both
// put and dropped is gone. Errors are faults, as for CommitInbox.
func (s *Store) CommitAccount(r *account.Rows) error {
	sealed, err := s.sealWebhooks(r)
	if err != nil {
		return err
	}
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	if accountAdds(r) && !r.OnlyCounts() {
		if err := s.folder.Space.Admit(1024); err != nil {
			return err
		}
	}
	w := s.newWriter()
	defer w.release()
	if r.Erase {
		w.erase(r.ID)
		return s.commit(r.ID.Partition(), w)
	}
	if r.Profile != nil {
		w.putProfile(r.ID, r.Profile)
	}
	for _, k := range r.DropKeys {
		w.dropKey(r.ID, k)
	}
	for _, k := range r.PutKeys {
		w.putKey(r.ID, k)
	}
	for _, ses := range r.PutSessions {
		w.putSession(r.ID, ses)
	}
	for _, ses := range r.DropSessions {
		w.delete(append(appendPart(nil, r.ID, partSession), ses.Hash[:]...))
		w.delete(appendCredential(nil, r.ID.Partition(), ses.Hash))
	}
	w.resets(r)
	w.list(r)
	w.once(accountOnce(r.ID), &r.Once)
	w.webhooks(r, sealed)
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
	if r.Erase || r.Profile != nil && !r.Profile.ClosingAt.IsZero() {
		return false
	}
	ends := len(r.DropKeys) + len(r.DropSessions) + len(r.DropInboxes) + len(r.PutInboxes)
	ends += len(r.DropWebhooks)
	return len(r.PutKeys)+len(r.PutSessions)+len(r.PutResets)+len(r.PutWebhooks) > 0 || ends == 0
}

// putProfile writes the account's own row; one that is being deleted has a mark, by which
// the next start finds it.
func (w *writer) putProfile(id account.ID, p *account.Profile) {
	var rec accountRecord
	rec.from(p)
	w.key = appendOwner(w.key[:0], kindAccount, id)
	w.put(w.key, &rec)
	if !p.ClosingAt.IsZero() {
		w.set(appendOwner(nil, kindClosing, id), []byte{recordVersion})
	}
}

func (w *writer) putSession(id account.ID, ses *account.Session) {
	w.put(append(appendPart(nil, id, partSession), ses.Hash[:]...),
		&sessionRecord{stampOf(ses.CreatedAt), stampOf(ses.ExpiresAt)})
	w.credential(id, ses.Hash)
}

func (w *writer) credential(id account.ID, h account.Hash) {
	w.set(appendCredential(nil, id.Partition(), h), append([]byte{recordVersion}, id[:]...))
}

// resets writes the changes of password-reset tokens and of their look-up rows.
func (w *writer) resets(r *account.Rows) {
	for _, reset := range r.PutResets {
		w.put(append(appendPart(nil, r.ID, partReset), reset.Hash[:]...), &resetRecord{stampOf(reset.ExpiresAt)})
		w.credential(r.ID, reset.Hash)
	}
	for _, reset := range r.DropResets {
		w.delete(append(appendPart(nil, r.ID, partReset), reset.Hash[:]...))
		w.delete(appendCredential(nil, r.ID.Partition(), reset.Hash))
	}
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
			var rec reservedRecord
			rec.from(&e.Reservation)
			rec.At = stampOf(e.CreatedAt)
			w.put(reserved, &rec)
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
	if err := s.folder.Space.Admit(512); err != nil {
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
