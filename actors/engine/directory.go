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

// Directory finds the owner of an entity by its key and activates the entity if it is not in
// memory. The entities are in a lock-free map; the gate in a slot guards who owns it. Any goroutine
// may use a directory.
type Directory struct {
	Options
	root     *actor.RootContext
	workers  dispatcher
	clock    *Clock
	activate func(key string) Entity
	entities *xsync.Map[string, Entity]
	// Tickers that nobody waits on: each message waits several times, and a new ticker costs more
	// than the rest. The pool belongs to the directory, because a ticker of one synctest bubble is
	// invalid in another.
	tickers sync.Pool
	waiting atomic.Int64 // commands admitted and not replied to
	held    atomic.Int64 // bytes of all slots
	left    atomic.Int64 // owners evicted since the start
}

// Stats is a snapshot of a directory.
type Stats struct {
	Resident int   // entities in memory
	Bytes    int64 // what they hold
	Left     int64 // entities evicted since the start
	InFlight int64 // commands that wait for their result
}

// Stats takes the snapshot.
func (d *Directory) Stats() Stats {
	return Stats{Resident: d.entities.Size(), Bytes: d.held.Load(), Left: d.left.Load(), InFlight: d.waiting.Load()}
}

// overhead is what an idle slot and its actor cost in addition to the entity.
const overhead = 2048

// Do sends cmd to the owner of key and waits for its result. size is what cmd adds to a batch.
// Beyond the admission limit it returns Unavailable at once. Mailboxes are unbounded, so this is
// the back-pressure.
func (d *Directory) Do(ctx context.Context, key string, cmd any, size int64) (any, error) {
	if d.waiting.Add(1) > d.Admission {
		d.waiting.Add(-1)
		return nil, Busy(nil)
	}
	defer d.waiting.Add(-1)
	r := newRequest(cmd, size)
	if err := d.post(key, r); err != nil {
		return nil, err
	}
	if err := d.wait(ctx, r); err != nil {
		return r.giveUp(err)
	}
	return r.answer, r.err
}

// wait is Wait with a pooled ticker.
func (d *Directory) wait(ctx context.Context, r *request) error {
	stalled, kept := d.tickers.Get().(*time.Ticker)
	if kept {
		stalled.Reset(stallCheck)
	} else {
		stalled = time.NewTicker(stallCheck)
	}
	defer func() {
		stalled.Stop()
		d.tickers.Put(stalled)
	}()
	return wait(ctx, r.done, d.Full, stalled)
}

// Notify posts cmd without waiting for its result. It drops a command for a key that this node does
// not own.
func (d *Directory) Notify(key string, cmd any) {
	_ = d.post(key, newRequest(cmd, 0))
}

// post sends msg to the owner of key. Counting and sending happen under the slot's gate. A key of a
// group that this node does not own is refused and takes no slot.
func (d *Directory) post(key string, msg any) error {
	for {
		e, found := d.entities.Load(key)
		if !found {
			group := partition.Of(key).Group()
			if err := d.Owner.CheckGroup(group); err != nil {
				return err
			}
			e, _ = d.entities.LoadOrCompute(key, func() (Entity, bool) {
				e := d.activate(key)
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
func (d *Directory) postTo(e Entity, msg any) (sent bool, err error) {
	s := e.slot()
	s.touch(d.clock.Unix())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return false, nil
	}
	if err := d.Owner.CheckGroup(s.group); err != nil {
		d.vacateInside(s)
		return false, err
	}
	if s.pid == nil {
		s.pid = d.root.Spawn(actor.PropsFromProducer(func() actor.Actor {
			return &owner{dir: d, slot: s, entity: e}
		}, actor.WithDispatcher(d.workers)))
	}
	s.posted.Add(1)
	d.root.Send(s.pid, msg)
	return true, nil
}

// vacate removes a slot that has no owner, because nobody else would.
func (d *Directory) vacate(s *Slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.vacateInside(s)
}

// vacateInside is vacate under the gate.
func (d *Directory) vacateInside(s *Slot) {
	if s.pid == nil && !s.gone {
		s.gone = true
		d.entities.Delete(s.key)
	}
}

// Resident returns the entity of key if it is in memory and this node owns it, and counts as a use.
// The caller may use only what the entity publishes to any goroutine. Resident takes no lock, does
// not allocate and does not retain key.
func (d *Directory) Resident(key []byte) Entity {
	e, ok := d.entities.Load(unsafe.String(unsafe.SliceData(key), len(key)))
	if !ok || !d.Owner.Owns(e.slot().group) {
		return nil
	}
	e.slot().touch(d.clock.Unix())
	return e
}

// remove removes s from the directory; its owner calls it under the gate.
func (d *Directory) remove(s *Slot) {
	d.entities.Delete(s.key)
	d.held.Add(-s.weight.Swap(0))
	d.left.Add(1)
}

// weigh records the new weight of s.
func (d *Directory) weigh(s *Slot, bytes int64) {
	bytes += overhead
	d.held.Add(bytes - s.weight.Swap(bytes))
}

// Sweep asks owners to leave: those idle for longer than age, and beyond the budget those idle for
// longest. It only posts; each owner decides for itself.
func (d *Directory) Sweep(age time.Duration, budget int64) {
	oldest := d.clock.Unix() - int64(age.Seconds())
	over := d.held.Load() - budget
	var idle []*Slot
	d.entities.Range(func(_ string, e Entity) bool {
		s := e.slot()
		switch {
		case s.used.Load() < oldest && lastUse(e) < oldest:
			over -= s.weight.Load()
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
	slices.SortFunc(idle, func(a, b *Slot) int { return cmp.Compare(a.used.Load(), b.used.Load()) })
	for _, s := range idle {
		if over <= 0 {
			return
		}
		over -= s.weight.Load()
		d.passivate(s, nil)
	}
}

// lastUse returns when the entity was last used, including uses without the directory.
func lastUse(e Entity) int64 {
	s := e.slot()
	if at := e.Polled(); at > s.used.Load() {
		s.used.Store(at)
	}
	return s.used.Load()
}

// Passivate asks one owner to leave, as Sweep does.
func (d *Directory) Passivate(key string) {
	if e, ok := d.entities.Load(key); ok {
		d.passivate(e.slot(), nil)
	}
}

// Evict returns when no entity of a group that this node has released is in memory. Nothing new is
// posted to them, so each leaves once it has replied to what was posted before.
func (d *Directory) Evict(g partition.Group) {
	for left := true; left; {
		left = false
		var asked []chan struct{}
		d.entities.Range(func(_ string, e Entity) bool {
			if s := e.slot(); s.group == g {
				left = true
				if seen := make(chan struct{}); d.passivate(s, seen) {
					asked = append(asked, seen)
				} else {
					d.vacate(s)
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
func (d *Directory) passivate(s *Slot, seen chan struct{}) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone || s.pid == nil {
		return false
	}
	s.posted.Add(1)
	d.root.Send(s.pid, passivate{seen})
	return true
}
