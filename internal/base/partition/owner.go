package partition

import (
	"sync/atomic"

	"inboxd/internal/base/fault"
)

// Map says which groups a node owns. It never changes.
type Map [Groups]bool

// All is the map of a node that is alone.
func All() (m Map) {
	for g := 0; g < Groups; g += every {
		m[g] = true
	}
	return m
}

// Owner is what a node knows of whose the groups are. It is asked where a command is posted, a
// view or a row is read and a batch is committed, which costs one atomic load (ADR 0051). Any
// goroutine may use it. A nil one is of a node that is alone.
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

// Owns reports whether the group is this node's.
func (o *Owner) Owns(g Group) bool {
	if o == nil {
		return g%every == 0
	}
	return o.now.Load()[g]
}

// Had reports whether the group ever was this node's. Who reads or writes in one that was may have
// begun before it left; in another nobody has business.
func (o *Owner) Had(g Group) bool {
	if o == nil {
		return o.Owns(g)
	}
	return o.had[g].Load()
}

// IsAlone reports that no group is another node's.
func (o *Owner) IsAlone() bool { return o == nil || *o.now.Load() == All() }

// Check refuses a partition that is not this node's.
func (o *Owner) Check(p ID) error { return o.CheckGroup(p.Group()) }

// CheckGroup is Check for a group.
func (o *Owner) CheckGroup(g Group) error {
	if o.Owns(g) {
		return nil
	}
	return ErrMoved
}

// ErrMoved refuses what is another node's. It says the same whatever is there.
var ErrMoved error = fault.New(fault.Moved, "This is on the move to another server, try again in a moment")

// Owned returns the groups that are this node's, in order.
func (o *Owner) Owned() []Group {
	own := make([]Group, 0, Groups)
	for g := range Group(Groups) {
		if o.Owns(g) {
			own = append(own, g)
		}
	}
	return own
}

// Set makes the group this node's, or another's. Who is in the middle of something may still go by
// what was before.
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
