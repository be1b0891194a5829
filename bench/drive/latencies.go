package drive

import (
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// The range of a histogram, in nanoseconds: 1 µs to one minute, three digits.
const (
	lowestLatency  = int64(time.Microsecond)
	highestLatency = int64(time.Minute)
)

// Latencies is a histogram of durations. Not safe for concurrent use: one per worker, merged
// afterwards.
type Latencies struct{ h *hdr.Histogram }

// NewLatencies returns an empty one.
func NewLatencies() *Latencies {
	return &Latencies{hdr.New(lowestLatency, highestLatency, 3)}
}

// Record adds d; what lies outside the range counts as the range's end, never as nothing.
func (l *Latencies) Record(d time.Duration) {
	_ = l.h.RecordValue(inRange(d)) // so it cannot fail
}

func inRange(d time.Duration) int64 { return min(max(int64(d), lowestLatency), highestLatency) }

// Merge adds all of other, which may be nil.
func (l *Latencies) Merge(other *Latencies) {
	if other != nil {
		l.h.Merge(other.h)
	}
}

// Percentiles of a latency, in milliseconds.
type Percentiles struct {
	P50  float64 `json:"p50_ms"`
	P90  float64 `json:"p90_ms"`
	P99  float64 `json:"p99_ms"`
	P999 float64 `json:"p99_9_ms"`
	Max  float64 `json:"max_ms"`
}

// Percentiles returns nil when nothing was recorded: zeros would look like a result.
func (l *Latencies) Percentiles() *Percentiles {
	if l == nil || l.h.TotalCount() == 0 {
		return nil
	}
	at := func(q float64) float64 { return float64(l.h.ValueAtQuantile(q)) / 1e6 }
	return &Percentiles{P50: at(50), P90: at(90), P99: at(99), P999: at(99.9), Max: float64(l.h.Max()) / 1e6}
}
