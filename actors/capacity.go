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

// capacityCache caches how much mail the inboxes of an account may hold. An inbox keeps its value
// until any account's plan changes: a message costs one atomic load, and a plan change costs each
// account one look-up. The inboxes of an account share one cached value, as long as no other
// account takes its slot in heard. A plan change on another node does not reach this one, so such a
// value expires after planBelieved. Any goroutine may use it.
type capacityCache struct {
	rows             *routingStore
	plans            account.Plans
	now              func() time.Time
	planChanges      atomic.Int64 // of plans, and of group ownership; counted after the commit, before the operator's request returns
	cachedCapacities [1 << 10]atomic.Pointer[knownCapacity]
}

// planBelieved is how long a plan that was read from another node stays valid.
const planBelieved = time.Minute

// knownCapacity is what an account's inboxes may hold, read at a given number of plan changes. It
// is immutable.
type knownCapacity struct {
	inbox.Capacity
	account    account.ID
	changes    int64
	validUntil time.Time // expiry of a value from another node; zero for this node's own
}

// isCurrent reports whether k is set, belongs to the account and is still valid.
func (c *capacityCache) isCurrent(k *knownCapacity, id account.ID) bool {
	return k != nil && k.account == id && k.changes == c.planChanges.Load() && (k.validUntil.IsZero() || c.now().Before(k.validUntil))
}

// currentCapacity returns what the account's inboxes may hold now.
func (c *capacityCache) currentCapacity(id account.ID) (*knownCapacity, error) {
	place := &c.cachedCapacities[binary.BigEndian.Uint16(id[len(id)-2:])%uint16(len(c.cachedCapacities))] // ids are random
	if k := place.Load(); c.isCurrent(k, id) {
		return k, nil
	}
	k, err := c.readCapacity(id)
	if err != nil {
		return nil, engine.BusyError(err)
	}
	place.Store(k)
	return k, nil
}

// readCapacity reads the account's plan. It reads the change counter and the ownership first, so a
// cached value is never older than its counter says. The service's own inbox has no plan and gets
// the default figures.
func (c *capacityCache) readCapacity(id account.ID) (*knownCapacity, error) {
	k := &knownCapacity{account: id, changes: c.planChanges.Load()}
	if id == systemAccount {
		k.Capacity = inbox.CapacityOf(account.DefaultPlans().Of(account.PlanPaid))
		return k, nil
	}
	if !c.rows.rowOwner.OwnsGroup(id.HomePartition().Group()) {
		k.validUntil = c.now().Add(planBelieved)
	}
	name, err := c.rows.PlanOf(id)
	k.Capacity = inbox.CapacityOf(c.plans.Of(name))
	return k, err
}

// ReleaseGroup invalidates all cached values: from now on another node owns the plans of the group.
func (c *capacityCache) ReleaseGroup(partition.Group) error {
	c.planChanges.Add(1)
	return nil
}
