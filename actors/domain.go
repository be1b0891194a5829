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
	// ListDomains pages through all domains that have a record.
	ListDomains(after string, limit int) ([]*domain.State, error)
	// AttachedAt returns the creation times that a domain's list has for an address.
	AttachedAt(name, address string) ([]time.Time, error)
	// InboxExists reports whether an inbox lives at an address.
	InboxExists(address string) (bool, error)
	AttachedInboxes(name, after string, limit int) ([]domain.AttachedInbox, error)

	EncryptSecret(purpose string, secret []byte) ([]byte, error)
	Decrypt(purpose string, encrypted []byte) ([]byte, error)
	ComputeMAC(purpose string, data []byte) ([]byte, error)
}

// domainEntity drives internal/core/domain for one name. Its commands return a copy of the state
// after them. Only its owner touches state and rows.
type domainEntity struct {
	engine.EntitySlot
	store DomainStore
	now   func() time.Time
	// onChanged receives the committed state after each change.
	onChanged func(domain.State)

	state       *domain.State
	pendingRows *domain.Rows // of the group being decided; nil if nothing changed
}

// readDomain only reads the state.
type readDomain struct{}

func (e *domainEntity) LoadState() (err error) {
	e.state, err = e.store.LoadDomain(e.Key())
	return err
}

func (e *domainEntity) DecideCommand(cmd any) (any, error) {
	var err error
	switch c := cmd.(type) {
	case domain.AttachInbox:
		if c.CreationTimes, err = e.attachedAt(c.Address); err == nil {
			err = e.applyCommand(c)
		}
	case domain.DetachInbox:
		if c.CreationTimes, err = e.attachedAt(c.Address); err == nil {
			err = e.applyCommand(c)
		}
	case domain.Command:
		err = e.applyCommand(c)
	}
	return *e.state, err
}

// attachedAt returns what the domain's list has for address once the group being decided is committed.
// The rows of the group take precedence over the store.
func (e *domainEntity) attachedAt(address string) ([]time.Time, error) {
	if e.pendingRows != nil {
		if times, known := e.pendingRows.NotedCreations(address); known {
			return times, nil
		}
	}
	return e.store.AttachedAt(e.Key(), address)
}

func (e *domainEntity) applyCommand(cmd domain.Command) error {
	evs, err := domain.Decide(e.state, cmd, domain.Env{Now: e.now()})
	if err != nil || len(evs) == 0 {
		return err
	}
	if e.pendingRows == nil {
		e.pendingRows = &domain.Rows{}
	}
	e.pendingRows.Apply(e.state, evs)
	return nil
}

func (e *domainEntity) CommitRows() error {
	if e.pendingRows == nil {
		return nil
	}
	return e.store.CommitDomain(e.pendingRows)
}

func (e *domainEntity) PublishState() {
	if e.pendingRows != nil {
		e.onChanged(*e.state)
	}
	e.pendingRows = nil
}

func (e *domainEntity) DiscardState() { e.state, e.pendingRows = nil, nil }

// MemoryBytes counts the keys, which are most of a domain's size.
func (e *domainEntity) MemoryBytes() int64 {
	if e.state == nil {
		return 0
	}
	return int64(512 + 2048*len(e.state.Keys))
}
