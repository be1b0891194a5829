package search

import (
	"context"
	"runtime"
	"sync"
	"time"

	"inboxd/internal/account"
	"inboxd/internal/fault"
)

const (
	// mostOfAccount bounds the searches of one account that run or wait for a turn.
	mostOfAccount = 4
	// patience is how long a search waits for its turn.
	patience = 5 * time.Second
)

// Turns lets searches run on half of the processors at most, so that polls find one free, and
// few of one account, so that others' searches find a turn. Any goroutine may use it.
type Turns struct {
	running chan struct{} // holds one for each

	mu       sync.Mutex         // guards underway
	underway map[account.ID]int // run or wait; no zeros
}

// NewTurns returns Turns that nobody has.
func NewTurns() *Turns {
	return &Turns{running: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)), underway: map[account.ID]int{}}
}

// Take waits for a turn, which ends with done. Unavailable: the account has too many under
// way, or the wait was too long.
func (t *Turns) Take(ctx context.Context, id account.ID) (done func(), err error) {
	if !t.enter(id) {
		return nil, fault.New(fault.Unavailable, "Too many searches of this account are under way, try again soon")
	}
	wait := time.NewTimer(patience)
	defer wait.Stop()
	select {
	case t.running <- struct{}{}:
		return func() { <-t.running; t.leave(id) }, nil
	case <-ctx.Done():
	case <-wait.C:
	}
	t.leave(id)
	return nil, fault.New(fault.Unavailable, "Too many searches are under way, try again soon")
}

func (t *Turns) enter(id account.ID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.underway[id] >= mostOfAccount {
		return false
	}
	t.underway[id]++
	return true
}

func (t *Turns) leave(id account.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.underway[id]--; t.underway[id] == 0 {
		delete(t.underway, id)
	}
}
