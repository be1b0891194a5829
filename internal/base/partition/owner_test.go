package partition_test

import (
	"slices"
	"sync"
	"testing"

	"inboxd/internal/base/fault"
	"inboxd/internal/base/partition"
)

// TestOwner checks that a nil Owner owns everything, and that any other owns its map and what was
// acquired and released since.
func TestOwner(t *testing.T) {
	all := partition.Groups
	if partition.Checked {
		all /= 2
	}
	for _, o := range []*partition.Owner{nil, partition.NewOwner(partition.All())} {
		if len(o.Owned()) != all || o.Check(4031) != nil || o.Check(4032) == nil == partition.Checked {
			t.Errorf("a node that is alone owns %v", o.Owned())
		}
	}
	o := partition.NewOwner(partition.Map{3: true, 63: true})
	for p, owns := range map[partition.ID]bool{0: false, 191: false, 192: true, 255: true, 256: false, 4031: false, 4095: true} {
		if err := o.Check(p); owns != (err == nil) || !owns && !fault.Is(err, fault.Moved) {
			t.Errorf("partition %d: %v", p, err)
		}
	}
	o.Set(3, false)
	o.Set(0, true)
	for g, had := range map[partition.Group]bool{0: true, 3: true, 63: true, 1: false} {
		if o.Had(g) != had {
			t.Errorf("group %d was this node's: %v", g, !had)
		}
	}
	if got := o.Owned(); !slices.Equal(got, []partition.Group{0, 63}) {
		t.Errorf("%v", got)
	}
}

// TestOwnerOfMany checks that no concurrent change is lost.
func TestOwnerOfMany(t *testing.T) {
	o := partition.NewOwner(partition.Map{})
	var all sync.WaitGroup
	for g := range partition.Group(partition.Groups) {
		all.Go(func() {
			for n := range 100 {
				o.Set(g, n%2 == 1)
			}
		})
	}
	all.Wait()
	if got := o.Owned(); len(got) != partition.Groups {
		t.Errorf("only %v are left", got)
	}
}
