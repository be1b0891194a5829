// Package groups is how a running node acquires and releases groups of partitions. It notifies the
// holders of something of a group in a fixed order (ADR 0052). It does not know what they hold, or
// where a group comes from or goes.
package groups

import (
	"errors"
	"sync"

	"inboxd/internal/base/partition"
)

// Holder holds something of groups: rows, owners, timers, attempts, what it remembers.
type Holder interface {
	// Gain begins with a group. After an error the group is lost again.
	Gain(partition.Group) error
	// Lose ends with a group, also with one that Gain failed for. When it returns, nothing of the
	// holder works for the group any more, and nothing of it is remembered.
	Lose(partition.Group) error
}

// Tenure is all holders of a node, those first on whom the others rest.
type Tenure struct {
	mu      sync.Mutex // held while a group is gained or lost
	holders []Holder
}

// New returns the tenure of holders in the order of a gain.
func New(holders ...Holder) *Tenure { return &Tenure{holders: holders} }

// Gain has all holders begin with a group. After an error none has it.
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

// Lose has all holders end with a group, the other way round. A crash meanwhile is one of a node
// that has the group: whoever gets it finds on the disk what was acknowledged.
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

// Rows are those of a store: they may be read and written from a gain on, before anybody is
// admitted to what they say, and until nobody is any more.
type Rows struct {
	Owner *partition.Owner
	Drain func(partition.Group) error // waits for what is being written
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

// OnGain is a holder that has nothing to end.
type OnGain func(partition.Group) error

// Gain implements Holder.
func (f OnGain) Gain(g partition.Group) error { return f(g) }

// Lose implements Holder.
func (OnGain) Lose(partition.Group) error { return nil }

// OnLoss is a holder that has nothing to begin with.
type OnLoss func(partition.Group) error

// Gain implements Holder.
func (OnLoss) Gain(partition.Group) error { return nil }

// Lose implements Holder.
func (f OnLoss) Lose(g partition.Group) error { return f(g) }

// Bell wakes a supervisor that looks at the disk now and then, and finds there what it does. It
// holds nothing.
type Bell chan struct{}

// NewBell returns a bell that one supervisor listens to.
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
