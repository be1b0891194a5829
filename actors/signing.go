package actors

import (
	"context"
	"runtime"
	"time"
)

// Bounds of the rest after a signature: while callers wait, and for what may be of no use.
const (
	restTimes    = 5 // as long as the signature took
	restDoubting = 2
	restMost     = 20 * time.Millisecond
)

// toSign does do, which signs, when its turn has come. An RSA signature takes a core for a
// millisecond, three quarters of what a mail costs in all: as many at a time as goroutines run,
// so that a request that has just come does not wait behind one for each worker. While many
// callers wait for their 202, the queue leaves them three quarters of two cores, and more of
// more: what it does not do now it does as soon as they are gone. Mail for destinations that
// may be dead takes one turn at a time, and then leaves a core to others for a while.
func (q *mailQueue) toSign(ctx context.Context, trusts bool, do func() error) error {
	if trusts {
		return q.sign(ctx, do)
	}
	select {
	case q.doubting <- struct{}{}:
		defer func() { <-q.doubting }()
	case <-ctx.Done():
		return ctx.Err()
	}
	from := time.Now()
	err := q.sign(ctx, do)
	time.Sleep(min(restDoubting*time.Since(from), restMost))
	return err
}

func (q *mailQueue) sign(ctx context.Context, do func() error) error {
	select {
	case q.signing <- struct{}{}:
		defer func() { <-q.signing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	from := time.Now()
	err := do()
	if q.callers.Load() > int64(4*cap(q.signing)) {
		time.Sleep(min(restTimes*time.Since(from), restMost))
	}
	return err
}

func newSigning() chan struct{} { return make(chan struct{}, runtime.GOMAXPROCS(0)) }
