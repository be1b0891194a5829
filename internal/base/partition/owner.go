package partition

import (
	"sync/atomic"

	"inboxd/internal/base/fault"
)

// Map says which groups a node owns. It never changes.
type Map [Groups]bool

// All is the map of a single node.
func All() (m Map) {
	for g := 0; g < Groups; g += every {
		m[g] = true
	}
	return m
}

// Owner is what a node knows about the ownership of groups. It is checked when a command is posted,
// a view or a row is read and a batch is committed, at the cost of one atomic load (ADR 0051). Any
// goroutine may use it. Nil is the Owner of a single node.
type Owner struct {
	now atomic.Pointer[Map]
	had [Groups]atomic.Bool
}

// NewOwner owns the groups of m.
func NewOwner(m Map) *Owner {
	o := &Owner{}
	o.now.Store(&m)
	for g, owns := range m {
		o.had[g].Store(owns)
	}
	return o
}

// Owns reports whether this node owns the group.
func (o *Owner) Owns(g Group) bool {
	if o == nil {
		return g%every == 0
	}
	return o.now.Load()[g]
}

// Had reports whether this node ever owned the group. A read or write in such a group may have
// begun before it was released. In any other group it is a bug.
func (o *Owner) Had(g Group) bool {
	if o == nil {
		return o.Owns(g)
	}
	return o.had[g].Load()
}

// IsAlone reports whether no other node owns a group.
func (o *Owner) IsAlone() bool { return o == nil || *o.now.Load() == All() }

// Check refuses a partition that this node does not own.
func (o *Owner) Check(p ID) error { return o.CheckGroup(p.Group()) }

// CheckGroup is Check for a group.
func (o *Owner) CheckGroup(g Group) error {
	if o.Owns(g) {
		return nil
	}
	return ErrMoved
}

// ErrMoved refuses data of another node. It is the same whatever the data is.
var ErrMoved error = fault.New(fault.Moved, "This data is being moved to another server, try again in a moment")

// Owned returns the groups that this node owns, in order.
func (o *Owner) Owned() []Group {
	own := make([]Group, 0, Groups)
	for g := range Group(Groups) {
		if o.Owns(g) {
			own = append(own, g)
		}
	}
	return own
}

// Set acquires or releases the group for this node. Operations in progress may still use the
// previous state.
func (o *Owner) Set(g Group, owns bool) {
	if owns {
		o.had[g].Store(true)
	}
	for {
		before := o.now.Load()
		after := *before
		after[g] = owns
		if o.now.CompareAndSwap(before, &after) {
			return
		}
	}
}
