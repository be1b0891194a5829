package meter

import (
	"sync"
	"testing"
	"time"
	"unsafe"
)

func TestReading(t *testing.T) {
	var s DurationHistogram
	var all sync.WaitGroup
	for by := range uint64(20) {
		all.Go(func() {
			s.Observe(by, 100*time.Microsecond) // equal to a bound: not above it
			s.Observe(by, 101*time.Microsecond)
			s.Observe(by, 2*time.Minute)
		})
	}
	all.Wait()
	r := s.TakeSnapshot()
	if r.Count != 60 || r.BucketCounts[0.0001] != 20 || r.BucketCounts[0.00025] != 40 || r.BucketCounts[60] != 40 {
		t.Errorf("%+v", r)
	}
	if want := 20 * (0.000201 + 120); r.Sum < want-1e-6 || r.Sum > want+1e-6 {
		t.Errorf("sum %v, want %v", r.Sum, want)
	}
}

// TestShardsShareNoLine checks that two cores that count do not share a cache line.
func TestShardsShareNoLine(t *testing.T) {
	if size := unsafe.Sizeof(shard{}); size%64 != 0 {
		t.Errorf("a shard has %d bytes", size)
	}
}

func BenchmarkObserve(b *testing.B) {
	var s DurationHistogram
	b.RunParallel(func(pb *testing.PB) {
		by := uint64(uintptr(unsafe.Pointer(pb)) >> 6)
		for pb.Next() {
			s.Observe(by, 300*time.Microsecond)
		}
	})
}
