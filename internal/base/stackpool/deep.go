// Package stackpool runs work that needs a deep stack on another goroutine than its caller's.
//
// A goroutine's stack grows by being copied to one of twice the size, and a collection gives
// back half of what is not in use. So one that waits for long carries along what it needed
// before: it has that done by Do. And one that is new, for work that goes deep each time,
// copies its stack several times over: it is better one of a Pool.
package stackpool

import (
	"runtime/debug"

	"inboxd/internal/base/fault"
)

// failure is a panic of what Do had run, and where it was. Like the runtime's own errors it holds nothing
// of anybody's data, and is told in full (fault.Panicked).
type failure string

func (f failure) Error() string { return string(f) }

// RuntimeError makes it a runtime.Error.
func (failure) RuntimeError() {}

// Do has f run on a goroutine that ends with it, and returns when f does. A panic of f is
// the caller's.
func Do(f func()) {
	var failed error
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				failed = failure(fault.Panicked(p) + "\n" + string(debug.Stack()))
			}
		}()
		f()
	}()
	if <-done; failed != nil {
		panic(failed)
	}
}

// Pool is goroutines whose stacks have grown. They stay when their work is done, so far as
// there is a place for them. Any goroutine may use it.
type Pool struct {
	work  chan func()
	idle  chan struct{} // a place for each goroutine that may wait for work
	ended chan struct{} // closed: those that wait go
}

// NewPool returns a pool of goroutines of which at most idle wait for work. None runs yet.
func NewPool(idle int) *Pool {
	return &Pool{work: make(chan func()), idle: make(chan struct{}, idle), ended: make(chan struct{})}
}

// Go has f run. It never waits.
func (p *Pool) Go(f func()) {
	select {
	case p.work <- f:
	default:
		go p.serve(f)
	}
}

func (p *Pool) serve(f func()) {
	for {
		f()
		select {
		case p.idle <- struct{}{}:
		default:
			return
		}
		select {
		case f = <-p.work:
			<-p.idle
		case <-p.ended:
			return
		}
	}
}

// End lets those go that have no work. What is begun later still runs.
func (p *Pool) End() { close(p.ended) }
