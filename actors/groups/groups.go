// Package groups is how a running node acquires and releases groups of partitions. It notifies the
// holders of something of a group in a fixed order (ADR 0052). It does not know what they hold, or
// where a group comes from or goes.
package groups

import (
	"errors"
	"sync"

	"inboxd/internal/base/partition"
)

// Holder holds something of groups: rows, owners, timers, attempts, caches.
type Holder interface {
	// Gain starts serving a group. After an error, Lose is called for the group.
	Gain(partition.Group) error
	// Lose stops serving a group, also one whose Gain failed. When it returns, the holder does no
	// work for the group any more and has dropped its caches about it.
	Lose(partition.Group) error
}

// Tenure is all holders of a node, in the order of their dependencies.
type Tenure struct {
	mu      sync.Mutex // held while a group is acquired or released
	holders []Holder
}

// New returns the tenure of holders; they are in the order in which they acquire a group.
func New(holders ...Holder) *Tenure { return &Tenure{holders: holders} }

// Gain makes all holders acquire a group. After an error none of them has it.
func (t *Tenure) Gain(g partition.Group) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, h := range t.holders {
		if err := h.Gain(g); err != nil {
			return errors.Join(err, lose(g, t.holders[:i+1]))
		}
	}
	return nil
}

// Lose makes all holders release a group, in reverse order. A crash during it is like a crash of a
// node that owns the group: the next owner finds on the disk what was acknowledged.
func (t *Tenure) Lose(g partition.Group) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return lose(g, t.holders)
}

func lose(g partition.Group, holders []Holder) (err error) {
	for i := len(holders) - 1; i >= 0; i-- {
		err = errors.Join(err, holders[i].Lose(g))
	}
	return err
}

// Rows is the holder of a store's rows. It comes before all parts that use the rows: they may be
// read and written from the start of a gain until the end of a loss.
type Rows struct {
	Owner *partition.Owner
	Drain func(partition.Group) error // waits for pending writes
}

// Gain implements Holder.
func (r Rows) Gain(g partition.Group) error {
	r.Owner.Set(g, true)
	return nil
}

// Lose implements Holder.
func (r Rows) Lose(g partition.Group) error {
	r.Owner.Set(g, false)
	return r.Drain(g)
}

// OnGain is a holder that does nothing on a loss.
type OnGain func(partition.Group) error

// Gain implements Holder.
func (f OnGain) Gain(g partition.Group) error { return f(g) }

// Lose implements Holder.
func (OnGain) Lose(partition.Group) error { return nil }

// OnLoss is a holder that does nothing on a gain.
type OnLoss func(partition.Group) error

// Gain implements Holder.
func (OnLoss) Gain(partition.Group) error { return nil }

// Lose implements Holder.
func (f OnLoss) Lose(g partition.Group) error { return f(g) }

// Bell wakes a supervisor that scans the disk periodically. It holds nothing itself.
type Bell chan struct{}

// NewBell returns a bell for one supervisor.
func NewBell() Bell { return make(Bell, 1) }

// Gain implements Holder.
func (b Bell) Gain(partition.Group) error {
	select {
	case b <- struct{}{}:
	default:
	}
	return nil
}

// Lose implements Holder.
func (Bell) Lose(partition.Group) error { return nil }
