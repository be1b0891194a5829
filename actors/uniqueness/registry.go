// Package uniqueness runs the owners of names that belong to only one account: sign-in addresses
// and subdomains of the service. It knows who holds a name. It does not know what the name is used
// for or whether its holder exists.
package uniqueness

import (
	"context"

	"inboxd/actors/engine"
	"inboxd/internal/core/account"
)

// FindHolder reads the holder of a name.
type FindHolder func(name string) (account.NameHolder, error)

// SetHolder writes the holder of a name and returns once that is on disk.
type SetHolder func(name string, holder account.NameHolder) error

// NameRegistry sends commands to the owners of one kind of names. Any goroutine may use it.
type NameRegistry struct{ *engine.EntityDirectory }

// New returns the names that find and set store.
func New(e *engine.Engine, find FindHolder, set SetHolder) NameRegistry {
	return NameRegistry{e.NewDirectory(func(string) engine.Entity { return &nameEntity{findHolder: find, setHolder: set} })}
}

// SendCommand returns the holder of the name after the command's commit.
func (n NameRegistry) SendCommand(ctx context.Context, name string, cmd account.NameCommand) (account.NameHolder, error) {
	got, err := n.Do(ctx, name, cmd, 0)
	holder, _ := got.(account.NameHolder)
	return holder, err
}

// ClaimName assigns the name to by. If another account holds it, yield asks the owner of that account.
// nil means that the account gives up the name and never uses it again as that holder. So exactly
// one of several concurrent claims wins.
func (n NameRegistry) ClaimName(ctx context.Context, name string, by account.NameHolder, yield func(account.NameHolder) error) error {
	for claim := (account.ClaimName{By: by}); ; {
		holder, err := n.SendCommand(ctx, name, claim)
		if err != nil || holder.Account == by.Account {
			return err
		}
		if err := yield(holder); err != nil {
			return err
		}
		claim.ReplacedHolder = holder
	}
}

// nameEntity drives the rules of one name. Only its owner touches the fields below set.
type nameEntity struct {
	engine.EntitySlot
	findHolder FindHolder
	setHolder  SetHolder

	holder        account.NameHolder
	holderChanged bool // by the group being decided
}

func (e *nameEntity) LoadState() (err error) {
	e.holder, err = e.findHolder(e.Key())
	return err
}

func (e *nameEntity) DecideCommand(cmd any) (any, error) {
	holder := account.HolderAfter(e.holder, cmd.(account.NameCommand))
	e.holderChanged = e.holderChanged || holder != e.holder
	e.holder = holder
	return holder, nil
}

func (e *nameEntity) CommitRows() error {
	if !e.holderChanged {
		return nil
	}
	return e.setHolder(e.Key(), e.holder)
}

func (e *nameEntity) PublishState() { e.holderChanged = false }

func (e *nameEntity) DiscardState() { e.holder, e.holderChanged = account.NameHolder{}, false }

// IsVacant implements engine.Entity.
func (e *nameEntity) IsVacant() bool { return e.holder == (account.NameHolder{}) }

func (e *nameEntity) MemoryBytes() int64 { return 0 }
