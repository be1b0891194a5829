package groups

import (
	"context"
	"sync"
	"time"

	"inboxd/internal/base/partition"
)

// Work tracks the work in progress for the groups that are held. The zero value holds none; any
// goroutine may use it.
type Work struct {
	mu sync.Mutex // guards everything except waiting for underWay
	of [partition.Groups]term
}

// term is one group's period from a gain to the loss.
type term struct {
	held     bool
	stopping chan struct{} // closed when held becomes false
	ctx      context.Context
	end      context.CancelFunc
	underWay sync.WaitGroup // incremented only while held
}

// Gain starts the term of a group. The contexts of its work end with parent.
func (w *Work) Gain(parent context.Context, g partition.Group) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := &w.of[g]
	t.held, t.stopping = true, make(chan struct{})
	t.ctx, t.end = context.WithCancel(parent)
}

// Holds reports whether work may start for the group.
func (w *Work) Holds(g partition.Group) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.of[g].held
}

// Begin starts work for the group, unless the group is not held. The caller must call End, and soon
// after ctx ends.
func (w *Work) Begin(g partition.Group) (ctx context.Context, held bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := &w.of[g]
	if t.held {
		t.underWay.Add(1)
	}
	return t.ctx, t.held
}

// End ends work that Begin started.
func (w *Work) End(g partition.Group) { w.of[g].underWay.Done() }

// Stopping returns a channel that is closed when the group is lost. It is for work that waits for
// its turn without Begin: Lose does not wait for such work.
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

// Lose returns when no work is in progress for the group any more. After grace it cancels the rest.
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
