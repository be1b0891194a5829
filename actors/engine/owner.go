package engine

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"inboxd/internal/base/fault"
)

// Entity is what an owner owns: its state, and how that state is stored. Only its owner's goroutine
// calls the methods, except for Polled.
type Entity interface {
	// Load reads the state from the store and replaces what was in memory.
	Load() error
	// Decide decides cmd, applies its events to the state and collects their rows. The state is
	// private: nobody sees it before Commit and Publish.
	Decide(cmd any) (any, error)
	// Unheard returns the command that follows cmd if its sender gave up before it received answer;
	// nil if none exists. It is in the same commit, or in one before any other command is
	// decided.
	Unheard(cmd, answer any) any
	// Commit makes the collected rows durable; without rows it does nothing.
	Commit() error
	// Publish publishes the committed state.
	Publish()
	// Abandon drops the state and the collected rows after a failure.
	Abandon()
	// Vacant reports that nothing is stored for the entity. The owner then leaves memory at once,
	// so that deleted entities take no memory.
	Vacant() bool
	// Leave retracts what was published; the entity is not used again.
	Leave()
	// Weight is the approximate number of bytes held.
	Weight() int64
	// Polled is as in Slot, which every entity embeds.
	Polled() int64

	slot() *Slot
}

// Bounds of a group. Commands that queued up while a commit was in flight are decided together and
// committed in one batch (group commit); each gets its own result.
const (
	groupCommands = 256
	groupBytes    = 8 << 20
)

// owner is the actor of one entity, and the only writer of its rows.
//
// A group is decided on the private state, command by command. It becomes visible only after its
// one commit. A crash before the commit returns loses the whole group, and no command in it was
// acknowledged. A crash after the commit loses only the results.
//
// The goroutine that runs the mailbox owns all fields below slot; two never run it at once.
type owner struct {
	dir    *Directory
	entity Entity
	slot   *Slot // the entity's

	seen   uint64 // posts received; equals slot.posted when nothing is in the mailbox
	loaded bool
	group  []*request
	bytes  int64

	failures int       // failures in a row
	resting  time.Time // every command is refused until then
	refusal  error     // the error of such a refusal
}

// Receive implements actor.Actor.
func (o *owner) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *request:
		o.seen++
		o.take(msg)
		// An owner that failed stays, because otherwise its waiting time would be lost.
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

// take adds a request to the group, and settles the group unless more requests are in the mailbox.
func (o *owner) take(r *request) {
	o.group = append(o.group, r)
	o.bytes += r.size
	if o.seen < o.slot.posted.Load() && len(o.group) < groupCommands && o.bytes < groupBytes {
		return
	}
	o.settle()
}

// settle decides, commits, publishes and replies to the group.
func (o *owner) settle() {
	if len(o.group) == 0 {
		return
	}
	group := o.group
	err := o.run(group)
	if fault.Is(err, fault.StorageFull) && len(group) > 1 {
		// A command that needs space must not make commands fail that free space.
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

// followUp commits the follow-ups of results that came too late. If the process dies before this
// commit returns, neither the sender nor the disk says how the commands ended. The same holds for
// any crash between a commit and its reply.
func (o *owner) followUp(unheard []*request) {
	var group []*request
	for _, r := range unheard {
		if cmd := o.entity.Unheard(r.cmd, r.answer); cmd != nil {
			group = append(group, newRequest(cmd, 0))
		}
	}
	if len(group) > 0 {
		o.run(group) // run logs a failure
	}
}

// run takes a group through decide, commit and publish. An error means that none of the group took
// effect as far as we know, and that the state must be loaded again.
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

// decide decides a command, and its follow-up if the sender has already given up.
func (o *owner) decide(r *request) {
	r.answer, r.err = o.entity.Decide(r.cmd)
	if r.followed = r.over.Load() && r.err == nil; !r.followed {
		return
	}
	if next := o.entity.Unheard(r.cmd, r.answer); next != nil {
		o.entity.Decide(next)
	}
}

// activate loads the state if it is not in memory, unless the owner still rests after a failure.
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

// drop drops the state after a refusal, which does not count as a failure.
func (o *owner) drop(err error) error {
	o.loaded = false
	o.entity.Abandon()
	return err
}

// fail drops the state. What the disk holds is authoritative; it is read again after a rest that
// doubles with each failure in a row, up to 10 s. Failures are logged here: the senders of the
// commands are only asked to retry. The store reports damage once, and the senders get that error,
// because a retry is pointless.
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

// tryLeave lets the owner leave memory if its mailbox is empty. It runs under the gate, so that a
// poster either has counted itself before or sees gone.
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
