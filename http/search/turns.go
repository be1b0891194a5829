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
	// mostOfAccount bounds the searches of one account that run or wait.
	mostOfAccount = 4
	// patience is how long a search waits for its turn.
	patience = 5 * time.Second
	// moment is how long a piece of a download waits for its turn.
	moment = time.Millisecond
)

// Turns limits searches and large reads to half of the processors, so that polls always find a free
// one. It also limits the searches of one account, so that others get a turn. Any goroutine may use
// it.
type Turns struct {
	running chan struct{} // holds one element per running search or read
	pieces  chan struct{} // holds one element per piece of a download

	mu       sync.Mutex         // guards underway
	underway map[account.ID]int // searches that run or wait; no zeros
}

// NewTurns returns Turns with all turns free.
func NewTurns() *Turns {
	half := max(1, runtime.GOMAXPROCS(0)/2)
	return &Turns{running: make(chan struct{}, half), pieces: make(chan struct{}, half), underway: map[account.ID]int{}}
}

// Piece runs a short call, less than a tenth of a millisecond, of which thousands may arrive at
// once. Pieces wait for each other. Each also waits for a turn among the long calls, but no longer
// than moment, so that a search does not delay a download. Without this, both kinds together would
// keep every processor busy, and the Go scheduler polls the network only when a processor is idle.
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

// Take waits for a turn for a search; done ends it. The error is Unavailable if the account has too
// many searches in progress, or the wait was too long.
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

// Wait is Take for work whose memory budget already limits each account.
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
