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

// pacer spreads the requests of one connection evenly over time and says from when each
// one's latency counts. Without an interval requests follow each other and count from when
// they are sent. With one, a request that was due while the connection still waited for the
// previous answer counts from when it was due: a stall is charged to every request it held
// up, not to one (coordinated omission). A wake-up that comes late although the connection
// was idle is the client's fault and counts from the wake-up.
type pacer struct {
	interval time.Duration
	due      time.Time
	deadline time.Time
}

// newPacer plans connection k of all at rate requests a second over all connections; zero
// is as fast as answers come.
func newPacer(start, deadline time.Time, rate float64, k, all int) *pacer {
	p := &pacer{deadline: deadline, due: start}
	if rate > 0 {
		p.interval = time.Duration(float64(all) / rate * float64(time.Second))
		p.due = start.Add(p.interval * time.Duration(k) / time.Duration(all))
	}
	return p
}

// next waits until the next request is due. It returns when its latency starts, or false
// when the time is over.
func (p *pacer) next() (from time.Time, ok bool) {
	now := time.Now()
	if p.interval == 0 {
		return now, now.Before(p.deadline)
	}
	if !p.due.Before(p.deadline) || !now.Before(p.deadline) {
		return now, false
	}
	from = p.due
	if wait := p.due.Sub(now); wait > 0 {
		time.Sleep(wait)
		from = time.Now()
	}
	p.due = p.due.Add(p.interval)
	return from, true
}

// unsent counts the requests that were due before the deadline and found no connection free
// for them, and records how long each had waited by then, which is the least it would show.
func (p *pacer) unsent(l *latencies) (n int64) {
	for ; p.interval > 0 && p.due.Before(p.deadline); p.due = p.due.Add(p.interval) {
		l.record(p.deadline.Sub(p.due))
		n++
	}
	return n
}
