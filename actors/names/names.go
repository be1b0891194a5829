// Package names runs the owners of names that belong to one account alone: the e-mail addresses
// that sign in, and the subdomains of the service. It knows who holds a name, and refuses to know
// what the name is good for and whether its holder exists.
package names

import (
	"context"

	"inboxd/actors/engine"
	"inboxd/internal/account"
)

// Find reads who holds a name; false: nobody.
type Find func(name string) (account.ID, bool, error)

// Set writes who holds a name, the zero ID for nobody, and returns once that is on disk.
type Set func(name string, holder account.ID) error

// Names hands orders to the owners of one kind of names. Any goroutine may use it.
type Names struct{ *engine.Directory }

// New returns the names that find and set keep on disk.
func New(e *engine.Engine, find Find, set Set) Names {
	return Names{e.Directory(func(string) engine.Entity { return &entity{find: find, set: set} })}
}

// Order returns who holds the name after the command's commit.
func (n Names) Order(ctx context.Context, name string, cmd account.NameCommand) (account.ID, error) {
	got, err := n.Do(ctx, name, cmd, 0)
	holder, _ := got.(account.ID)
	return holder, err
}

// entity drives the rules of one name. Only its owner touches what is below set.
type entity struct {
	engine.Slot
	find Find
	set  Set

	holder  account.ID
	changed bool // by the group being decided
}

func (e *entity) Load() (err error) {
	e.holder, _, err = e.find(e.Key())
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

func (e *entity) Abandon() { e.holder, e.changed = account.ID{}, false }

// Vacant implements engine.Entity.
func (e *entity) Vacant() bool { return e.holder == (account.ID{}) }

func (e *entity) Weight() int64 { return 0 }
