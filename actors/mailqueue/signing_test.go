package mailqueue

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestSigningRests checks that a signature keeps its turn for five times its duration while more
// than four callers for each turn wait, for 20 ms at most. Messages to destinations that may be
// dead always pause.
func TestSigningRests(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name    string
		callers int64
		hopeful bool
		signs   time.Duration
		turn    time.Duration // total
	}{
		{"nobody waits", 0, true, ms, ms},
		{"few wait", 8, true, ms, ms},
		{"many wait", 9, true, ms, 6 * ms},
		{"many wait for a slow one", 9, true, 10 * ms, 30 * ms},
		{"may be of no use", 0, false, ms, 3 * ms},
		{"may be of no use, slow", 0, false, 30 * ms, 50 * ms},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := signingTurns{make(chan struct{}, 2), make(chan struct{}, 1), new(atomic.Int64)}
				s.waitingCallers.Store(c.callers)
				failed, began := errors.New("no key"), time.Now()
				err := s.runSigning(t.Context(), c.hopeful, func() error { time.Sleep(c.signs); return failed })
				if took := time.Since(began); took != c.turn || err != failed {
					t.Errorf("took %v and gave %v, want %v", took, err, c.turn)
				}
			})
		})
	}
}

// TestSigningTakesTurns checks that at most as many signatures run as there are turns, and only one
// for destinations that may be dead. A cancelled caller stops waiting.
func TestSigningTakesTurns(t *testing.T) {
	for _, hopeful := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := signingTurns{make(chan struct{}, 2), make(chan struct{}, 1), new(atomic.Int64)}
			ctx, cancel := context.WithCancel(t.Context())
			finish := make(chan struct{})
			results := make(chan error, 5)
			began := make(chan struct{}, 5)
			for range 5 {
				go func() {
					results <- s.runSigning(ctx, hopeful, func() error { began <- struct{}{}; <-finish; return nil })
				}()
			}
			synctest.Wait()
			signed := len(began)
			cancel()
			synctest.Wait()
			gaveUp := len(results)
			close(finish)
			for range 5 {
				<-results
			}
			want := 2
			if !hopeful {
				want = 1
			}
			if signed != want || gaveUp != 5-want {
				t.Errorf("hopeful %v: %d sign at a time and %d gave up, want %d and %d", hopeful, signed, gaveUp, want, 5-want)
			}
		})
	}
}
