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

// capacities caches how much mail the inboxes of an account may hold. An inbox keeps its value
// until any account's plan changes: a message costs one atomic load, and a plan change costs each
// account one look-up. The inboxes of an account share one cached value, as long as no other
// account takes its slot in heard. A plan change on another node does not reach this one, so such a
// value expires after planBelieved. Any goroutine may use it.
type capacities struct {
	rows    *asking
	plans   account.Plans
	now     func() time.Time
	changes atomic.Int64 // of plans, and of group ownership; counted after the commit, before the operator's request returns
	heard   [1 << 10]atomic.Pointer[knownCapacity]
}

// planBelieved is how long a plan that was read from another node stays valid.
const planBelieved = time.Minute

// knownCapacity is what an account's inboxes may hold, read at a given number of plan changes. It
// is immutable.
type knownCapacity struct {
	inbox.Capacity
	account account.ID
	changes int64
	until   time.Time // expiry of a value from another node; zero for this node's own
}

// stand reports whether k is set, belongs to the account and is still valid.
func (c *capacities) stand(k *knownCapacity, id account.ID) bool {
	return k != nil && k.account == id && k.changes == c.changes.Load() && (k.until.IsZero() || c.now().Before(k.until))
}

// known returns what the account's inboxes may hold now.
func (c *capacities) known(id account.ID) (*knownCapacity, error) {
	place := &c.heard[binary.BigEndian.Uint16(id[len(id)-2:])%uint16(len(c.heard))] // ids are random
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

// ask reads the account's plan. It reads the change counter and the ownership first, so a cached
// value is never older than its counter says. The service's own inbox has no plan and gets the
// default figures.
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

// Lose invalidates all cached values: from now on another node owns the plans of the group.
func (c *capacities) Lose(partition.Group) error {
	c.changes.Add(1)
	return nil
}
