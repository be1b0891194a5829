package engine

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/puzpuzpuz/xsync/v4"

	"inboxd/internal/base/partition"
)

// EntityDirectory finds the owner of an entity by its key and activates the entity if it is not in
// memory. The entities are in a lock-free map; the gate in a slot guards who owns it. Any goroutine
// may use a directory.
type EntityDirectory struct {
	Options
	rootContext *actor.RootContext
	workers     ownerDispatcher
	coarseClock *CoarseClock
	newEntity   func(key string) Entity
	entities    *xsync.Map[string, Entity]
	// Tickers that nobody waits on: each message waits several times, and a new ticker costs more
	// than the rest. The pool belongs to the directory, because a ticker of one synctest bubble is
	// invalid in another.
	tickerPool   sync.Pool
	inFlight     atomic.Int64 // commands admitted and not replied to
	heldBytes    atomic.Int64 // bytes of all slots
	evictedCount atomic.Int64 // owners evicted since the start
}

// DirectoryStats is a snapshot of a directory.
type DirectoryStats struct {
	ResidentCount int   // entities in memory
	HeldBytes     int64 // what they hold
	EvictedCount  int64 // entities evicted since the start
	InFlight      int64 // commands that wait for their result
}

// ReadStats takes the snapshot.
func (d *EntityDirectory) ReadStats() DirectoryStats {
	return DirectoryStats{ResidentCount: d.entities.Size(), HeldBytes: d.heldBytes.Load(), EvictedCount: d.evictedCount.Load(), InFlight: d.inFlight.Load()}
}

// slotOverhead is what an idle slot and its actor cost in addition to the entity.
const slotOverhead = 2048

// Do sends cmd to the owner of key and waits for its result. size is what cmd adds to a batch.
// Beyond the admission limit it returns Unavailable at once. Mailboxes are unbounded, so this is
// the back-pressure.
func (d *EntityDirectory) Do(ctx context.Context, key string, cmd any, size int64) (any, error) {
	if d.inFlight.Add(1) > d.MaxInFlight {
		d.inFlight.Add(-1)
		return nil, BusyError(nil)
	}
	defer d.inFlight.Add(-1)
	r := newRequest(cmd, size)
	if err := d.postMessage(key, r); err != nil {
		return nil, err
	}
	if err := d.waitRequest(ctx, r); err != nil {
		return r.giveUp(err)
	}
	return r.answer, r.err
}

// waitRequest is Wait with a pooled ticker.
func (d *EntityDirectory) waitRequest(ctx context.Context, r *commandRequest) error {
	stalled, kept := d.tickerPool.Get().(*time.Ticker)
	if kept {
		stalled.Reset(stallCheck)
	} else {
		stalled = time.NewTicker(stallCheck)
	}
	defer func() {
		stalled.Stop()
		d.tickerPool.Put(stalled)
	}()
	return waitWithTicker(ctx, r.done, d.IsDiskFull, stalled)
}

// Notify posts cmd without waiting for its result. It drops a command for a key that this node does
// not own.
func (d *EntityDirectory) Notify(key string, cmd any) {
	_ = d.postMessage(key, newRequest(cmd, 0))
}

// postMessage sends msg to the owner of key. Counting and sending happen under the slot's gate. A
// key of a group that this node does not own is refused and takes no slot.
func (d *EntityDirectory) postMessage(key string, msg any) error {
	for {
		e, found := d.entities.Load(key)
		if !found {
			group := partition.Of(key).Group()
			if err := d.Owner.CheckGroup(group); err != nil {
				return err
			}
			e, _ = d.entities.LoadOrCompute(key, func() (Entity, bool) {
				e := d.newEntity(key)
				e.slot().key, e.slot().group = key, group
				return e, false
			})
		}
		if sent, err := d.postTo(e, msg); sent || err != nil {
			return err
		}
	}
}

// postTo sends msg through the gate of e's slot, unless e has left the directory. It checks under
// the gate that this node owns the group: whoever releases the group finds what was sent before,
// and nothing is sent after.
func (d *EntityDirectory) postTo(e Entity, msg any) (sent bool, err error) {
	s := e.slot()
	s.noteUse(d.coarseClock.Unix())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isEvicted {
		return false, nil
	}
	if err := d.Owner.CheckGroup(s.group); err != nil {
		d.vacateInside(s)
		return false, err
	}
	if s.pid == nil {
		s.pid = d.rootContext.Spawn(actor.PropsFromProducer(func() actor.Actor {
			return &entityOwner{dir: d, slot: s, entity: e}
		}, actor.WithDispatcher(d.workers)))
	}
	s.postedCount.Add(1)
	d.rootContext.Send(s.pid, msg)
	return true, nil
}

// vacateSlot removes a slot that has no owner, because nobody else would.
func (d *EntityDirectory) vacateSlot(s *EntitySlot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.vacateInside(s)
}

// vacateInside is vacate under the gate.
func (d *EntityDirectory) vacateInside(s *EntitySlot) {
	if s.pid == nil && !s.isEvicted {
		s.isEvicted = true
		d.entities.Delete(s.key)
	}
}

// FindResident returns the entity of key if it is in memory and this node owns it, and counts as a use.
// The caller may use only what the entity publishes to any goroutine. Resident takes no lock, does
// not allocate and does not retain key.
func (d *EntityDirectory) FindResident(key []byte) Entity {
	e, ok := d.entities.Load(unsafe.String(unsafe.SliceData(key), len(key)))
	if !ok || !d.Owner.OwnsGroup(e.slot().group) {
		return nil
	}
	e.slot().noteUse(d.coarseClock.Unix())
	return e
}

// removeSlot removes s from the directory; its owner calls it under the gate.
func (d *EntityDirectory) removeSlot(s *EntitySlot) {
	d.entities.Delete(s.key)
	d.heldBytes.Add(-s.weightBytes.Swap(0))
	d.evictedCount.Add(1)
}

// updateWeight records the new weight of s.
func (d *EntityDirectory) updateWeight(s *EntitySlot, bytes int64) {
	bytes += slotOverhead
	d.heldBytes.Add(bytes - s.weightBytes.Swap(bytes))
}

// SweepIdle asks owners to leave: those idle for longer than age, and beyond the budget those idle for
// longest. It only posts; each owner decides for itself.
func (d *EntityDirectory) SweepIdle(age time.Duration, budget int64) {
	oldest := d.coarseClock.Unix() - int64(age.Seconds())
	over := d.heldBytes.Load() - budget
	var idle []*EntitySlot
	d.entities.Range(func(_ string, e Entity) bool {
		s := e.slot()
		switch {
		case s.lastUsed.Load() < oldest && lastUse(e) < oldest:
			over -= s.weightBytes.Load()
			d.passivate(s, nil)
		case over > 0:
			lastUse(e) // updates used, by which idle is sorted below
			idle = append(idle, s)
		}
		return true
	})
	if over <= 0 {
		return
	}
	over += budget / 10 // leave some room, so that not every sweep sorts
	slices.SortFunc(idle, func(a, b *EntitySlot) int { return cmp.Compare(a.lastUsed.Load(), b.lastUsed.Load()) })
	for _, s := range idle {
		if over <= 0 {
			return
		}
		over -= s.weightBytes.Load()
		d.passivate(s, nil)
	}
}

// lastUse returns when the entity was last used, including uses without the directory.
func lastUse(e Entity) int64 {
	s := e.slot()
	if at := e.LastPolledUnix(); at > s.lastUsed.Load() {
		s.lastUsed.Store(at)
	}
	return s.lastUsed.Load()
}

// Passivate asks one owner to leave, as SweepIdle does.
func (d *EntityDirectory) Passivate(key string) {
	if e, ok := d.entities.Load(key); ok {
		d.passivate(e.slot(), nil)
	}
}

// EvictGroup returns when no entity of a group that this node has released is in memory. Nothing new is
// posted to them, so each leaves once it has replied to what was posted before.
func (d *EntityDirectory) EvictGroup(g partition.Group) {
	for left := true; left; {
		left = false
		var asked []chan struct{}
		d.entities.Range(func(_ string, e Entity) bool {
			if s := e.slot(); s.group == g {
				left = true
				if seen := make(chan struct{}); d.passivate(s, seen) {
					asked = append(asked, seen)
				} else {
					d.vacateSlot(s)
				}
			}
			return true
		})
		for _, seen := range asked {
			<-seen
		}
	}
}

// passivate does not count as a use. It reports whether an owner will handle the message.
func (d *EntityDirectory) passivate(s *EntitySlot, seen chan struct{}) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isEvicted || s.pid == nil {
		return false
	}
	s.postedCount.Add(1)
	d.rootContext.Send(s.pid, passivate{seen})
	return true
}
