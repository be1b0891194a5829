package engine

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"inboxd/internal/base/fault"
)

// Entity is what an owner owns: its state, and the way of its state to the disk. Only its
// owner's goroutine calls it, but for Polled.
type Entity interface {
	// Load reads the state from the store, replacing whatever was in memory.
	Load() error
	// Decide decides cmd, applies its events to the state and collects their rows. The
	// state is private: nothing of it is seen before Commit and Publish.
	Decide(cmd any) (any, error)
	// Unheard is the command that follows cmd, whose sender gave up before it heard answer;
	// nil: none. It is in the same commit, or in one before any other command is decided.
	Unheard(cmd, answer any) any
	// Commit makes the collected rows durable; without rows it does nothing.
	Commit() error
	// Publish shows the committed state.
	Publish()
	// Abandon drops the state and the rows collected, after a failure.
	Abandon()
	// Vacant reports that nothing is there any more, or ever was: the owner leaves memory at
	// once, so that what is deleted takes none.
	Vacant() bool
	// Leave takes what was published out of sight; the entity is not used again.
	Leave()
	// Weight is the approximate number of bytes held.
	Weight() int64
	// Polled is as Slot's, which every entity embeds.
	Polled() int64

	slot() *Slot
}

// Bounds of a group: commands that queued up while a commit was in flight are decided
// together and committed in one batch, each answered on its own.
const (
	groupCommands = 256
	groupBytes    = 8 << 20
)

// owner is the actor of one entity, and the only writer of its rows.
//
// A group is decided on the private state command by command and becomes visible only
// after its one commit. A crash before the commit returns loses the whole group, of which
// nobody was answered; a crash after it loses answers only.
//
// The goroutine that runs its mailbox owns all fields below slot; no two run it at once.
type owner struct {
	dir    *Directory
	entity Entity
	slot   *Slot // the entity's

	seen   uint64 // posts received; meets slot.posted when nothing is on its way
	loaded bool
	group  []*request
	bytes  int64

	failures int       // loads and panics in a row
	resting  time.Time // until then every command is refused
	refusal  error     // with it
}

// Receive implements actor.Actor.
func (o *owner) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *request:
		o.seen++
		o.take(msg)
		// One that failed stays: its rest would be forgotten.
		if len(o.group) == 0 && o.loaded && o.entity.Vacant() && o.tryLeave() {
			ctx.Stop(ctx.Self())
		}
	case passivate:
		o.seen++
		defer msg.done()
		if o.settle(); o.tryLeave() {
			ctx.Stop(ctx.Self())
		}
	}
}

// take adds a request to the group and commits the group unless more is on its way.
func (o *owner) take(r *request) {
	o.group = append(o.group, r)
	o.bytes += r.size
	if o.seen < o.slot.posted.Load() && len(o.group) < groupCommands && o.bytes < groupBytes {
		return
	}
	o.settle()
}

// settle decides, commits, publishes and answers the group.
func (o *owner) settle() {
	if len(o.group) == 0 {
		return
	}
	group := o.group
	err := o.run(group)
	if fault.Is(err, fault.StorageFull) && len(group) > 1 {
		// One command that needs room must not refuse those that make room.
		for _, r := range group {
			if err := o.run([]*request{r}); err != nil {
				r.err = err
			}
		}
		err = nil
	}
	var unheard []*request
	for _, r := range group {
		if err != nil {
			r.answer, r.err = nil, err
		}
		if !r.tell() && r.err == nil && !r.followed {
			unheard = append(unheard, r)
		}
	}
	o.followUp(unheard)
	clear(o.group)
	o.group, o.bytes = o.group[:0], 0
	o.dir.weigh(o.slot, o.entity.Weight())
}

// followUp commits what follows from answers that came too late. A crash before its commit
// returns leaves commands of which neither sender nor disk says how they ended; so does any
// crash between a commit and its answer.
func (o *owner) followUp(unheard []*request) {
	var group []*request
	for _, r := range unheard {
		if cmd := o.entity.Unheard(r.cmd, r.answer); cmd != nil {
			group = append(group, newRequest(cmd, 0))
		}
	}
	if len(group) > 0 {
		o.run(group) // which logs what fails
	}
}

// run takes a group through decide, commit and publish. An error means that none of the
// group took effect as far as we know, and that the state must be loaded again.
func (o *owner) run(group []*request) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = o.fail(fmt.Errorf("%s\n%s", fault.Panicked(p), debug.Stack()))
		}
	}()
	if err := o.dir.Owner.CheckGroup(o.slot.group); err != nil {
		return o.drop(err)
	}
	if err := o.activate(); err != nil {
		return err
	}
	for _, r := range group {
		o.decide(r)
	}
	if err := o.entity.Commit(); err != nil {
		if fault.Is(err, fault.StorageFull) || fault.Is(err, fault.Moved) {
			return o.drop(err)
		}
		return o.fail(err)
	}
	o.failures = 0
	o.entity.Publish()
	return nil
}

// decide decides a command, and what follows from it when its sender has given up already.
func (o *owner) decide(r *request) {
	r.answer, r.err = o.entity.Decide(r.cmd)
	if r.followed = r.over.Load() && r.err == nil; !r.followed {
		return
	}
	if next := o.entity.Unheard(r.cmd, r.answer); next != nil {
		o.entity.Decide(next)
	}
}

// activate loads the state if it is not in memory, unless the last failure is too fresh.
func (o *owner) activate() error {
	if o.loaded {
		return nil
	}
	if o.dir.Now().Before(o.resting) {
		return o.refusal
	}
	if err := o.entity.Load(); err != nil {
		if fault.Is(err, fault.Moved) {
			return o.drop(err)
		}
		return o.fail(err)
	}
	o.loaded = true
	o.entity.Publish()
	return nil
}

// drop drops the state after a refusal, which is nobody's failure.
func (o *owner) drop(err error) error {
	o.loaded = false
	o.entity.Abandon()
	return err
}

// fail drops the state: whatever the disk holds is the truth, and it is read again after a
// rest that doubles with each failure in a row, up to 10 s. This is where a failure is
// logged: those who sent the commands only hear that they may try again. Damage is told by the
// store, once, and those who send hear of it: trying again is of no use.
func (o *owner) fail(err error) error {
	o.drop(err)
	o.failures++
	o.resting = o.dir.Now().Add(min(10*time.Millisecond<<min(o.failures, 12), 10*time.Second))
	if o.refusal = err; !fault.Is(err, fault.Damaged) {
		o.refusal = Busy(nil)
		o.dir.Logger.Error("owner failed", "entity", o.slot.key, "failures", o.failures, "err", err)
	}
	return o.refusal
}

// tryLeave lets the owner leave memory if nothing is on its way to it. Under the gate, so
// that a poster either counted itself before or sees gone.
func (o *owner) tryLeave() bool {
	o.slot.mu.Lock()
	defer o.slot.mu.Unlock()
	if o.slot.posted.Load() != o.seen {
		return false
	}
	o.slot.gone = true
	o.dir.remove(o.slot)
	o.entity.Leave()
	return true
}
