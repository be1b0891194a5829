package actors

import (
	"context"
	"sync/atomic"
	"time"
)

// lookupsTick is how soon a full disk ends the waits for what others say of a mail.
const lookupsTick = 100 * time.Millisecond

// lookups bounds how long mail waits for what others say of it. On a full disk it is not
// kept, whatever they say, and its sender must hear so within a second: so all look-ups end
// when the disk fills, and when the system stops. One context for all mails, because one of
// their own with two ends would cost each of them.
type lookups struct {
	parent context.Context
	now    atomic.Pointer[lookupsSpan]
}

// lookupsSpan is from one full disk to the next.
type lookupsSpan struct {
	context.Context
	end context.CancelFunc
}

func newLookups(parent context.Context) *lookups {
	l := &lookups{parent: parent}
	l.begin()
	return l
}

func (l *lookups) begin() {
	ctx, cancel := context.WithCancel(l.parent)
	l.now.Store(&lookupsSpan{ctx, cancel})
}

// current is what look-ups wait under now.
func (l *lookups) current() context.Context { return l.now.Load().Context }

// run follows the disk until stop.
func (l *lookups) run(stop <-chan struct{}, full func() bool) {
	tick := time.NewTicker(lookupsTick)
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
func (l *lookups) follow(full bool) {
	switch span := l.now.Load(); {
	case full:
		span.end()
	case span.Err() != nil:
		l.begin()
	}
}
