package smtp

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestPace checks that slots are granted in the order of arrival, that nobody waits longer than
// pacePatience, and that nobody waits after the server ends.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := admissionControl{idleEnds: make(chan struct{}, 1), maxActive: 2}
		stop := make(chan struct{})
		began := time.Now()
		var mu sync.Mutex
		var in []string
		come := func(who int) {
			go func() {
				p.acquireSlot(stop)
				mu.Lock()
				defer mu.Unlock()
				in = append(in, fmt.Sprint(who, " ", time.Since(began)))
			}()
			synctest.Wait()
		}
		expect := func(under int, want ...string) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			p.mu.Lock()
			defer p.mu.Unlock()
			if !slices.Equal(in, want) || p.activeCount != under {
				t.Errorf("%d under way, in came %q, want %d and %q", p.activeCount, in, under, want)
			}
			in = nil
		}
		for who := range 4 {
			come(who)
		}
		expect(2, "0 0s", "1 0s")
		time.Sleep(100 * time.Millisecond)
		p.releaseSlot()
		expect(2, "2 100ms")
		time.Sleep(time.Second)
		expect(3, "3 1s")
		p.releaseSlot()
		expect(2)
		come(4)
		expect(2)
		p.adjustLimit(true, 3) // some are always admitted
		expect(3, "4 1.1s")
		p.maxActive = 3
		come(5)
		close(stop)
		expect(4, "5 1.1s")
	})
}

// TestPaceIsJudged checks that the limit falls, down to a minimum, while mail takes too much of the
// CPU, and then rises again, up to all.
func TestPaceIsJudged(t *testing.T) {
	p := admissionControl{idleEnds: make(chan struct{}, 1), maxActive: 1000, activeCount: 80}
	var seen []int
	for _, crowds := range []bool{false, true, true, false, false} {
		p.adjustLimit(crowds, 1000)
		seen = append(seen, p.maxActive)
	}
	if want := []int{1000, 60, 45, 48, 52}; !slices.Equal(seen, want) {
		t.Errorf("at most %d, want %d", seen, want)
	}
	for range 100 {
		p.adjustLimit(true, 1000)
	}
	if p.maxActive != paceLeast {
		t.Errorf("at least %d", p.maxActive)
	}
	for range 100 {
		p.adjustLimit(false, 1000)
	}
	if p.maxActive != 1000 {
		t.Errorf("at most %d again", p.maxActive)
	}
	if p.adjustLimit(false, 1000) {
		t.Error("idle while transactions are open")
	}
	if p.activeCount = 0; !p.adjustLimit(false, 1000) {
		t.Error("not idle")
	}
	p.requestSlot()
	select {
	case <-p.idleEnds:
	default:
		t.Error("a transaction does not end the idle time")
	}
}
