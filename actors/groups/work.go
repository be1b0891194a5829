package groups

import (
	"context"
	"sync"
	"time"

	"inboxd/internal/base/partition"
)

// GroupWork tracks the work in progress for the groups that are held. The zero value holds none; any
// goroutine may use it.
type GroupWork struct {
	mu sync.Mutex // guards everything except waiting for underWay
	of [partition.NumGroups]groupTerm
}

// groupTerm is one group's period from a gain to the loss.
type groupTerm struct {
	isHeld     bool
	stopping   chan struct{} // closed when held becomes false
	ctx        context.Context
	cancelWork context.CancelFunc
	underWay   sync.WaitGroup // incremented only while held
}

// AcquireGroup starts the term of a group. The contexts of its work end with parent.
func (w *GroupWork) AcquireGroup(parent context.Context, g partition.Group) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := &w.of[g]
	t.isHeld, t.stopping = true, make(chan struct{})
	t.ctx, t.cancelWork = context.WithCancel(parent)
}

// IsHeld reports whether work may start for the group.
func (w *GroupWork) IsHeld(g partition.Group) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.of[g].isHeld
}

// BeginWork starts work for the group, unless the group is not held. The caller must call EndWork,
// and soon after ctx ends.
func (w *GroupWork) BeginWork(g partition.Group) (ctx context.Context, held bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := &w.of[g]
	if t.isHeld {
		t.underWay.Add(1)
	}
	return t.ctx, t.isHeld
}

// EndWork ends work that BeginWork started.
func (w *GroupWork) EndWork(g partition.Group) { w.of[g].underWay.Done() }

// Stopping returns a channel that is closed when the group is lost. It is for work that waits for
// its turn without BeginWork: Lose does not wait for such work.
func (w *GroupWork) Stopping(g partition.Group) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.of[g].stopping
}

func (w *GroupWork) stopGroup(g partition.Group) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t := &w.of[g]; t.isHeld {
		t.isHeld = false
		close(t.stopping)
	}
}

// ReleaseGroup returns when no work is in progress for the group any more. After grace it cancels
// the rest.
func (w *GroupWork) ReleaseGroup(g partition.Group, grace time.Duration) {
	w.stopGroup(g)
	t := &w.of[g]
	if t.cancelWork == nil {
		return // never held
	}
	late := time.AfterFunc(grace, t.cancelWork)
	defer late.Stop()
	t.underWay.Wait()
	t.cancelWork()
}
