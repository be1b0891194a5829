package actors

import (
	"encoding/binary"
	"sync/atomic"
	"time"

	"inboxd/actors/engine"
	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
)

// capacities says how much mail the inboxes of an account may hold. An inbox keeps what it was
// told until any account's plan changed: so a mail costs one atomic read, and an operator who changes
// a plan costs each account one look-up. The inboxes of an account share what one of them was told,
// as long as no other account takes its place among those heard. Who changes the plan of another node's
// account can't tell this one: what is said elsewhere is believed for a while. Any goroutine may use it.
type capacities struct {
	rows    *asking
	plans   account.Plans
	now     func() time.Time
	changes atomic.Int64 // of plans, and of who tells them; counted after the commit, before the operator is answered
	heard   [1 << 10]atomic.Pointer[knownCapacity]
}

// planBelieved is how long an inbox goes by a plan that it heard from another node.
const planBelieved = time.Minute

// knownCapacity is what an account's inboxes may hold, read when so many plans had changed. It never
// changes.
type knownCapacity struct {
	inbox.Capacity
	account account.ID
	changes int64
	until   time.Time // of one that another node told; zero of this node's
}

// stand reports that what is known, if anything, is of the account and still so.
func (c *capacities) stand(k *knownCapacity, id account.ID) bool {
	return k != nil && k.account == id && k.changes == c.changes.Load() && (k.until.IsZero() || c.now().Before(k.until))
}

// known is what the account's inboxes may hold now.
func (c *capacities) known(id account.ID) (*knownCapacity, error) {
	place := &c.heard[binary.BigEndian.Uint16(id[len(id)-2:])%uint16(len(c.heard))] // ids are drawn at random
	if k := place.Load(); c.stand(k, id) {
		return k, nil
	}
	k, err := c.ask(id)
	if err != nil {
		return nil, engine.Busy(err)
	}
	place.Store(k)
	return k, nil
}

// ask asks for the account's plan. The changes are read before it: what is kept is never older than it
// says. So is whose the account is. The service's own inbox, which answers to no plan, has the figures
// that plans have by default.
func (c *capacities) ask(id account.ID) (*knownCapacity, error) {
	k := &knownCapacity{account: id, changes: c.changes.Load()}
	if id == systemAccount {
		k.Capacity = inbox.CapacityOf(account.DefaultPlans().Of(account.Paid))
		return k, nil
	}
	if !c.rows.owner.Owns(id.Partition().Group()) {
		k.until = c.now().Add(planBelieved)
	}
	name, err := c.rows.PlanOf(id)
	k.Capacity = inbox.CapacityOf(c.plans.Of(name))
	return k, err
}

// Lose has all inboxes ask again: plans of the group are told by another node from now on.
func (c *capacities) Lose(partition.Group) error {
	c.changes.Add(1)
	return nil
}
