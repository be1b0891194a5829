// Package uniqueness runs the owners of names that belong to only one account: sign-in addresses
// and subdomains of the service. It knows who holds a name. It does not know what the name is used
// for or whether its holder exists.
package uniqueness

import (
	"context"

	"inboxd/actors/engine"
	"inboxd/internal/core/account"
)

// Find reads the holder of a name.
type Find func(name string) (account.Holding, error)

// Set writes the holder of a name and returns once that is on disk.
type Set func(name string, holder account.Holding) error

// Names sends commands to the owners of one kind of names. Any goroutine may use it.
type Names struct{ *engine.Directory }

// New returns the names that find and set store.
func New(e *engine.Engine, find Find, set Set) Names {
	return Names{e.Directory(func(string) engine.Entity { return &entity{find: find, set: set} })}
}

// Order returns the holder of the name after the command's commit.
func (n Names) Order(ctx context.Context, name string, cmd account.NameCommand) (account.Holding, error) {
	got, err := n.Do(ctx, name, cmd, 0)
	holder, _ := got.(account.Holding)
	return holder, err
}

// Claim assigns the name to by. If another account holds it, yield asks the owner of that account.
// nil means that the account gives up the name and never uses it again as that holder. So exactly
// one of several concurrent claims wins.
func (n Names) Claim(ctx context.Context, name string, by account.Holding, yield func(account.Holding) error) error {
	for claim := (account.ClaimName{By: by}); ; {
		holder, err := n.Order(ctx, name, claim)
		if err != nil || holder.Account == by.Account {
			return err
		}
		if err := yield(holder); err != nil {
			return err
		}
		claim.Instead = holder
	}
}

// entity drives the rules of one name. Only its owner touches the fields below set.
type entity struct {
	engine.Slot
	find Find
	set  Set

	holder  account.Holding
	changed bool // by the group being decided
}

func (e *entity) Load() (err error) {
	e.holder, err = e.find(e.Key())
	return err
}

func (e *entity) Decide(cmd any) (any, error) {
	holder := account.Holder(e.holder, cmd.(account.NameCommand))
	e.changed = e.changed || holder != e.holder
	e.holder = holder
	return holder, nil
}

func (e *entity) Commit() error {
	if !e.changed {
		return nil
	}
	return e.set(e.Key(), e.holder)
}

func (e *entity) Publish() { e.changed = false }

func (e *entity) Abandon() { e.holder, e.changed = account.Holding{}, false }

// Vacant implements engine.Entity.
func (e *entity) Vacant() bool { return e.holder == (account.Holding{}) }

func (e *entity) Weight() int64 { return 0 }
