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

// signing limits concurrent signatures. An RSA signature takes a core for a millisecond, three
// quarters of the total cost of a message. At most GOMAXPROCS run at once, so that a new request
// does not wait behind one signature for each worker. While many callers wait for their 202, the
// queue leaves them three quarters of two cores, and more of more cores; it catches up when they
// are gone. Messages for destinations that may be dead take one turn at a time, and then leave a
// core to others for a while. Any goroutine may use it.
type signing struct {
	turns    chan struct{}
	doubting chan struct{} // one signs for a destination that may be dead
	callers  *atomic.Int64 // sends that wait for their result
}

func newSigning() signing {
	return signing{make(chan struct{}, runtime.GOMAXPROCS(0)), make(chan struct{}, 1), new(atomic.Int64)}
}

// CallerWaits counts a send that waits for its result, until the returned function is called.
func (q *Queue) CallerWaits() (answered func()) {
	q.signing.callers.Add(1)
	return func() { q.signing.callers.Add(-1) }
}

// sign calls do, which signs, when it is its turn.
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
