package bench

import (
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// The range of a histogram, in nanoseconds: 1 µs to one minute, three digits.
const (
	lowestLatency  = int64(time.Microsecond)
	highestLatency = int64(time.Minute)
)

// latencies is a histogram of durations. Not safe for concurrent use: one per worker, merged
// afterwards.
type latencies struct{ h *hdr.Histogram }

func newLatencies() *latencies {
	return &latencies{hdr.New(lowestLatency, highestLatency, 3)}
}

// record adds d; what lies outside the range counts as the range's end, never as nothing.
func (l *latencies) record(d time.Duration) {
	_ = l.h.RecordValue(min(max(int64(d), lowestLatency), highestLatency)) // in range, so it cannot fail
}

func (l *latencies) merge(other *latencies) {
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

// percentiles returns nil when nothing was recorded: zeros would look like a result.
func (l *latencies) percentiles() *Percentiles {
	if l == nil || l.h.TotalCount() == 0 {
		return nil
	}
	at := func(q float64) float64 { return float64(l.h.ValueAtQuantile(q)) / 1e6 }
	return &Percentiles{P50: at(50), P90: at(90), P99: at(99), P999: at(99.9), Max: float64(l.h.Max()) / 1e6}
}
