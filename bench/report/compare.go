package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"

	"inboxd/bench/drive"
)

// Read reads a report that WriteJSON wrote.
func Read(path string) (*Report, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var r Report
	if err := json.Unmarshal(b, &r); err != nil || r.Tool == "" {
		return nil, errors.Join(fmt.Errorf("%s is not a report by --json", path), err)
	}
	return &r, nil
}

// settings are the members of Load that somebody sets, not those that a run finds out.
func (r *Report) settings() map[string]any {
	set := map[string]any{}
	for name, value := range r.Load {
		if !strings.HasPrefix(name, "bytes_") && name != "server" {
			set[name] = value
		}
	}
	return set
}

// Compare writes a line for each figure of two runs of one load, with the change from a to b, its
// 95 % confidence interval, and a mark where chance alone rarely makes such a change. It refuses
// reports of different loads or settings: their figures mean other things.
func Compare(w io.Writer, a, b *Report) error {
	if a.Tool != b.Tool || !reflect.DeepEqual(a.settings(), b.settings()) {
		return fmt.Errorf("only runs of one load with the same settings can be compared:\n%s %v\n%s %v",
			a.Tool, a.settings(), b.Tool, b.settings())
	}
	if err := errors.Join(a.Err(), b.Err()); err != nil {
		return fmt.Errorf("a run that failed has no figures to compare: %w", err)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s\nA: version %s, commit %s\nB: version %s, commit %s\n", a.Tool, a.Version, a.Commit, b.Version, b.Commit)
	fmt.Fprintln(t, "FIGURE\tA\tB\tCHANGE\t95 % CONFIDENCE\t")
	for _, x := range a.Results {
		i := slices.IndexFunc(b.Results, func(y drive.Result) bool { return y.Name == x.Name && y.Target == x.Target })
		if i >= 0 {
			compareResults(t, a.batched(x), b.batched(b.Results[i]))
		}
	}
	for _, x := range a.Ratios {
		i := slices.IndexFunc(b.Ratios, func(y drive.Ratio) bool { return y.Name == x.Name && y.Of == x.Of && y.To == x.To })
		if i >= 0 {
			compareFigure(t, x.Name+", "+x.Of+" / "+x.To, x.Median, b.Ratios[i].Median, false, x.Rounds, b.Ratios[i].Rounds)
		}
	}
	return t.Flush()
}

// batch is how many seconds of a timeline are one sample: neighboring seconds are alike, and taken
// for independent they would make the interval too narrow.
const batch = 5

// batched gives a result without rounds the means of batches of its timeline instead, without the
// first second, in which connections are made.
func (r *Report) batched(res drive.Result) drive.Result {
	i := slices.IndexFunc(r.Timelines, func(t drive.Timeline) bool { return t.Name == res.Name && t.Target == res.Target })
	if i < 0 || len(res.Rounds) > 0 {
		return res
	}
	seconds := r.whole(r.Timelines[i])
	for from := 1; from+batch <= len(seconds); from += batch {
		var count, p50, p99 float64
		for _, s := range seconds[from : from+batch] {
			count, p50, p99 = count+float64(s.Count)/batch, p50+s.P50/batch, p99+s.P99/batch
		}
		res.Rounds, res.RoundP50, res.RoundP99 = append(res.Rounds, count), append(res.RoundP50, p50), append(res.RoundP99, p99)
	}
	return res
}

func compareResults(w io.Writer, x, y drive.Result) {
	name := x.Name + " on " + x.Target
	if x.PerSecond > 0 {
		compareFigure(w, name+", a second", x.PerSecond, y.PerSecond, false, x.Rounds, y.Rounds)
	}
	if x.Latency != nil && y.Latency != nil {
		compareFigure(w, name+", p50 ms", x.Latency.P50, y.Latency.P50, true, x.RoundP50, y.RoundP50)
		compareFigure(w, name+", p99 ms", x.Latency.P99, y.Latency.P99, true, x.RoundP99, y.RoundP99)
	}
	if x.CPU != nil && y.CPU != nil {
		compareFigure(w, name+", processor µs each", x.CPU.Total(), y.CPU.Total(), true, x.CPU.Rounds, y.CPU.Rounds)
	}
}

// compareFigure writes one line; as and bs are the figure's rounds.
func compareFigure(w io.Writer, name string, a, b float64, lessIsBetter bool, as, bs []float64) {
	interval, mark := "-", ""
	low, high, known := changeInterval(as, bs)
	if known {
		interval = fmt.Sprintf("%+.1f %% to %+.1f %%", 100*low, 100*high)
	}
	switch {
	case !known || low <= 0 && high >= 0:
	case lessIsBetter == (high < 0):
		mark = "better"
	default:
		mark = "WORSE"
	}
	fmt.Fprintf(w, "%s\t%.4g\t%.4g\t%+.1f %%\t%s\t%s\n", name, a, b, 100*(b/a-1), interval, mark)
}
