package partition_test

import (
	"slices"
	"sync"
	"testing"

	"inboxd/internal/base/fault"
	"inboxd/internal/base/partition"
)

// TestOwner checks that a nil OwnershipState owns everything, and that any other owns its map and
// what was acquired and released since.
func TestOwner(t *testing.T) {
	all := partition.NumGroups
	if partition.Checked {
		all /= 2
	}
	for _, o := range []*partition.OwnershipState{nil, partition.NewOwner(partition.AllGroups())} {
		if len(o.OwnedGroups()) != all || o.CheckPartition(4031) != nil || o.CheckPartition(4032) == nil == partition.Checked {
			t.Errorf("a node that is alone owns %v", o.OwnedGroups())
		}
	}
	o := partition.NewOwner(partition.OwnershipMap{3: true, 63: true})
	for p, owns := range map[partition.ID]bool{0: false, 191: false, 192: true, 255: true, 256: false, 4031: false, 4095: true} {
		if err := o.CheckPartition(p); owns != (err == nil) || !owns && !fault.Is(err, fault.MovedAway) {
			t.Errorf("partition %d: %v", p, err)
		}
	}
	o.SetOwned(3, false)
	o.SetOwned(0, true)
	for g, had := range map[partition.Group]bool{0: true, 3: true, 63: true, 1: false} {
		if o.EverOwned(g) != had {
			t.Errorf("group %d was this node's: %v", g, !had)
		}
	}
	if got := o.OwnedGroups(); !slices.Equal(got, []partition.Group{0, 63}) {
		t.Errorf("%v", got)
	}
}

// TestOwnerOfMany checks that no concurrent change is lost.
func TestOwnerOfMany(t *testing.T) {
	o := partition.NewOwner(partition.OwnershipMap{})
	var all sync.WaitGroup
	for g := range partition.Group(partition.NumGroups) {
		all.Go(func() {
			for n := range 100 {
				o.SetOwned(g, n%2 == 1)
			}
		})
	}
	all.Wait()
	if got := o.OwnedGroups(); len(got) != partition.NumGroups {
		t.Errorf("only %v are left", got)
	}
}
