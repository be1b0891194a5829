package actors

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/puzpuzpuz/xsync/v4"

	"inboxd/internal/fault"
)

// directory finds the owner of an entity by its key, activating it when it is not in
// memory. Slots are in a lock-free map; a slot's gate guards who owns it.
type directory struct {
	root    *actor.RootContext
	workers *workers
	log     *slog.Logger
	now     func() time.Time
	full    func() bool
	entity  func(*slot) entity
	slots   *xsync.Map[string, *slot]
	waiting atomic.Int64 // commands admitted and not answered
	limit   int64        // of waiting
	clock   *coarseClock
	pools   pools
	held    atomic.Int64 // bytes of all slots
	left    atomic.Int64 // owners that left memory since the start
}

// overhead is what an idle slot and its actor cost beside the entity.
const overhead = 2048

// do hands cmd to the owner of key and waits for its answer. size is what cmd adds to a
// batch. Beyond the admission limit it answers Unavailable at once: mailboxes are
// unbounded, so the bound stands here.
func (d *directory) do(ctx context.Context, key string, cmd any, size int64) (any, error) {
	return d.send(ctx, key, d.pools.request(cmd, size))
}

// doHere is do for one who has nothing else to do: a free owner runs on the caller's
// goroutine. Then neither ctx nor a full disk ends the wait for the commit.
func (d *directory) doHere(ctx context.Context, key string, cmd any, size int64) (any, error) {
	r := d.pools.request(cmd, size)
	r.turn = true
	return d.send(ctx, key, r)
}

func (d *directory) send(ctx context.Context, key string, r *request) (any, error) {
	if d.waiting.Add(1) > d.limit {
		d.waiting.Add(-1)
		return nil, fault.New(fault.Unavailable, busySentence)
	}
	defer d.waiting.Add(-1)
	if s := d.post(key, r); r.turn {
		s.box.turn()
	}
	return r.await(ctx, &d.pools, d.full)
}

// post sends msg to the owner of key. Counting and sending happen under the slot's gate.
func (d *directory) post(key string, msg any) *slot {
	for {
		s, _ := d.slots.LoadOrCompute(key, func() (*slot, bool) { return &slot{key: key}, false })
		if d.postTo(s, msg) {
			return s
		}
	}
}

// postTo sends msg through the gate of s; false when s has left the directory.
func (d *directory) postTo(s *slot, msg any) bool {
	s.touch(d.clock.unix())
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return false
	}
	if s.pid == nil {
		s.pid = d.root.Spawn(actor.PropsFromProducer(func() actor.Actor {
			return &owner{dir: d, slot: s, entity: d.entity(s), log: d.log}
		}, actor.WithDispatcher(d.workers), actor.WithMailbox(s.mailbox)))
	}
	s.posted.Add(1)
	d.root.Send(s.pid, msg)
	return true
}

// resident returns the slot of key if it is in memory. It takes no lock, allocates nothing
// and does not keep key.
func (d *directory) resident(key []byte) *slot {
	s, ok := d.slots.Load(unsafe.String(unsafe.SliceData(key), len(key)))
	if !ok {
		return nil
	}
	s.touch(d.clock.unix())
	return s
}

// remove takes s out of the directory; its owner calls it under the gate.
func (d *directory) remove(s *slot) {
	d.slots.Delete(s.key)
	d.held.Add(-s.weight.Swap(0))
	d.left.Add(1)
}

// weigh accounts for the new weight of s and returns it.
func (d *directory) weigh(s *slot, bytes int64) int64 {
	bytes += overhead
	d.held.Add(bytes - s.weight.Load())
	return bytes
}

// sweep asks owners to leave: those idle for longer than age, and beyond the budget the
// longest idle ones first. It only posts; each owner decides for itself.
func (d *directory) sweep(age time.Duration, budget int64) {
	now := d.clock.unix()
	over := d.held.Load() - budget
	var idle []*slot
	d.slots.Range(func(_ string, s *slot) bool {
		switch {
		case now-s.used.Load() > int64(age.Seconds()) && now-s.lastUse() > int64(age.Seconds()):
			over -= s.weight.Load()
			d.ask(s)
		case over > 0:
			s.lastUse() // the order below is by what it notes
			idle = append(idle, s)
		}
		return true
	})
	if over <= 0 {
		return
	}
	over += budget / 10 // leave some room, so that not every sweep sorts
	slices.SortFunc(idle, func(a, b *slot) int { return cmp.Compare(a.used.Load(), b.used.Load()) })
	for _, s := range idle {
		if over <= 0 {
			return
		}
		over -= s.weight.Load()
		d.ask(s)
	}
}

// ask posts passivate without counting as a use.
func (d *directory) ask(s *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone || s.pid == nil {
		return
	}
	s.posted.Add(1)
	d.root.Send(s.pid, passivate{})
}

// tell posts cmd without waiting for its answer.
func (d *directory) tell(key string, cmd any) {
	d.post(key, &request{cmd: cmd, reply: make(chan reply, 1)})
}
