package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
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
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("%s is no report: %w", path, err)
	}
	if r.Tool == "" || len(r.Results) == 0 {
		return nil, fmt.Errorf("%s is no report of a run: it has no results", path)
	}
	return &r, nil
}

// Figure is one number of two reports.
type Figure struct {
	Name string
	A, B float64
	Less bool // less is better
	// Low and High bound the change, as a share of A, with 95 % confidence; Known says whether there are samples enough.
	Low, High float64
	Known     bool
}

// Change is how much more B is, as a share of A.
func (f Figure) Change() float64 {
	if f.A == 0 {
		return 0
	}
	return f.B/f.A - 1
}

// Significant reports that chance alone rarely makes such a change.
func (f Figure) Significant() bool { return f.Known && (f.Low > 0 || f.High < 0) }

// Worth is how good B is next to A: 1 is as good, less is worse.
func (f Figure) Worth() float64 {
	switch {
	case f.A == 0 || f.B == 0:
		return 1
	case f.Less:
		return f.A / f.B
	}
	return f.B / f.A
}

// Comparison is two runs of one load.
type Comparison struct {
	A, B    *Report
	Figures []Figure
	Notes   []string
}

// measured are members of Load that a run finds out and nobody sets.
func measured(name string) bool { return strings.HasPrefix(name, "bytes_") || name == "server" }

// CompareReports refuses reports of different loads, and of the same load with other settings: their figures mean other things.
func CompareReports(a, b *Report) (*Comparison, error) {
	if a.Tool != b.Tool {
		return nil, fmt.Errorf("one report is of %q and the other of %q: only runs of one load can be compared", a.Tool, b.Tool)
	}
	if err := errors.Join(a.Err(), b.Err()); err != nil {
		return nil, fmt.Errorf("a run that failed has no figures to compare: %w", err)
	}
	if differ := differences(a.Load, b.Load); len(differ) > 0 {
		return nil, fmt.Errorf("the reports are of other settings: %s", strings.Join(differ, ", "))
	}
	c := &Comparison{A: a, B: b}
	if a.Machine.CPU != b.Machine.CPU || a.Machine.Cores != b.Machine.Cores {
		c.Notes = append(c.Notes, fmt.Sprintf("The machines differ: %s with %d cores, and %s with %d. Only ratios can be compared.", a.Machine.CPU, a.Machine.Cores, b.Machine.CPU, b.Machine.Cores))
	}
	for _, x := range a.Results {
		i := slices.IndexFunc(b.Results, func(y drive.Result) bool { return y.Name == x.Name && y.Target == x.Target })
		if i < 0 {
			c.Notes = append(c.Notes, fmt.Sprintf("Only the first has %s on %s.", x.Name, x.Target))
			continue
		}
		c.results(x, b.Results[i])
	}
	for _, x := range a.Ratios {
		i := slices.IndexFunc(b.Ratios, func(y drive.Ratio) bool { return y.Name == x.Name && y.Of == x.Of && y.To == x.To })
		if i >= 0 {
			c.add(x.Name+", "+x.Of+" / "+x.To, x.Median, b.Ratios[i].Median, false, x.Rounds, b.Ratios[i].Rounds)
		}
	}
	return c, nil
}

func differences(a, b map[string]any) (differ []string) {
	names := slices.Collect(maps.Keys(a))
	for name := range b {
		if _, both := a[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if !measured(name) && !reflect.DeepEqual(a[name], b[name]) {
			differ = append(differ, fmt.Sprintf("%s (%v and %v)", name, a[name], b[name]))
		}
	}
	return differ
}

// results sets two results side by side. Their samples are the rounds, or the timeline's seconds where there are none.
func (c *Comparison) results(x, y drive.Result) {
	name := x.Name + " on " + x.Target
	p50 := func(s drive.Second) float64 { return s.P50 }
	p99 := func(s drive.Second) float64 { return s.P99 }
	if len(x.Rounds) > 0 {
		c.add(name+", a second", x.PerSecond, y.PerSecond, false, x.Rounds, y.Rounds)
	} else if x.PerSecond > 0 {
		count := func(s drive.Second) float64 { return float64(s.Count) }
		c.add(name+", a second", x.PerSecond, y.PerSecond, false, c.A.samples(x, count), c.B.samples(y, count))
	}
	if x.Latency != nil && y.Latency != nil {
		c.add(name+", p50 ms", x.Latency.P50, y.Latency.P50, true, orSamples(x.RoundP50, c.A.samples(x, p50)), orSamples(y.RoundP50, c.B.samples(y, p50)))
		c.add(name+", p99 ms", x.Latency.P99, y.Latency.P99, true, orSamples(x.RoundP99, c.A.samples(x, p99)), orSamples(y.RoundP99, c.B.samples(y, p99)))
	}
	if x.CPU != nil && y.CPU != nil {
		c.add(name+", processor µs each", x.CPU.Total(), y.CPU.Total(), true, x.CPU.Rounds, y.CPU.Rounds)
	}
}

func orSamples(rounds, seconds []float64) []float64 {
	if len(rounds) > 0 {
		return rounds
	}
	return seconds
}

// batch is how many seconds of a timeline are one sample: seconds next to each other are alike, and taken for
// independent they would make an interval that is too narrow.
const batch = 5

// samples are means over batches of a result's timeline, without its first second, in which connections are made, and the
// last, which is cut short.
func (r *Report) samples(res drive.Result, of func(drive.Second) float64) (means []float64) {
	i := slices.IndexFunc(r.Timelines, func(t drive.Timeline) bool { return t.Name == res.Name && t.Target == res.Target })
	if i < 0 || len(r.Timelines[i].Seconds) < 2+batch {
		return nil
	}
	seconds := r.Timelines[i].Seconds
	seconds = seconds[1:min(len(seconds)-1, max(int(res.Seconds), 2))]
	for part := range slices.Chunk(seconds, batch) {
		if len(part) < batch {
			break
		}
		sum := 0.0
		for _, s := range part {
			sum += of(s)
		}
		means = append(means, sum/batch)
	}
	return means
}

func (c *Comparison) add(name string, a, b float64, less bool, as, bs []float64) {
	f := Figure{Name: name, A: a, B: b, Less: less}
	f.Low, f.High, f.Known = changeInterval(as, bs)
	c.Figures = append(c.Figures, f)
}

// Write writes a line for each figure, with a mark at what is significant.
func (c *Comparison) Write(w io.Writer) error {
	fmt.Fprintf(w, "%s\nA: %s  %s  commit %s\nB: %s  %s  commit %s\n\n", c.A.Tool, c.A.Date.Format("2006-01-02 15:04"), c.A.Version, c.A.Commit, c.B.Date.Format("2006-01-02 15:04"), c.B.Version, c.B.Commit)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "FIGURE\tA\tB\tCHANGE\t95 % CONFIDENCE\t")
	for _, f := range c.Figures {
		interval, mark := "-", ""
		if f.Known {
			interval = fmt.Sprintf("%+.1f %% to %+.1f %%", 100*f.Low, 100*f.High)
		}
		switch {
		case f.Significant() && f.Worth() > 1:
			mark = "better"
		case f.Significant():
			mark = "WORSE"
		}
		fmt.Fprintf(t, "%s\t%.4g\t%.4g\t%+.1f %%\t%s\t%s\n", f.Name, f.A, f.B, 100*f.Change(), interval, mark)
	}
	for _, note := range c.Notes {
		fmt.Fprintf(t, "note: %s\n", note)
	}
	return t.Flush()
}

// Below is an error that names what got worse: significantly, and to less than bound of what it was.
func (c *Comparison) Below(bound float64) error {
	var worse []string
	for _, f := range c.Figures {
		if f.Significant() && f.Worth() < bound {
			worse = append(worse, fmt.Sprintf("%s (%.2f)", f.Name, f.Worth()))
		}
	}
	if len(worse) == 0 {
		return nil
	}
	return fmt.Errorf("below %.2f of what it was: %s", bound, strings.Join(worse, ", "))
}
