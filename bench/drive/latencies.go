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

// Pacer spreads the requests of one connection evenly over time and says from when each
// one's latency counts. Without an interval requests follow each other and count from when
// they are sent. With one, a request that was due while the connection still waited for the
// previous answer counts from when it was due: a stall is charged to every request it held
// up, not to one (coordinated omission). A wake-up that comes late although the connection
// was idle is the client's fault and counts from the wake-up.
type Pacer struct {
	interval time.Duration
	due      time.Time
	Deadline time.Time
}

// NewPacer plans connection k of all at rate requests a second over all connections; zero
// is as fast as answers come.
func NewPacer(start, deadline time.Time, rate float64, k, all int) *Pacer {
	p := &Pacer{Deadline: deadline, due: start}
	if rate > 0 {
		p.interval = time.Duration(float64(all) / rate * float64(time.Second))
		p.due = start.Add(p.interval * time.Duration(k) / time.Duration(all))
	}
	return p
}

// Next waits until the next request is due. It returns when its latency starts, or false
// when the time is over.
func (p *Pacer) Next() (from time.Time, ok bool) {
	now := time.Now()
	if p.interval == 0 {
		return now, now.Before(p.Deadline)
	}
	if !p.due.Before(p.Deadline) || !now.Before(p.Deadline) {
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

// Unsent counts the requests that were due before the deadline and found no connection free
// for them, and tells how long each had waited by then, which is the least it would show.
func (p *Pacer) Unsent(tell func(waited time.Duration)) (n int64) {
	for ; p.interval > 0 && p.due.Before(p.Deadline); p.due = p.due.Add(p.interval) {
		tell(p.Deadline.Sub(p.due))
		n++
	}
	return n
}
