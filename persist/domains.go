package persist

import (
	"fmt"

	"inboxd/internal/account"
	"inboxd/internal/domain"
	"inboxd/internal/partition"
)

// LoadDomain reads a domain; one that nobody ever claimed gives a State with its name only.
// The list of its inboxes is not loaded.
func (s *Store) LoadDomain(name string) (*domain.State, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	var r domainRecord
	if _, err := s.get(appendText(nil, kindDomain, name), &r); err != nil {
		return nil, fmt.Errorf("persist: loading domain %s: %w", name, err)
	}
	return r.state(name), nil
}

// CommitDomain writes the rows as one atomic batch and returns once it is on disk. Errors
// are faults, as for CommitInbox.
func (s *Store) CommitDomain(r *domain.Rows) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	if len(r.Attach) > 0 || r.Clear && !r.Drop {
		if err := s.folder.Space.Admit(8 << 10); err != nil {
			return err
		}
	}
	w := s.newWriter()
	defer w.release()
	prefix := appendText(nil, kindDomain, r.Name)
	if r.Clear {
		w.deleteRange(append(prefix[:len(prefix):len(prefix)], 0), end(prefix))
	}
	if r.Drop {
		w.delete(prefix)
	}
	if r.Put != nil {
		var rec domainRecord
		rec.from(r.Put)
		w.put(prefix, &rec)
	}
	for _, address := range r.Attach {
		w.set(appendAttached(nil, r.Name, address), []byte{recordVersion})
	}
	for _, address := range r.Detach {
		w.delete(appendAttached(nil, r.Name, address))
	}
	return s.commit(partition.Of(r.Name), w)
}

// appendAttached names an inbox under a domain: [kind][partition][domain 0x00][address].
func appendAttached(dst []byte, name, address string) []byte {
	return append(appendText(dst, kindDomain, name), address...)
}

// Attached reports whether the domain's list has the inbox.
func (s *Store) Attached(name, address string) (bool, error) {
	return s.has(appendAttached(nil, name, address))
}

// AttachedInboxes returns up to limit addresses of the domain's list behind after.
func (s *Store) AttachedInboxes(name, after string, limit int) ([]string, error) {
	prefix := appendText(nil, kindDomain, name)
	return s.names(prefix, append(prefix[:len(prefix):len(prefix)], after+"\x00"...), limit)
}

// Domains returns up to limit domains that have a record, behind after in the order of
// their partitions; the empty name starts.
func (s *Store) Domains(after string, limit int) ([]*domain.State, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	from := []byte{byte(kindDomain)}
	if after != "" {
		from = end(appendText(nil, kindDomain, after))
	}
	var out []*domain.State
	for len(out) < limit {
		key, value, err := s.first(from, []byte{byte(kindDomain) + 1})
		if key == nil || err != nil {
			return out, err
		}
		// Each domain's first row is its record; the next domain is behind all its inboxes.
		name := string(key[prefixLen : len(key)-1])
		from = end(appendText(nil, kindDomain, name))
		var r domainRecord
		if err := decode(value, &r); err != nil {
			return out, fmt.Errorf("persist: domain %s: %w", name, err)
		}
		out = append(out, r.state(name))
	}
	return out, nil
}

// appendDomainListed names an entry of an account's list: [kind][partition][id][domain].
func appendDomainListed(dst []byte, id account.ID, name string) []byte {
	return append(appendOwner(dst, kindDomainList, id), name...)
}

// PutDomainListed puts a domain into an account's list and returns once that is on disk.
func (s *Store) PutDomainListed(id account.ID, name string) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	if err := s.folder.Space.Admit(512); err != nil {
		return err
	}
	w := s.newWriter()
	defer w.release()
	w.set(appendDomainListed(nil, id, name), []byte{recordVersion})
	return s.commit(id.Partition(), w)
}

// DropDomainListed takes a domain off an account's list.
func (s *Store) DropDomainListed(id account.ID, name string) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	w := s.newWriter()
	defer w.release()
	w.delete(appendDomainListed(nil, id, name))
	return s.commit(id.Partition(), w)
}

// ListedDomains returns the names on an account's list, in alphabetical order.
func (s *Store) ListedDomains(id account.ID) ([]string, error) {
	prefix := appendOwner(nil, kindDomainList, id)
	return s.names(prefix, prefix, -1)
}

// names returns what follows prefix in up to limit keys (-1: all) from from on.
func (s *Store) names(prefix, from []byte, limit int) ([]string, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	var out []string
	err := scan(s.db, from, end(prefix), func(key, _ []byte) error {
		if len(out) == limit {
			return errStop
		}
		out = append(out, string(key[len(prefix):]))
		return nil
	})
	return out, err
}
