// Package drive sends requests and messages as fast as can be, or at a pace, and measures what
// comes back: connections that share the cores with the server, latencies that are charged with the
// stalls they meet, sides that take turns, and what a child's process computes. It knows HTTP, SMTP
// and the call that pollers make; the loads know which response is right.
package drive

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Round is what one side did in one turn.
type Round struct {
	Count      int64 // responses or messages that were right
	Errors     int64 // responses that were not, and refused messages
	Unsent     int64 // planned by --rate, but no connection was free in time
	Elapsed    time.Duration
	FirstError string

	Latency *Latencies // nil when the tool that drove the load shows none
	cpu     cpuTime    // of the target's process, when it is ours
}

// NewRound returns one that keeps latencies.
func NewRound() Round { return Round{Latency: NewLatencies()} }

// Record counts one right response and how long it took.
func (r *Round) Record(d time.Duration) {
	r.Count++
	r.Latency.Record(d)
}

// PerSecond is the rate of right responses; zero when no time has passed.
func (r Round) PerSecond() float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.Count) / r.Elapsed.Seconds()
}

// says summarizes the round for the display of progress.
func (r Round) says() string {
	text := fmt.Sprintf("%.0f/s", r.PerSecond())
	if p := r.Latency.Percentiles(); p != nil {
		text += fmt.Sprintf("  p50 %.2f  p99 %.2f ms", p.P50, p.P99)
	}
	return text
}

// Fail counts one wrong response and keeps the first reason.
func (r *Round) Fail(reason string) {
	if r.Errors++; r.FirstError == "" {
		r.FirstError = reason
	}
}

// Add joins what another worker, or another round, did. Elapsed is left alone: workers run
// side by side, rounds one after the other.
func (r *Round) Add(other Round) {
	r.Count += other.Count
	r.Errors += other.Errors
	r.Unsent += other.Unsent
	r.cpu = r.cpu.plus(other.cpu)
	if r.FirstError == "" {
		r.FirstError = other.FirstError
	}
	if r.Latency == nil && other.Latency != nil {
		r.Latency = NewLatencies()
	}
	if other.Latency != nil {
		r.Latency.Merge(other.Latency)
	}
}

// Side is one of the things that are compared.
type Side struct {
	Target string
	Run    func(ctx context.Context, round int) (Round, error)
	Proc   *Process                                   // whose processor time its turns take; nil: not counted
	Verify func(ctx context.Context, round int) error // after each turn, outside of what is measured; may be nil
}

// turn runs one round and counts the processor time of it.
func (s Side) turn(ctx context.Context, round int) (Round, error) {
	before, err := s.Proc.cpu()
	if err != nil {
		return Round{}, err
	}
	r, err := s.Run(ctx, round)
	if err != nil {
		return r, err
	}
	after, err := s.Proc.cpu()
	r.cpu = after.minus(before)
	if err == nil && s.Verify != nil {
		err = s.Verify(ctx, round)
	}
	return r, err
}

// Alternate lets the sides take turns, A B A B, so that a drift of the machine meets them
// all alike, and returns one result per side, in order.
func Alternate(ctx context.Context, name string, rounds int, sides ...Side) ([]Result, error) {
	totals := make([]Round, len(sides))
	results := make([]Result, len(sides))
	costs := make([][]float64, len(sides))
	for round := range rounds {
		for i, side := range sides {
			r, err := side.turn(ctx, round)
			if err != nil {
				return nil, fmt.Errorf("%s on %s, round %d: %w", name, side.Target, round+1, err)
			}
			totals[i].Add(r)
			totals[i].Elapsed += r.Elapsed
			results[i].Rounds = append(results[i].Rounds, r.PerSecond())
			costs[i] = append(costs[i], r.cost().Total())
			if p := r.Latency.Percentiles(); p != nil {
				results[i].RoundP50 = append(results[i].RoundP50, p.P50)
				results[i].RoundP99 = append(results[i].RoundP99, p.P99)
			}
			ShowProgress(ctx, Moment{Name: name + ": " + side.Target, Done: float64(round + 1), All: float64(rounds), Says: r.says()})
		}
	}
	for i, side := range sides {
		results[i].Name, results[i].Target = name, side.Target
		results[i].Fill(totals[i])
		if results[i].CPU != nil {
			results[i].CPU.Rounds = costs[i]
		}
	}
	return results, nil
}

// Ratio compares two sides of one run, round by round: what happened in the same minute is
// comparable, absolute figures of different runs are not.
type Ratio struct {
	Name   string    `json:"name"`
	Of     string    `json:"of"`
	To     string    `json:"to"`
	Median float64   `json:"median"`
	Min    float64   `json:"min"`
	Max    float64   `json:"max"`
	Rounds []float64 `json:"rounds"`
	// CPU is the median of what an operation of one costs in processor time, in those of the
	// other; zero when it is not known of both.
	CPU float64 `json:"cpu,omitempty"`
}

// RatioOf divides the rounds of a by those of b. A round in which b did nothing has no
// ratio and is left out.
func RatioOf(a, b Result) Ratio {
	r := Ratio{Name: a.Name, Of: a.Target, To: b.Target, Rounds: quotients(a.Rounds, b.Rounds)}
	if len(r.Rounds) > 0 {
		r.Median, r.Min, r.Max = Median(r.Rounds), slices.Min(r.Rounds), slices.Max(r.Rounds)
	}
	if a.CPU == nil || b.CPU == nil {
		return r
	}
	if costs := quotients(a.CPU.Rounds, b.CPU.Rounds); len(costs) > 0 {
		r.CPU = Median(costs)
	}
	return r
}

// quotients divides turn by turn, where the divisor is anything.
func quotients(a, b []float64) (out []float64) {
	for i := range min(len(a), len(b)) {
		if b[i] > 0 {
			out = append(out, a[i]/b[i])
		}
	}
	return out
}

// Median of a non-empty list; the mean of the two in the middle when their number is even.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
