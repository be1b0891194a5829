package engine

import (
	"context"
	"sync/atomic"
	"time"

	"inboxd/internal/base/fault"
)

// request is a command on its way to an owner, with the place for its answer. answer and
// err belong to the owner until it closes done; a sender that gave up reads neither.
type request struct {
	cmd    any
	size   int64 // bytes that the command adds to a batch
	answer any
	err    error
	done   chan struct{}
	// over is swapped once, by the owner when it answers or by the sender when it gives up:
	// who comes second knows what the other one did.
	over     atomic.Bool
	followed bool // what follows from that is decided; the owner's
}

// tell hands the answer over; false when the sender has given up.
func (r *request) tell() bool {
	if r.over.Swap(true) {
		return false
	}
	close(r.done)
	return true
}

// giveUp ends the sender's wait because of err, unless the answer is there.
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

// passivate asks an owner to leave memory if nothing else is on its way to it.
type passivate struct {
	seen chan struct{} // closed when it did, or did not; nil: nobody waits
}

func (p passivate) done() {
	if p.seen != nil {
		close(p.seen)
	}
}

// How long Wait waits: stallCheck finds out early that the disk is full (specification,
// Faults: 452 and 507 within a second); longestWait is the end of waiting for anything else.
const (
	stallCheck  = 250 * time.Millisecond
	longestWait = 30 * time.Second
)

// Wait waits for done, for ctx, or for the longest wait to end, or until the disk is found
// full. A commit whose sender gave up is unknown to that sender, never half done.
func Wait(ctx context.Context, done <-chan struct{}, full func() bool) error {
	stalled := time.NewTicker(stallCheck)
	defer stalled.Stop()
	return wait(ctx, done, full, stalled)
}

// wait is Wait with a ticker of stallCheck.
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

// Busy is the fault of what may work a moment later; why may be nil. What is damaged, or another
// node's, stays so.
func Busy(why error) error {
	if fault.Is(why, fault.Damaged) || fault.Is(why, fault.Moved) {
		return why
	}
	return fault.Wrap(fault.Unavailable, "The service is busy, try again in a moment", why)
}

// DiskFull is the fault of what the disk does not take.
func DiskFull() error {
	return fault.New(fault.StorageFull, "The service cannot store data right now, try again later")
}
