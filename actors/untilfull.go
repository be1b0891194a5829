package actors

import (
	"context"
	"sync/atomic"
	"time"
)

// fullTick is how soon a full disk ends the waits for what others say of a mail.
const fullTick = 100 * time.Millisecond

// untilFull bounds how long mail waits for what others say of it. On a full disk it is not
// kept, whatever they say, and its sender must hear so within a second: so all look-ups end
// when the disk fills, and when the system stops. One context for all mails, because one of
// their own with two ends would cost each of them.
type untilFull struct {
	parent context.Context
	now    atomic.Pointer[untilFullSpan]
}

// untilFullSpan is from one full disk to the next.
type untilFullSpan struct {
	context.Context
	end context.CancelFunc
}

func newUntilFull(parent context.Context) *untilFull {
	l := &untilFull{parent: parent}
	l.begin()
	return l
}

func (l *untilFull) begin() {
	ctx, cancel := context.WithCancel(l.parent)
	l.now.Store(&untilFullSpan{ctx, cancel})
}

// current is what look-ups wait under now.
func (l *untilFull) current() context.Context { return l.now.Load().Context }

// run follows the disk until stop.
func (l *untilFull) run(stop <-chan struct{}, full func() bool) {
	tick := time.NewTicker(fullTick)
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

// follow ends the span when the disk is full, and begins one when there is space again.
func (l *untilFull) follow(full bool) {
	switch span := l.now.Load(); {
	case full:
		span.end()
	case span.Err() != nil:
		l.begin()
	}
}
