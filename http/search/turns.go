package search

import (
	"context"
	"runtime"
	"sync"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
)

const (
	// mostOfAccount bounds the searches of one account that run or wait for a turn.
	mostOfAccount = 4
	// patience is how long a search waits for its turn.
	patience = 5 * time.Second
	// moment is how long a piece of a download waits for its turn.
	moment = time.Millisecond
)

// Turns lets searches, and reads of what is large, run on half of the processors at most, so
// that polls find one free, and few searches of one account, so that others' find a turn. Any
// goroutine may use it.
type Turns struct {
	running chan struct{} // holds one for each
	pieces  chan struct{} // holds one for each piece of a download

	mu       sync.Mutex         // guards underway
	underway map[account.ID]int // run or wait; no zeros
}

// NewTurns returns Turns that nobody has.
func NewTurns() *Turns {
	half := max(1, runtime.GOMAXPROCS(0)/2)
	return &Turns{running: make(chan struct{}, half), pieces: make(chan struct{}, half), underway: map[account.ID]int{}}
}

// Piece makes a call that takes less than a tenth of a millisecond, of those that come by the thousand
// at once. They wait for each other, and each for a turn among what takes long; but no longer than a
// moment, so that a search does not hold up a download. Without that both kinds together would
// keep every processor busy, and Go looks for what came over the network where one is not.
func (t *Turns) Piece(call func()) {
	t.pieces <- struct{}{}
	defer func() { <-t.pieces }()
	select {
	case t.running <- struct{}{}:
		defer func() { <-t.running }()
	default:
		wait := time.NewTimer(moment)
		defer wait.Stop()
		select {
		case t.running <- struct{}{}:
			defer func() { <-t.running }()
		case <-wait.C:
		}
	}
	call()
}

// Take waits for a search's turn, which ends with done. Unavailable: the account has too many
// under way, or the wait was too long.
func (t *Turns) Take(ctx context.Context, id account.ID) (done func(), err error) {
	if !t.enter(id) {
		return nil, fault.New(fault.Unavailable, "This account has too many searches in progress, try again soon")
	}
	end, err := t.Wait(ctx)
	if err != nil {
		t.leave(id)
		return nil, err
	}
	return func() { end(); t.leave(id) }, nil
}

// Wait is Take for what is bounded for each account by the memory it takes.
func (t *Turns) Wait(ctx context.Context) (done func(), err error) {
	wait := time.NewTimer(patience)
	defer wait.Stop()
	select {
	case t.running <- struct{}{}:
		return func() { <-t.running }, nil
	case <-ctx.Done():
	case <-wait.C:
	}
	return nil, fault.New(fault.Unavailable, "The service has too many searches and large reads in progress, try again soon")
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
