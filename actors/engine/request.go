package engine

import (
	"context"
	"sync"
	"time"
)

// request is a command on its way to an owner, with the place for its answer. answer and
// err belong to the owner until it sends the reply.
type request struct {
	cmd    any
	size   int64 // bytes that the command adds to a batch
	answer any
	err    error
	reply  chan reply
}

type reply struct {
	answer any
	err    error
}

// passivate asks an owner to leave memory if nothing else is on its way to it.
type passivate struct{}

// pools keep what every command needs, for reuse. A request goes back only after its answer
// was received; one whose sender gave up is left to the garbage collector, because the
// owner may still write to it.
type pools struct{ requests, timers sync.Pool }

func (p *pools) request(cmd any, size int64) *request {
	r, _ := p.requests.Get().(*request)
	if r == nil {
		r = &request{reply: make(chan reply, 1)}
	}
	r.cmd, r.size = cmd, size
	return r
}

func (p *pools) timer(d time.Duration) *time.Timer {
	t, _ := p.timers.Get().(*time.Timer)
	if t == nil {
		return time.NewTimer(d)
	}
	t.Reset(d)
	return t
}

// How long a sender waits: StallCheck finds out early that the disk is full (specification,
// Faults: 452 and 507 within a second); longestWait is the end of waiting for anything else.
const (
	StallCheck  = 250 * time.Millisecond
	longestWait = 30 * time.Second
)

// await waits for the answer to r, for ctx, or for the longest wait to end. A commit whose
// sender gave up is unknown to that sender, never half done.
func (r *request) await(ctx context.Context, p *pools, full func() bool) (any, error) {
	timer := p.timer(StallCheck)
	defer func() {
		timer.Stop()
		p.timers.Put(timer)
	}()
	for waited := time.Duration(0); ; {
		select {
		case got := <-r.reply:
			r.cmd, r.answer, r.err = nil, nil, nil
			p.requests.Put(r)
			return got.answer, got.err
		case <-ctx.Done():
			return nil, Busy(ctx.Err())
		case <-timer.C:
			if waited += StallCheck; full() {
				return nil, DiskFull()
			} else if waited >= longestWait {
				return nil, Busy(nil)
			}
			timer.Reset(StallCheck)
		}
	}
}
