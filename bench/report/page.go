package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"inboxd/bench/drive"
)

//go:embed page.html
var pageText string

// page is one file: it loads nothing and runs nothing.
var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"number": number, "ms": func(v float64) string { return number(v) }, "count": func(n int64) string { return number(float64(n)) }, "rows": ratioRows, "spans": spansOf, "rounds": roundsOf,
	"plots": plotsOf, "percent": func(v float64) string { return fmt.Sprintf("%.1f", 100*v) },
}).Parse(pageText))

// view is what the page shows beside the report.
type view struct {
	*Report
	Verdict  string // empty: it holds
	Missed   int    // promises
	Settings []setting
}

type setting struct{ Name, Value string }

// WriteHTML writes the report as one page that needs no other file.
func (r *Report) WriteHTML(path string) error {
	var out bytes.Buffer
	if err := r.html(&out); err != nil {
		return err
	}
	return os.WriteFile(path, out.Bytes(), 0o644)
}

func (r *Report) html(out *bytes.Buffer) error {
	v := view{Report: r}
	if err := r.Err(); err != nil {
		v.Verdict = err.Error()
	}
	for _, p := range r.Promises {
		if !p.Holds() {
			v.Missed++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Load)) {
		v.Settings = append(v.Settings, setting{name, fmt.Sprint(r.Load[name])})
	}
	return page.Execute(out, v)
}

// number is short for people: three digits, thousands parted.
func number(v float64) string {
	switch a := math.Abs(v); {
	case v == math.Trunc(v):
		return thousands(fmt.Sprintf("%.0f", v))
	case a >= 100:
		return thousands(fmt.Sprintf("%.0f", v))
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	case a >= 1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

// onAxis is number without zeros that say nothing.
func onAxis(v float64) string {
	text := number(v)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

func thousands(digits string) string {
	sign, digits := strings.TrimRight(digits, "0123456789"), strings.TrimLeft(digits, "-")
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + " " + digits[i:] // a narrow blank that does not break
	}
	return sign + digits
}

// plotted is a timeline as two plots.
type plotted struct {
	Name          string
	Rate, Latency plot
	Trouble       bool // something was refused or wrong
}

func plotsOf(r *Report) (all []plotted) {
	for _, t := range r.Timelines {
		seconds := r.whole(t)
		if len(seconds) < 2 {
			continue
		}
		p := plotted{Name: t.Name}
		var count, refused, wrong, p50, p99 []float64
		for _, s := range seconds {
			count, refused, wrong = append(count, float64(s.Count)), append(refused, float64(s.Refused)), append(wrong, float64(s.Errors))
			p50, p99 = append(p50, s.P50), append(p99, s.P99)
		}
		p.Trouble = slices.Max(refused) > 0 || slices.Max(wrong) > 0
		p.Rate = newPlot("a second", false, series{"right", "right", count})
		if slices.Max(refused) > 0 {
			p.Rate = newPlot("a second", false, series{"right", "right", count}, series{"refused", "refused", refused})
		}
		if slices.Max(wrong) > 0 {
			p.Rate = newPlot("a second", false, series{"right", "right", count}, series{"wrong", "wrong", wrong})
		}
		p.Latency = newPlot("ms", true, series{"p50", "low", p50}, series{"p99", "high", p99})
		all = append(all, p)
	}
	return all
}

// whole are the seconds of a timeline that lasted: the last one, in which what was begun before its end is answered,
// would look like a fall to nothing.
func (r *Report) whole(t drive.Timeline) []drive.Second {
	for _, res := range r.Results {
		if n := int(res.Seconds); res.Name == t.Name && n >= 2 && n < len(t.Seconds) {
			return t.Seconds[:n]
		}
	}
	return t.Seconds
}

// spanOf is a result's latency as a line from its p50 to its largest, on a logarithmic axis that all of them share.
type spanOf struct {
	Name, Target       string
	P50, P90, P99, Max float64 // places, in percent of the width
	Latency            *drive.Percentiles
}

type spans struct {
	Spans []spanOf
	Ticks []tick
}

func spansOf(r *Report) (s spans) {
	low, high := math.Inf(1), 0.0
	for _, res := range r.Results {
		if l := res.Latency; l != nil {
			low, high = min(low, l.P50), max(high, l.Max)
		}
	}
	axis := newAxis(low, high, true)
	for _, res := range r.Results {
		if l := res.Latency; l != nil {
			s.Spans = append(s.Spans, spanOf{res.Name, res.Target, 100 * axis.at(l.P50), 100 * axis.at(l.P90), 100 * axis.at(l.P99), 100 * axis.at(l.Max), l})
		}
	}
	for _, t := range axis.ticks {
		s.Ticks = append(s.Ticks, tick{At: 100 * axis.at(t), Label: onAxis(t)})
	}
	return s
}

// turn is a round of a result, as a bar.
type turn struct{ Height, Value float64 }

type turns struct {
	Name, Target string
	PerSecond    float64
	Turns        []turn
}

// roundsOf are the results that have rounds, with bars as high as their rate beside the largest of the same name.
func roundsOf(r *Report) (all []turns) {
	most := map[string]float64{}
	for _, res := range r.Results {
		for _, v := range res.Rounds {
			most[res.Name] = max(most[res.Name], v)
		}
	}
	for _, res := range r.Results {
		if len(res.Rounds) == 0 || most[res.Name] == 0 {
			continue
		}
		t := turns{Name: res.Name, Target: res.Target, PerSecond: res.PerSecond}
		for _, v := range res.Rounds {
			t.Turns = append(t.Turns, turn{100 * v / most[res.Name], v})
		}
		all = append(all, t)
	}
	return all
}

// ratioRow is a ratio as a line from its smallest to its largest round, on an axis from 0 to the largest of all.
type ratioRow struct {
	drive.Ratio
	From, Width, Dot, One float64 // percent of the width
}

func ratioRows(r *Report) (rows []ratioRow) {
	most := 1.0
	for _, q := range r.Ratios {
		most = max(most, q.Max)
	}
	for _, q := range r.Ratios {
		rows = append(rows, ratioRow{q, 100 * q.Min / most, 100 * (q.Max - q.Min) / most, 100 * q.Median / most, 100 / most})
	}
	return rows
}
