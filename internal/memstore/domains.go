package memstore

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"maps"
	"slices"
	"strings"

	"inboxd/internal/account"
	"inboxd/internal/domain"
)

// domainRows are the rows of one domain.
type domainRows struct {
	state    domain.State
	attached map[string]bool
}

// LoadDomain rebuilds the state of a domain from its rows.
func (s *Store) LoadDomain(name string) (*domain.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if rows := s.domains[name]; rows != nil {
		state := rows.state
		return &state, nil
	}
	return &domain.State{Name: name}, nil
}

// CommitDomain writes rows, Clear and Drop before the others.
func (s *Store) CommitDomain(r *domain.Rows) error {
	if err := s.before(r); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Commits++
	rows := s.domains[r.Name]
	if rows == nil || r.Clear {
		rows = &domainRows{attached: map[string]bool{}}
		put(&s.domains, r.Name, rows)
	}
	if r.Put != nil {
		rows.state = *r.Put
	}
	for _, address := range r.Attach {
		rows.attached[address] = true
	}
	for _, address := range r.Detach {
		delete(rows.attached, address)
	}
	if r.Drop {
		delete(s.domains, r.Name)
	}
	return nil
}

// Domains returns domains after a name.
func (s *Store) Domains(after string, limit int) ([]*domain.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*domain.State
	for _, name := range slices.Sorted(maps.Keys(s.domains)) {
		if name > after && len(out) < limit {
			state := s.domains[name].state
			out = append(out, &state)
		}
	}
	return out, nil
}

// Attached reports whether the domain's list has the address.
func (s *Store) Attached(name, address string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.domains[name] != nil && s.domains[name].attached[address], nil
}

// AttachedInboxes returns addresses of the domain's list after one.
func (s *Store) AttachedInboxes(name, after string, limit int) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	if rows := s.domains[name]; rows != nil {
		for _, address := range slices.Sorted(maps.Keys(rows.attached)) {
			if address > after && len(out) < limit {
				out = append(out, address)
			}
		}
	}
	return out, nil
}

// PutDomainListed puts a domain into the account's list.
func (s *Store) PutDomainListed(id account.ID, name string) error {
	if err := s.before(name); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	names := append(slices.Clone(s.listed[id]), name)
	slices.Sort(names)
	put(&s.listed, id, slices.Compact(names))
	return nil
}

// DropDomainListed takes a domain off the account's list.
func (s *Store) DropDomainListed(id account.ID, name string) error {
	if err := s.before(name); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listed[id] = slices.DeleteFunc(slices.Clone(s.listed[id]), func(n string) bool { return n == name })
	return nil
}

// ListedDomains returns the account's list.
func (s *Store) ListedDomains(id account.ID) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.listed[id]), nil
}

// Seal marks the secret with its purpose: memory is short-lived here.
func (s *Store) Seal(purpose string, secret []byte) ([]byte, error) {
	return append([]byte(purpose+"\x00"), secret...), nil
}

// Unseal takes the mark off and refuses another's.
func (s *Store) Unseal(purpose string, sealed []byte) ([]byte, error) {
	secret, ok := strings.CutPrefix(string(sealed), purpose+"\x00")
	if !ok {
		return nil, errors.New("memstore: sealed for another purpose")
	}
	return []byte(secret), nil
}

// MAC is keyed with nothing.
func (s *Store) MAC(purpose string, data []byte) ([]byte, error) {
	h := hmac.New(sha256.New, []byte(purpose))
	h.Write(data)
	return h.Sum(nil), nil
}
