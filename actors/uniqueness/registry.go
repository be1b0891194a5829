// Package uniqueness runs the owners of names that belong to one account alone: the e-mail addresses
// that sign in, and the subdomains of the service. It knows who holds a name, and refuses to know
// what the name is good for and whether its holder exists.
package uniqueness

import (
	"context"

	"inboxd/actors/engine"
	"inboxd/internal/core/account"
)

// Find reads who holds a name.
type Find func(name string) (account.Holding, error)

// Set writes who holds a name and returns once that is on disk.
type Set func(name string, holder account.Holding) error

// Names hands orders to the owners of one kind of names. Any goroutine may use it.
type Names struct{ *engine.Directory }

// New returns the names that find and set keep on disk.
func New(e *engine.Engine, find Find, set Set) Names {
	return Names{e.Directory(func(string) engine.Entity { return &entity{find: find, set: set} })}
}

// Order returns who holds the name after the command's commit.
func (n Names) Order(ctx context.Context, name string, cmd account.NameCommand) (account.Holding, error) {
	got, err := n.Do(ctx, name, cmd, 0)
	holder, _ := got.(account.Holding)
	return holder, err
}

// Claim makes the name by's. Of another account that holds it yield says whether it gives way, as the
// owner of that account decided: nil, and it never has a use for the name as that holder again. So of
// those who claim a name at once one is left.
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

// entity drives the rules of one name. Only its owner touches what is below set.
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
