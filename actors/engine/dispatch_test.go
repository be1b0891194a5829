package engine

import (
	"sync"
	"testing"
)

// TestWorkers schedules more at once than may stay, each part waiting for all others, so
// that none can run after another; then again, onto those that stayed.
func TestWorkers(t *testing.T) {
	w := NewWorkers()
	for round := range 3 {
		const parts = 2 * idleWorkers
		var together, done sync.WaitGroup
		together.Add(parts)
		for range parts {
			done.Add(1)
			w.Schedule(func() {
				defer done.Done()
				together.Done()
				together.Wait()
			})
		}
		done.Wait()
		if n := len(w.idle); n > idleWorkers {
			t.Errorf("round %d: %d wait", round, n)
		}
	}
	w.End()
	late := make(chan struct{})
	w.Schedule(func() { close(late) })
	<-late
}

// BenchmarkSchedule hands work over and waits for it.
func BenchmarkSchedule(b *testing.B) {
	w := NewWorkers()
	defer w.End()
	done := make(chan struct{})
	b.ReportAllocs()
	for b.Loop() {
		w.Schedule(func() { done <- struct{}{} })
		<-done
	}
}
