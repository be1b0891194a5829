// Package groups is how a running node acquires and releases groups of partitions. It notifies the
// holders of something of a group in a fixed order (ADR 0052). It does not know what they hold, or
// where a group comes from or goes.
package groups

import (
	"errors"
	"sync"

	"inboxd/internal/base/partition"
)

// GroupHolder holds something of groups: rows, owners, timers, attempts, caches.
type GroupHolder interface {
	// AcquireGroup starts serving a group. After an error, ReleaseGroup is called for the group.
	AcquireGroup(partition.Group) error
	// ReleaseGroup stops serving a group, also one whose AcquireGroup failed. When it returns, the
	// holder does no work for the group any more and has dropped its caches about it.
	ReleaseGroup(partition.Group) error
}

// HolderList is all holders of a node, in the order of their dependencies.
type HolderList struct {
	mu      sync.Mutex // held while a group is acquired or released
	holders []GroupHolder
}

// New returns the tenure of holders; they are in the order in which they acquire a group.
func New(holders ...GroupHolder) *HolderList { return &HolderList{holders: holders} }

// AcquireGroup makes all holders acquire a group. After an error none of them has it.
func (t *HolderList) AcquireGroup(g partition.Group) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, h := range t.holders {
		if err := h.AcquireGroup(g); err != nil {
			return errors.Join(err, releaseAll(g, t.holders[:i+1]))
		}
	}
	return nil
}

// ReleaseGroup makes all holders release a group, in reverse order. A crash during it is like a
// crash of a node that owns the group: the next owner finds on the disk what was acknowledged.
func (t *HolderList) ReleaseGroup(g partition.Group) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return releaseAll(g, t.holders)
}

func releaseAll(g partition.Group, holders []GroupHolder) (err error) {
	for i := len(holders) - 1; i >= 0; i-- {
		err = errors.Join(err, holders[i].ReleaseGroup(g))
	}
	return err
}

// RowHolder is the holder of a store's rows. It comes before all parts that use the rows: they may be
// read and written from the start of a gain until the end of a loss.
type RowHolder struct {
	Owner       *partition.OwnershipState
	WaitWritten func(partition.Group) error // waits for pending writes
}

// AcquireGroup implements GroupHolder.
func (r RowHolder) AcquireGroup(g partition.Group) error {
	r.Owner.SetOwned(g, true)
	return nil
}

// ReleaseGroup implements GroupHolder.
func (r RowHolder) ReleaseGroup(g partition.Group) error {
	r.Owner.SetOwned(g, false)
	return r.WaitWritten(g)
}

// OnGain is a holder that does nothing on a loss.
type OnGain func(partition.Group) error

// AcquireGroup implements GroupHolder.
func (f OnGain) AcquireGroup(g partition.Group) error { return f(g) }

// ReleaseGroup implements GroupHolder.
func (OnGain) ReleaseGroup(partition.Group) error { return nil }

// OnLoss is a holder that does nothing on a gain.
type OnLoss func(partition.Group) error

// AcquireGroup implements GroupHolder.
func (OnLoss) AcquireGroup(partition.Group) error { return nil }

// ReleaseGroup implements GroupHolder.
func (f OnLoss) ReleaseGroup(g partition.Group) error { return f(g) }

// WakeSignal wakes a supervisor that scans the disk periodically. It holds nothing itself.
type WakeSignal chan struct{}

// NewBell returns a bell for one supervisor.
func NewBell() WakeSignal { return make(WakeSignal, 1) }

// AcquireGroup implements GroupHolder.
func (b WakeSignal) AcquireGroup(partition.Group) error {
	select {
	case b <- struct{}{}:
	default:
	}
	return nil
}

// ReleaseGroup implements GroupHolder.
func (WakeSignal) ReleaseGroup(partition.Group) error { return nil }
