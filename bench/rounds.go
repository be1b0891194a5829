package bench

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Round is what one side did in one turn.
type Round struct {
	Count      int64 // answers or mails that were right
	Errors     int64 // answers that were not, and refused mails
	Unsent     int64 // planned by --rate, but no connection was free in time
	Elapsed    time.Duration
	FirstError string

	latency *latencies // nil when the tool that drove the load shows none
	cpu     cpuTime    // of the target's process, when it is ours
}

// NewRound returns one that keeps latencies.
func NewRound() Round { return Round{latency: newLatencies()} }

// Record counts one right answer and how long it took.
func (r *Round) Record(d time.Duration) {
	r.Count++
	r.latency.record(d)
}

// Fail counts one wrong answer.
func (r *Round) Fail(reason string) { r.fail(reason) }

func (r Round) perSecond() float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.Count) / r.Elapsed.Seconds()
}

// fail counts one wrong answer and keeps the first reason.
func (r *Round) fail(reason string) {
	if r.Errors++; r.FirstError == "" {
		r.FirstError = reason
	}
}

// add joins what another worker, or another round, did. Elapsed is left alone: workers run
// side by side, rounds one after the other.
func (r *Round) add(other Round) {
	r.Count += other.Count
	r.Errors += other.Errors
	r.Unsent += other.Unsent
	r.cpu = r.cpu.plus(other.cpu)
	if r.FirstError == "" {
		r.FirstError = other.FirstError
	}
	if r.latency == nil && other.latency != nil {
		r.latency = newLatencies()
	}
	if other.latency != nil {
		r.latency.merge(other.latency)
	}
}

// Side is one of the things that are compared.
type Side struct {
	Target string
	Run    func(ctx context.Context, round int) (Round, error)
	proc   *process                                   // whose processor time its turns take; nil: not counted
	verify func(ctx context.Context, round int) error // after each turn, outside of what is measured; may be nil
}

// turn runs one round and counts the processor time of it.
func (s Side) turn(ctx context.Context, round int) (Round, error) {
	before, err := s.proc.cpu()
	if err != nil {
		return Round{}, err
	}
	r, err := s.Run(ctx, round)
	if err != nil {
		return r, err
	}
	after, err := s.proc.cpu()
	r.cpu = after.minus(before)
	if err == nil && s.verify != nil {
		err = s.verify(ctx, round)
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
			totals[i].add(r)
			totals[i].Elapsed += r.Elapsed
			results[i].Rounds = append(results[i].Rounds, r.perSecond())
			costs[i] = append(costs[i], r.cost().total())
		}
	}
	for i, side := range sides {
		results[i].Name, results[i].Target = name, side.Target
		results[i].fill(totals[i])
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
		r.Median, r.Min, r.Max = median(r.Rounds), slices.Min(r.Rounds), slices.Max(r.Rounds)
	}
	if a.CPU == nil || b.CPU == nil {
		return r
	}
	if costs := quotients(a.CPU.Rounds, b.CPU.Rounds); len(costs) > 0 {
		r.CPU = median(costs)
	}
	return r
}

// inTurn is what would come out if every operation were one of a and then one of b.
func inTurn(a, b Result) Result {
	r := Result{Name: a.Name, Target: a.Target + " then " + b.Target}
	for i := range min(len(a.Rounds), len(b.Rounds)) {
		both := 0.0
		if a.Rounds[i] > 0 && b.Rounds[i] > 0 {
			both = 1 / (1/a.Rounds[i] + 1/b.Rounds[i])
		}
		r.Rounds = append(r.Rounds, both)
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

// median of a non-empty list; the mean of the two in the middle when their number is even.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
