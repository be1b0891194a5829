// Package meter counts durations at a cost that the fastest paths can afford. It does not know what
// is measured, and in which format it is exported.
package meter

import (
	"sync/atomic"
	"time"
)

// bucketBounds are the upper bounds of the buckets, ascending. Durations above the last are only in the
// count.
var bucketBounds = [...]time.Duration{
	100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond,
	time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond,
	10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond, 5 * time.Second, 10 * time.Second, 60 * time.Second,
}

const shardCount = 8

// DurationHistogram is a histogram of durations. Any goroutine may use it. Goroutines that pass
// different numbers, as connections do, mostly write to different memory. The zero Seconds is
// ready.
type DurationHistogram struct{ shards [shardCount]shard }

// shard fills whole cache lines, so that two shards never share one.
type shard struct {
	bucketCounts [len(bucketBounds) + 1]atomic.Uint64
	sumNanos     atomic.Int64 // nanoseconds
	_            [5]uint64
}

// Observe counts d; by selects the shard.
func (s *DurationHistogram) Observe(by uint64, d time.Duration) {
	at := 0
	for at < len(bucketBounds) && d > bucketBounds[at] {
		at++
	}
	to := &s.shards[by%shardCount]
	to.bucketCounts[at].Add(1)
	to.sumNanos.Add(int64(d))
}

// ObserveBetween counts the time between two moments.
func (s *DurationHistogram) ObserveBetween(began, ended time.Time) {
	s.Observe(uint64(began.UnixNano()>>10), ended.Sub(began))
}

// HistogramSnapshot is a snapshot of a histogram. If others count concurrently, its parts may
// differ by one observation.
type HistogramSnapshot struct {
	Count        uint64             `json:"count"`
	Sum          float64            `json:"sum"` // seconds
	BucketCounts map[float64]uint64 `json:"-"`   // upper bound in seconds to the number of durations not above it
}

// TakeSnapshot returns a snapshot of the histogram.
func (s *DurationHistogram) TakeSnapshot() HistogramSnapshot {
	r := HistogramSnapshot{BucketCounts: make(map[float64]uint64, len(bucketBounds))}
	var sum int64
	var counts [len(bucketBounds) + 1]uint64
	for i := range s.shards {
		for j := range counts {
			counts[j] += s.shards[i].bucketCounts[j].Load()
		}
		sum += s.shards[i].sumNanos.Load()
	}
	for i, n := range counts {
		r.Count += n
		if i < len(bucketBounds) {
			r.BucketCounts[bucketBounds[i].Seconds()] = r.Count
		}
	}
	r.Sum = time.Duration(sum).Seconds()
	return r
}
