package engine

import (
	"context"
	"sync/atomic"
	"time"

	"inboxd/internal/base/fault"
)

// commandRequest is a command on its way to an owner, with the place for its result. answer and err
// belong to the owner until it closes done; a sender that gave up reads neither.
type commandRequest struct {
	cmd        any
	batchBytes int64 // bytes that the command adds to a batch
	answer     any
	err        error
	done       chan struct{}
	// isResolved is swapped once, by the owner when it replies or by the sender when it gives up.
	// Whoever comes second knows what the other did.
	isResolved      atomic.Bool
	followUpDecided bool // the follow-up of giving up is decided; only the owner uses it
}

// deliverAnswer publishes the result; false if the sender has given up.
func (r *commandRequest) deliverAnswer() bool {
	if r.isResolved.Swap(true) {
		return false
	}
	close(r.done)
	return true
}

// giveUp ends the sender's wait with err, unless the result has arrived.
func (r *commandRequest) giveUp(err error) (any, error) {
	if !r.isResolved.Swap(true) {
		return nil, err
	}
	<-r.done
	return r.answer, r.err
}

func newRequest(cmd any, size int64) *commandRequest {
	return &commandRequest{cmd: cmd, batchBytes: size, done: make(chan struct{})}
}

// passivate asks an owner to leave memory if its mailbox is empty.
type passivate struct {
	doneCh chan struct{} // closed when the owner has handled it; nil if nobody waits
}

func (p passivate) signalDone() {
	if p.doneCh != nil {
		close(p.doneCh)
	}
}

// How long Wait waits. stallCheck is how often it checks for a full disk (specification, Faults:
// 452 and 507 within a second). longestWait is the timeout for everything else.
const (
	stallCheck  = 250 * time.Millisecond
	longestWait = 30 * time.Second
)

// WaitDone waits for done, for ctx, for longestWait, or until the disk is full. If a sender gives up,
// it does not know whether its command was committed, but a command is never half done.
func WaitDone(ctx context.Context, done <-chan struct{}, full func() bool) error {
	stalled := time.NewTicker(stallCheck)
	defer stalled.Stop()
	return waitWithTicker(ctx, done, full, stalled)
}

// waitWithTicker is Wait with a ticker of period stallCheck.
func waitWithTicker(ctx context.Context, done <-chan struct{}, full func() bool, stalled *time.Ticker) error {
	for waited := time.Duration(0); ; {
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return BusyError(ctx.Err())
		case <-stalled.C:
			if waited += stallCheck; full() {
				return DiskFull()
			} else if waited >= longestWait {
				return BusyError(nil)
			}
		}
	}
}

// BusyError returns the error for what may succeed a moment later; why may be nil. Errors about damage
// or about another node's data pass through unchanged.
func BusyError(why error) error {
	if fault.Is(why, fault.DataDamaged) || fault.Is(why, fault.MovedAway) {
		return why
	}
	return fault.Wrap(fault.TemporarilyUnavailable, "The service is busy, try again in a moment", why)
}

// DiskFull returns the error for what cannot be written because the disk is full.
func DiskFull() error {
	return fault.New(fault.StorageFull, "The service cannot store data right now, try again later")
}
