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
	// LoadState reads the state from the store and replaces what was in memory.
	LoadState() error
	// DecideCommand decides cmd, applies its events to the state and collects their rows. The state is
	// private: nobody sees it before Commit and Publish.
	DecideCommand(cmd any) (any, error)
	// FollowUpCommand returns the command that follows cmd if its sender gave up before it received
	// answer; nil if none exists. It is in the same commit, or in one before any other command is
	// decided.
	FollowUpCommand(cmd, answer any) any
	// CommitRows makes the collected rows durable; without rows it does nothing.
	CommitRows() error
	// PublishState publishes the committed state.
	PublishState()
	// DiscardState drops the state and the collected rows after a failure.
	DiscardState()
	// IsVacant reports that nothing is stored for the entity. The owner then leaves memory at once,
	// so that deleted entities take no memory.
	IsVacant() bool
	// OnUnload retracts what was published; the entity is not used again.
	OnUnload()
	// MemoryBytes is the approximate number of bytes held.
	MemoryBytes() int64
	// LastPolledUnix is as in EntitySlot, which every entity embeds.
	LastPolledUnix() int64

	slot() *EntitySlot
}

// Bounds of a group. Commands that queued up while a commit was in flight are decided together and
// committed in one batch (group commit); each gets its own result.
const (
	groupCommands = 256
	groupBytes    = 8 << 20
)

// entityOwner is the actor of one entity, and the only writer of its rows.
//
// A group is decided on the private state, command by command. It becomes visible only after its
// one commit. A crash before the commit returns loses the whole group, and no command in it was
// acknowledged. A crash after the commit loses only the results.
//
// The goroutine that runs the mailbox owns all fields below slot; two never run it at once.
type entityOwner struct {
	dir    *EntityDirectory
	entity Entity
	slot   *EntitySlot // the entity's

	receivedCount uint64 // posts received; equals slot.posted when nothing is in the mailbox
	stateLoaded   bool
	group         []*commandRequest
	groupSize     int64

	failureCount int       // failures in a row
	restUntil    time.Time // every command is refused until then
	restError    error     // the error of such a refusal
}

// Receive implements actor.Actor.
func (o *entityOwner) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *commandRequest:
		o.receivedCount++
		o.addRequest(msg)
		// An owner that failed stays, because otherwise its waiting time would be lost.
		if len(o.group) == 0 && o.stateLoaded && o.entity.IsVacant() && o.tryLeave() {
			ctx.Stop(ctx.Self())
		}
	case passivate:
		o.receivedCount++
		defer msg.signalDone()
		if o.settleGroup(); o.tryLeave() {
			ctx.Stop(ctx.Self())
		}
	}
}

// addRequest adds a request to the group, and settles the group unless more requests are in the
// mailbox.
func (o *entityOwner) addRequest(r *commandRequest) {
	o.group = append(o.group, r)
	o.groupSize += r.batchBytes
	if o.receivedCount < o.slot.postedCount.Load() && len(o.group) < groupCommands && o.groupSize < groupBytes {
		return
	}
	o.settleGroup()
}

// settleGroup decides, commits, publishes and replies to the group.
func (o *entityOwner) settleGroup() {
	if len(o.group) == 0 {
		return
	}
	group := o.group
	err := o.commitGroup(group)
	if fault.Is(err, fault.StorageFull) && len(group) > 1 {
		// A command that needs space must not make commands fail that free space.
		for _, r := range group {
			if err := o.commitGroup([]*commandRequest{r}); err != nil {
				r.err = err
			}
		}
		err = nil
	}
	var unanswered []*commandRequest
	for _, r := range group {
		if err != nil {
			r.answer, r.err = nil, err
		}
		if !r.deliverAnswer() && r.err == nil && !r.followUpDecided {
			unanswered = append(unanswered, r)
		}
	}
	o.followUp(unanswered)
	clear(o.group)
	o.group, o.groupSize = o.group[:0], 0
	o.dir.updateWeight(o.slot, o.entity.MemoryBytes())
}

// followUp commits the follow-ups of results that came too late. If the process dies before this
// commit returns, neither the sender nor the disk says how the commands ended. The same holds for
// any crash between a commit and its reply.
func (o *entityOwner) followUp(unanswered []*commandRequest) {
	var group []*commandRequest
	for _, r := range unanswered {
		if cmd := o.entity.FollowUpCommand(r.cmd, r.answer); cmd != nil {
			group = append(group, newRequest(cmd, 0))
		}
	}
	if len(group) > 0 {
		o.commitGroup(group) // run logs a failure
	}
}

// commitGroup takes a group through decide, commit and publish. An error means that none of the
// group took effect as far as we know, and that the state must be loaded again.
func (o *entityOwner) commitGroup(group []*commandRequest) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = o.failGroup(fmt.Errorf("%s\n%s", fault.DescribePanic(p), debug.Stack()))
		}
	}()
	if err := o.dir.Owner.CheckGroup(o.slot.group); err != nil {
		return o.dropState(err)
	}
	if err := o.ensureLoaded(); err != nil {
		return err
	}
	for _, r := range group {
		o.decideRequest(r)
	}
	if err := o.entity.CommitRows(); err != nil {
		if fault.Is(err, fault.StorageFull) || fault.Is(err, fault.MovedAway) {
			return o.dropState(err)
		}
		return o.failGroup(err)
	}
	o.failureCount = 0
	o.entity.PublishState()
	return nil
}

// decideRequest decides a command, and its follow-up if the sender has already given up.
func (o *entityOwner) decideRequest(r *commandRequest) {
	r.answer, r.err = o.entity.DecideCommand(r.cmd)
	if r.followUpDecided = r.isResolved.Load() && r.err == nil; !r.followUpDecided {
		return
	}
	if next := o.entity.FollowUpCommand(r.cmd, r.answer); next != nil {
		o.entity.DecideCommand(next)
	}
}

// ensureLoaded loads the state if it is not in memory, unless the owner still rests after a failure.
func (o *entityOwner) ensureLoaded() error {
	if o.stateLoaded {
		return nil
	}
	if o.dir.Now().Before(o.restUntil) {
		return o.restError
	}
	if err := o.entity.LoadState(); err != nil {
		if fault.Is(err, fault.MovedAway) {
			return o.dropState(err)
		}
		return o.failGroup(err)
	}
	o.stateLoaded = true
	o.entity.PublishState()
	return nil
}

// dropState drops the state after a refusal, which does not count as a failure.
func (o *entityOwner) dropState(err error) error {
	o.stateLoaded = false
	o.entity.DiscardState()
	return err
}

// failGroup drops the state. What the disk holds is authoritative; it is read again after a rest that
// doubles with each failure in a row, up to 10 s. Failures are logged here: the senders of the
// commands are only asked to retry. The store reports damage once, and the senders get that error,
// because a retry is pointless.
func (o *entityOwner) failGroup(err error) error {
	o.dropState(err)
	o.failureCount++
	o.restUntil = o.dir.Now().Add(min(10*time.Millisecond<<min(o.failureCount, 12), 10*time.Second))
	if o.restError = err; !fault.Is(err, fault.DataDamaged) {
		o.restError = BusyError(nil)
		o.dir.Logger.Error("owner failed", "entity", o.slot.key, "failures", o.failureCount, "err", err)
	}
	return o.restError
}

// tryLeave lets the owner leave memory if its mailbox is empty. It runs under the gate, so that a
// poster either has counted itself before or sees gone.
func (o *entityOwner) tryLeave() bool {
	o.slot.mu.Lock()
	defer o.slot.mu.Unlock()
	if o.slot.postedCount.Load() != o.receivedCount {
		return false
	}
	o.slot.isEvicted = true
	o.dir.removeSlot(o.slot)
	o.entity.OnUnload()
	return true
}
