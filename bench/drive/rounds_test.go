package drive

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestAlternateTakesTurnsAndAddsUp(t *testing.T) {
	var turns []string
	side := func(name string, perSecond ...int64) Side {
		return Side{Target: name, Run: func(_ context.Context, round int) (Round, error) {
			turns = append(turns, name)
			l := NewLatencies()
			l.Record(time.Duration(round+1) * time.Millisecond)
			return Round{Count: 2 * perSecond[round], Elapsed: 2 * time.Second, Latency: l}, nil
		}}
	}
	results, err := Alternate(t.Context(), "load", 3, side("a", 90, 50, 80), side("b", 100, 100, 100))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(turns, ""); got != "ababab" {
		t.Errorf("turns %s", got)
	}
	a := results[0]
	if a.Count != 440 || a.Seconds != 6 || !reflect.DeepEqual(a.Rounds, []float64{90, 50, 80}) {
		t.Errorf("a: %+v", a)
	}
	if a.PerSecond < 73.3 || a.PerSecond > 73.4 {
		t.Errorf("per second over all rounds: %v, want 440/6", a.PerSecond)
	}
	if p := a.Latency; p.P50 < 1.99 || p.P50 > 2.01 || p.Max < 2.99 || p.Max > 3.01 {
		t.Errorf("merged latency: %+v", p)
	}
}

func TestAlternateNamesTheTurnThatFailed(t *testing.T) {
	broken := errors.New("broken")
	_, err := Alternate(t.Context(), "load", 2, Side{Target: "a", Run: func(_ context.Context, round int) (Round, error) {
		if round == 1 {
			return Round{}, broken
		}
		return Round{Count: 1, Elapsed: time.Second}, nil
	}})
	if !errors.Is(err, broken) || err.Error() != "load on a, round 2: broken" {
		t.Errorf("error %v", err)
	}
}

func TestRatioOf(t *testing.T) {
	for _, c := range []struct {
		name             string
		a, b             []float64
		median, min, max float64
		n                int
	}{
		{"odd", []float64{90, 50, 80}, []float64{100, 100, 160}, 0.5, 0.5, 0.9, 3},
		{"even takes the mean of the middle", []float64{10, 20, 30, 40}, []float64{10, 10, 10, 10}, 2.5, 1, 4, 4},
		{"drift cancels", []float64{80, 40, 20}, []float64{100, 50, 25}, 0.8, 0.8, 0.8, 3},
		{"an idle limit has no ratio", []float64{5, 7}, []float64{0, 7}, 1, 1, 1, 1},
		{"nothing", nil, nil, 0, 0, 0, 0},
	} {
		r := RatioOf(Result{Name: "x", Target: "a", Rounds: c.a}, Result{Target: "b", Rounds: c.b})
		if r.Median != c.median || r.Min != c.min || r.Max != c.max || len(r.Rounds) != c.n || r.Of != "a" || r.To != "b" {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
}

func TestParallelReturnsTheFirstErrorAndStopsTheOthers(t *testing.T) {
	broken := errors.New("broken")
	err := Parallel(t.Context(), 3, func(ctx context.Context, k int) error {
		if k == 1 {
			return broken
		}
		<-ctx.Done() // would never end if the failure did not stop it
		return ctx.Err()
	})
	if err != broken {
		t.Errorf("error %v", err)
	}
	seen := make([]int, 10)
	err = Parallel(t.Context(), 3, func(_ context.Context, k int) error {
		from, to := Share(len(seen), k, 3)
		for i := from; i < to; i++ {
			seen[i]++
		}
		return nil
	})
	if err != nil || !reflect.DeepEqual(seen, []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}) {
		t.Errorf("shares %v, error %v", seen, err)
	}
}
