package mailqueue

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"
)

// Bounds of the rest after a signature: while callers wait, and for what may be of no use.
const (
	restTimes    = 5 // as long as the signature took
	restDoubting = 2
	restMost     = 20 * time.Millisecond
)

// signing gives out turns to sign. An RSA signature takes a core for a millisecond, three
// quarters of what a mail costs in all: as many at a time as goroutines run, so that a request
// that has just come does not wait behind one for each worker. While many callers wait for their
// 202, the queue leaves them three quarters of two cores, and more of more: what it does not do
// now it does as soon as they are gone. Mail for destinations that may be dead takes one turn at
// a time, and then leaves a core to others for a while. Any goroutine may use it.
type signing struct {
	turns    chan struct{}
	doubting chan struct{} // one signs for a destination that may be dead
	callers  *atomic.Int64 // sends that wait for their answer
}

func newSigning() signing {
	return signing{make(chan struct{}, runtime.GOMAXPROCS(0)), make(chan struct{}, 1), new(atomic.Int64)}
}

// CallerWaits notes a send that waits for its answer, until the returned function is called.
func (q *Queue) CallerWaits() (answered func()) {
	q.signing.callers.Add(1)
	return func() { q.signing.callers.Add(-1) }
}

// sign does do, which signs, when its turn has come.
func (s signing) sign(ctx context.Context, hopeful bool, do func() error) error {
	if hopeful {
		return s.inTurn(ctx, do)
	}
	select {
	case s.doubting <- struct{}{}:
		defer func() { <-s.doubting }()
	case <-ctx.Done():
		return ctx.Err()
	}
	from := time.Now()
	err := s.inTurn(ctx, do)
	time.Sleep(min(restDoubting*time.Since(from), restMost))
	return err
}

func (s signing) inTurn(ctx context.Context, do func() error) error {
	select {
	case s.turns <- struct{}{}:
		defer func() { <-s.turns }()
	case <-ctx.Done():
		return ctx.Err()
	}
	from := time.Now()
	err := do()
	if s.callers.Load() > int64(4*cap(s.turns)) {
		time.Sleep(min(restTimes*time.Since(from), restMost))
	}
	return err
}
