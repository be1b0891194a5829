package groups

import (
	"context"
	"sync"
	"time"

	"inboxd/internal/base/partition"
)

// Work is what is under way for the groups that are held. The zero value holds none; any goroutine
// may use it.
type Work struct {
	mu sync.Mutex // guards all but the waiting for underWay
	of [partition.Groups]term
}

// term is one group's, from a gain to the loss.
type term struct {
	held     bool
	stopping chan struct{} // closed with held
	ctx      context.Context
	end      context.CancelFunc
	underWay sync.WaitGroup // added to while held
}

// Gain begins with a group. What is done for it ends with parent.
func (w *Work) Gain(parent context.Context, g partition.Group) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := &w.of[g]
	t.held, t.stopping = true, make(chan struct{})
	t.ctx, t.end = context.WithCancel(parent)
}

// Holds reports whether something may be begun for the group.
func (w *Work) Holds(g partition.Group) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.of[g].held
}

// Begin begins something for the group, unless it is lost. It is over with End, and ends soon when
// ctx does.
func (w *Work) Begin(g partition.Group) (ctx context.Context, held bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := &w.of[g]
	if t.held {
		t.underWay.Add(1)
	}
	return t.ctx, t.held
}

// End ends what Begin began.
func (w *Work) End(g partition.Group) { w.of[g].underWay.Done() }

// Stopping is closed when the group is lost, for what began while it was held: who only waits for
// its turn is not waited for.
func (w *Work) Stopping(g partition.Group) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.of[g].stopping
}

func (w *Work) stop(g partition.Group) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t := &w.of[g]; t.held {
		t.held = false
		close(t.stopping)
	}
}

// Lose returns when nothing is under way for the group any more. What takes longer than grace is
// broken off.
func (w *Work) Lose(g partition.Group, grace time.Duration) {
	w.stop(g)
	t := &w.of[g]
	if t.end == nil {
		return // never held
	}
	late := time.AfterFunc(grace, t.end)
	defer late.Stop()
	t.underWay.Wait()
	t.end()
}
