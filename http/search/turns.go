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
	// maxTurnWait is how long a search waits for its turn.
	maxTurnWait = 5 * time.Second
	// maxPieceWait is how long a piece of a download waits for its turn.
	maxPieceWait = time.Millisecond
)

// TurnLimiter limits searches and large reads to half of the processors, so that polls always find
// a free one. It also limits the searches of one account, so that others get a turn. Any goroutine
// may use it.
type TurnLimiter struct {
	runningSearches chan struct{} // holds one element per running search or read
	runningPieces   chan struct{} // holds one element per piece of a download

	mu       sync.Mutex         // guards underway
	underway map[account.ID]int // searches that run or wait; no zeros
}

// NewTurns returns TurnLimiter with all turns free.
func NewTurns() *TurnLimiter {
	half := max(1, runtime.GOMAXPROCS(0)/2)
	return &TurnLimiter{runningSearches: make(chan struct{}, half), runningPieces: make(chan struct{}, half), underway: map[account.ID]int{}}
}

// RunPiece runs a short call, less than a tenth of a millisecond, of which thousands may arrive at
// once. Pieces wait for each other. Each also waits for a turn among the long calls, but no longer
// than moment, so that a search does not delay a download. Without this, both kinds together would
// keep every processor busy, and the Go scheduler polls the network only when a processor is idle.
func (t *TurnLimiter) RunPiece(call func()) {
	t.runningPieces <- struct{}{}
	defer func() { <-t.runningPieces }()
	select {
	case t.runningSearches <- struct{}{}:
		defer func() { <-t.runningSearches }()
	default:
		wait := time.NewTimer(maxPieceWait)
		defer wait.Stop()
		select {
		case t.runningSearches <- struct{}{}:
			defer func() { <-t.runningSearches }()
		case <-wait.C:
		}
	}
	call()
}

// TakeTurn waits for a turn for a search; done ends it. The error is Unavailable if the account has too
// many searches in progress, or the wait was too long.
func (t *TurnLimiter) TakeTurn(ctx context.Context, id account.ID) (done func(), err error) {
	if !t.enterSearch(id) {
		return nil, fault.New(fault.TemporarilyUnavailable, "This account has too many searches in progress, try again soon")
	}
	end, err := t.WaitTurn(ctx)
	if err != nil {
		t.leaveSearch(id)
		return nil, err
	}
	return func() { end(); t.leaveSearch(id) }, nil
}

// WaitTurn is TakeTurn for work whose memory budget already limits each account.
func (t *TurnLimiter) WaitTurn(ctx context.Context) (done func(), err error) {
	wait := time.NewTimer(maxTurnWait)
	defer wait.Stop()
	select {
	case t.runningSearches <- struct{}{}:
		return func() { <-t.runningSearches }, nil
	case <-ctx.Done():
	case <-wait.C:
	}
	return nil, fault.New(fault.TemporarilyUnavailable, "The service has too many searches and large reads in progress, try again soon")
}

func (t *TurnLimiter) enterSearch(id account.ID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.underway[id] >= mostOfAccount {
		return false
	}
	t.underway[id]++
	return true
}

func (t *TurnLimiter) leaveSearch(id account.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.underway[id]--; t.underway[id] == 0 {
		delete(t.underway, id)
	}
}
