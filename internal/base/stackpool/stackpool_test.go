package stackpool

import (
	"strings"
	"sync"
	"testing"

	"inboxd/internal/base/fault"
)

// TestDo checks that the caller waits for the end, and that a panic reaches the caller, with the
// stack of its origin.
func TestDo(t *testing.T) {
	n := 0
	Do(func() { n++ })
	if n != 1 {
		t.Errorf("ran %d times", n)
	}
	defer func() {
		if reported := fault.DescribePanic(recover()); !strings.HasPrefix(reported, "a panic of type string\n") || !strings.Contains(reported, "stackpool_test.go") || strings.Contains(reported, "no such row") {
			t.Errorf("panicked with %v", reported)
		}
	}()
	Do(func() { panic("no such row") })
	t.Error("went on after a panic")
}

// TestPool runs more concurrent parts than may stay. Each waits for all others, so that none can
// run after another. Then it repeats this with the goroutines that stayed.
func TestPool(t *testing.T) {
	const idle = 64
	p := NewPool(idle)
	for round := range 3 {
		const parts = 2 * idle
		var together, done sync.WaitGroup
		together.Add(parts)
		for range parts {
			done.Add(1)
			p.Go(func() {
				defer done.Done()
				together.Done()
				together.Wait()
			})
		}
		done.Wait()
		if n := len(p.idleSlots); n > idle {
			t.Errorf("round %d: %d wait", round, n)
		}
	}
	p.End()
	late := make(chan struct{})
	p.Go(func() { close(late) })
	<-late
}

// BenchmarkPool hands work over and waits for it.
func BenchmarkPool(b *testing.B) {
	p := NewPool(64)
	defer p.End()
	done := make(chan struct{})
	b.ReportAllocs()
	for b.Loop() {
		p.Go(func() { done <- struct{}{} })
		<-done
	}
}
