package actors

import (
	"context"
	"sync/atomic"
	"time"
)

// untilFull bounds how long mail waits for what others say of it. On a full disk it is not
// kept, whatever they say, and its sender must hear so within a second: so all look-ups end
// when the disk fills, and when the system stops. One context for all mails, because one of
// their own with two ends would cost each of them.
type untilFull struct {
	parent context.Context
	ctx    atomic.Pointer[context.Context] // from one full disk to the next
	end    context.CancelFunc              // of ctx; only run's goroutine uses it
}

func newUntilFull(parent context.Context) *untilFull {
	l := &untilFull{parent: parent}
	l.begin()
	return l
}

func (l *untilFull) begin() {
	ctx, end := context.WithCancel(l.parent)
	l.ctx.Store(&ctx)
	l.end = end
}

// current is what look-ups wait under now.
func (l *untilFull) current() context.Context { return *l.ctx.Load() }

// run follows the disk, looking at it every so often, until stop.
func (l *untilFull) run(stop <-chan struct{}, every time.Duration, full func() bool) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			l.follow(full())
		}
	}
}

// follow ends the wait when the disk is full, and begins anew when there is space again.
func (l *untilFull) follow(full bool) {
	if full {
		l.end()
	} else if l.current().Err() != nil {
		l.begin()
	}
}
