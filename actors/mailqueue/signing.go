package mailqueue

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"
)

// Bounds of the pause after a signature: while callers wait, and for destinations that may not
// respond.
const (
	restTimes    = 5 // multiple of the signature's duration
	restDoubting = 2
	restMost     = 20 * time.Millisecond
)

// signingTurns limits concurrent signatures. An RSA signature takes a core for a millisecond, three
// quarters of the total cost of a message. At most GOMAXPROCS run at once, so that a new request
// does not wait behind one signature for each worker. While many callers wait for their 202, the
// queue leaves them three quarters of two cores, and more of more cores; it catches up when they
// are gone. Messages for destinations that may be dead take one turn at a time, and then leave a
// core to others for a while. Any goroutine may use it.
type signingTurns struct {
	freeTurns      chan struct{}
	doubtfulTurn   chan struct{} // one signs for a destination that may be dead
	waitingCallers *atomic.Int64 // sends that wait for their result
}

func newSigning() signingTurns {
	return signingTurns{make(chan struct{}, runtime.GOMAXPROCS(0)), make(chan struct{}, 1), new(atomic.Int64)}
}

// CallerWaits counts a send that waits for its result, until the returned function is called.
func (q *Queue) CallerWaits() (answered func()) {
	q.signingTurns.waitingCallers.Add(1)
	return func() { q.signingTurns.waitingCallers.Add(-1) }
}

// runSigning calls do, which signs, when it is its turn.
func (s signingTurns) runSigning(ctx context.Context, hopeful bool, do func() error) error {
	if hopeful {
		return s.inTurn(ctx, do)
	}
	select {
	case s.doubtfulTurn <- struct{}{}:
		defer func() { <-s.doubtfulTurn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	from := time.Now()
	err := s.inTurn(ctx, do)
	time.Sleep(min(restDoubting*time.Since(from), restMost))
	return err
}

func (s signingTurns) inTurn(ctx context.Context, do func() error) error {
	select {
	case s.freeTurns <- struct{}{}:
		defer func() { <-s.freeTurns }()
	case <-ctx.Done():
		return ctx.Err()
	}
	from := time.Now()
	err := do()
	if s.waitingCallers.Load() > int64(4*cap(s.freeTurns)) {
		time.Sleep(min(restTimes*time.Since(from), restMost))
	}
	return err
}
