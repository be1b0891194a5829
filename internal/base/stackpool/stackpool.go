// Package stackpool runs work that needs a deep stack on another goroutine than its caller's. It
// does not know the work.
//
// A goroutine's stack grows by being copied to one of twice the size, and a garbage collection
// returns half of an unused stack. So a goroutine that waits for a long time should run deep work
// by Do, and not keep the large stack. Repeated deep work should run in a Pool, because a new
// goroutine would copy its stack several times.
package stackpool

import (
	"runtime/debug"

	"inboxd/internal/base/fault"
)

// panicFailure is a panic of the function that Do ran, with its position. Like runtime errors it
// contains no user data, so it is logged completely (fault.DescribePanic).
type panicFailure string

func (f panicFailure) Error() string { return string(f) }

// RuntimeError makes it a runtime.Error.
func (panicFailure) RuntimeError() {}

// Do runs f on a goroutine that ends with it, and returns when f does. It panics if f panics.
func Do(f func()) {
	var failed error
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				failed = panicFailure(fault.DescribePanic(p) + "\n" + string(debug.Stack()))
			}
		}()
		f()
	}()
	if <-done; failed != nil {
		panic(failed)
	}
}

// Pool is a set of goroutines with grown stacks. They stay after their work, up to a limit. Any
// goroutine may use it.
type Pool struct {
	workQueue chan func()
	idleSlots chan struct{} // a slot for each goroutine that may wait for work
	endSignal chan struct{} // closed: waiting goroutines end
}

// NewPool returns a pool in which at most idle goroutines wait for work. None runs yet.
func NewPool(idle int) *Pool {
	return &Pool{workQueue: make(chan func()), idleSlots: make(chan struct{}, idle), endSignal: make(chan struct{})}
}

// Go runs f. It never waits.
func (p *Pool) Go(f func()) {
	select {
	case p.workQueue <- f:
	default:
		go p.serveWork(f)
	}
}

func (p *Pool) serveWork(f func()) {
	for {
		f()
		select {
		case p.idleSlots <- struct{}{}:
		default:
			return
		}
		select {
		case f = <-p.workQueue:
			<-p.idleSlots
		case <-p.endSignal:
			return
		}
	}
}

// End ends the goroutines without work. Work that is added later still runs.
func (p *Pool) End() { close(p.endSignal) }
