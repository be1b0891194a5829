package engine

import (
	"context"
	"sync/atomic"
	"time"

	"inboxd/internal/base/fault"
)

// request is a command on its way to an owner, with the place for its result. answer and err belong
// to the owner until it closes done; a sender that gave up reads neither.
type request struct {
	cmd    any
	size   int64 // bytes that the command adds to a batch
	answer any
	err    error
	done   chan struct{}
	// over is swapped once, by the owner when it replies or by the sender when it gives up. Whoever
	// comes second knows what the other did.
	over     atomic.Bool
	followed bool // the follow-up of giving up is decided; only the owner uses it
}

// tell publishes the result; false if the sender has given up.
func (r *request) tell() bool {
	if r.over.Swap(true) {
		return false
	}
	close(r.done)
	return true
}

// giveUp ends the sender's wait with err, unless the result has arrived.
func (r *request) giveUp(err error) (any, error) {
	if !r.over.Swap(true) {
		return nil, err
	}
	<-r.done
	return r.answer, r.err
}

func newRequest(cmd any, size int64) *request {
	return &request{cmd: cmd, size: size, done: make(chan struct{})}
}

// passivate asks an owner to leave memory if its mailbox is empty.
type passivate struct {
	seen chan struct{} // closed when the owner has handled it; nil if nobody waits
}

func (p passivate) done() {
	if p.seen != nil {
		close(p.seen)
	}
}

// How long Wait waits. stallCheck is how often it checks for a full disk (specification, Faults:
// 452 and 507 within a second). longestWait is the timeout for everything else.
const (
	stallCheck  = 250 * time.Millisecond
	longestWait = 30 * time.Second
)

// Wait waits for done, for ctx, for longestWait, or until the disk is full. If a sender gives up,
// it does not know whether its command was committed, but a command is never half done.
func Wait(ctx context.Context, done <-chan struct{}, full func() bool) error {
	stalled := time.NewTicker(stallCheck)
	defer stalled.Stop()
	return wait(ctx, done, full, stalled)
}

// wait is Wait with a ticker of period stallCheck.
func wait(ctx context.Context, done <-chan struct{}, full func() bool, stalled *time.Ticker) error {
	for waited := time.Duration(0); ; {
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return Busy(ctx.Err())
		case <-stalled.C:
			if waited += stallCheck; full() {
				return DiskFull()
			} else if waited >= longestWait {
				return Busy(nil)
			}
		}
	}
}

// Busy returns the error for what may succeed a moment later; why may be nil. Errors about damage
// or about another node's data pass through unchanged.
func Busy(why error) error {
	if fault.Is(why, fault.Damaged) || fault.Is(why, fault.Moved) {
		return why
	}
	return fault.Wrap(fault.Unavailable, "The service is busy, try again in a moment", why)
}

// DiskFull returns the error for what cannot be written because the disk is full.
func DiskFull() error {
	return fault.New(fault.StorageFull, "The service cannot store data right now, try again later")
}
