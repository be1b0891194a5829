package partition

import (
	"sync/atomic"

	"inboxd/internal/base/fault"
)

// OwnershipMap says which groups a node owns. It never changes.
type OwnershipMap [NumGroups]bool

// AllGroups is the map of a single node.
func AllGroups() (m OwnershipMap) {
	for g := 0; g < NumGroups; g += every {
		m[g] = true
	}
	return m
}

// OwnershipState is what a node knows about the ownership of groups. It is checked when a command
// is posted, a view or a row is read and a batch is committed, at the cost of one atomic load (ADR
// 0051). Any goroutine may use it. Nil is the OwnershipState of a single node.
type OwnershipState struct {
	currentMap atomic.Pointer[OwnershipMap]
	everOwned  [NumGroups]atomic.Bool
}

// NewOwner owns the groups of m.
func NewOwner(m OwnershipMap) *OwnershipState {
	o := &OwnershipState{}
	o.currentMap.Store(&m)
	for g, owns := range m {
		o.everOwned[g].Store(owns)
	}
	return o
}

// OwnsGroup reports whether this node owns the group.
func (o *OwnershipState) OwnsGroup(g Group) bool {
	if o == nil {
		return g%every == 0
	}
	return o.currentMap.Load()[g]
}

// EverOwned reports whether this node ever owned the group. A read or write in such a group may have
// begun before it was released. In any other group it is a bug.
func (o *OwnershipState) EverOwned(g Group) bool {
	if o == nil {
		return o.OwnsGroup(g)
	}
	return o.everOwned[g].Load()
}

// IsAlone reports whether no other node owns a group.
func (o *OwnershipState) IsAlone() bool { return o == nil || *o.currentMap.Load() == AllGroups() }

// CheckPartition refuses a partition that this node does not own.
func (o *OwnershipState) CheckPartition(p ID) error { return o.CheckGroup(p.Group()) }

// CheckGroup is CheckPartition for a group.
func (o *OwnershipState) CheckGroup(g Group) error {
	if o.OwnsGroup(g) {
		return nil
	}
	return ErrMoved
}

// ErrMoved refuses data of another node. It is the same whatever the data is.
var ErrMoved error = fault.New(fault.MovedAway, "This data is being moved to another server, try again in a moment")

// OwnedGroups returns the groups that this node owns, in order.
func (o *OwnershipState) OwnedGroups() []Group {
	own := make([]Group, 0, NumGroups)
	for g := range Group(NumGroups) {
		if o.OwnsGroup(g) {
			own = append(own, g)
		}
	}
	return own
}

// SetOwned acquires or releases the group for this node. Operations in progress may still use the
// previous state.
func (o *OwnershipState) SetOwned(g Group, owns bool) {
	if owns {
		o.everOwned[g].Store(true)
	}
	for {
		before := o.currentMap.Load()
		after := *before
		after[g] = owns
		if o.currentMap.CompareAndSwap(before, &after) {
			return
		}
	}
}
