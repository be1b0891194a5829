package actors

import (
	"time"

	"inboxd/actors/engine"
	"inboxd/internal/core/domain"
)

// DomainStore is the storage that domains need. Encrypted values can be decrypted only with this
// data folder.
type DomainStore interface {
	LoadDomain(name string) (*domain.State, error)
	CommitDomain(*domain.Rows) error
	// Domains pages through all domains that have a record.
	Domains(after string, limit int) ([]*domain.State, error)
	// Attached returns the creation times that a domain's list has for an address.
	Attached(name, address string) ([]time.Time, error)
	// Live reports whether an inbox lives at an address.
	Live(address string) (bool, error)
	AttachedInboxes(name, after string, limit int) ([]domain.Attached, error)

	Encrypt(purpose string, secret []byte) ([]byte, error)
	Decrypt(purpose string, encrypted []byte) ([]byte, error)
	MAC(purpose string, data []byte) ([]byte, error)
}

// domainEntity drives internal/core/domain for one name. Its commands return a copy of the state
// after them. Only its owner touches state and rows.
type domainEntity struct {
	engine.Slot
	store DomainStore
	now   func() time.Time
	// changed receives the committed state after each change.
	changed func(domain.State)

	state *domain.State
	rows  *domain.Rows // of the group being decided; nil if nothing changed
}

// readDomain only reads the state.
type readDomain struct{}

func (e *domainEntity) Load() (err error) {
	e.state, err = e.store.LoadDomain(e.Key())
	return err
}

func (e *domainEntity) Decide(cmd any) (any, error) {
	var err error
	switch c := cmd.(type) {
	case domain.Attach:
		if c.Noted, err = e.noted(c.Address); err == nil {
			err = e.order(c)
		}
	case domain.Detach:
		if c.Noted, err = e.noted(c.Address); err == nil {
			err = e.order(c)
		}
	case domain.Command:
		err = e.order(c)
	}
	return *e.state, err
}

// noted returns what the domain's list has for address once the group being decided is committed.
// The rows of the group take precedence over the store.
func (e *domainEntity) noted(address string) ([]time.Time, error) {
	if e.rows != nil {
		if times, known := e.rows.Noted(address); known {
			return times, nil
		}
	}
	return e.store.Attached(e.Key(), address)
}

func (e *domainEntity) order(cmd domain.Command) error {
	evs, err := domain.Decide(e.state, cmd, domain.Env{Now: e.now()})
	if err != nil || len(evs) == 0 {
		return err
	}
	if e.rows == nil {
		e.rows = &domain.Rows{}
	}
	e.rows.Apply(e.state, evs)
	return nil
}

func (e *domainEntity) Commit() error {
	if e.rows == nil {
		return nil
	}
	return e.store.CommitDomain(e.rows)
}

func (e *domainEntity) Publish() {
	if e.rows != nil {
		e.changed(*e.state)
	}
	e.rows = nil
}

func (e *domainEntity) Abandon() { e.state, e.rows = nil, nil }

// Weight counts the keys, which are most of a domain's size.
func (e *domainEntity) Weight() int64 {
	if e.state == nil {
		return 0
	}
	return int64(512 + 2048*len(e.state.Keys))
}
