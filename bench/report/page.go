package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"inboxd/bench/drive"
)

//go:embed page.html
var pageText string

// page is one file: it loads nothing and runs no script.
var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"number": number, "count": func(n int64) string { return number(float64(n)) },
}).Parse(pageText))

// WriteHTML writes the report as one page that needs no other file.
func (r *Report) WriteHTML(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := r.html(f); err != nil {
		return err
	}
	return f.Close()
}

func (r *Report) html(w io.Writer) error { return page.Execute(w, r) }

// number has three digits, and thousands apart.
func number(v float64) string {
	decimals := 3
	switch size := math.Abs(v); {
	case v == math.Trunc(v) || size >= 100:
		decimals = 0
	case size >= 1:
		decimals = 2 - int(math.Log10(size))
	}
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	for i := len(text) - 3; decimals == 0 && i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "\u202f" + text[i:] // a narrow space that does not break
	}
	return text
}

// The size of a plot, in units that the page scales.
const plotWidth, plotHeight = 560.0, 160.0

// plot is some curves over the seconds of a run, in a frame from Low to High.
type plot struct {
	Title         string
	Width, Height float64
	Low, High     float64
	Seconds       int
	Curves        []curve
}

// curve is one line of a plot; Class is how the page colors it.
type curve struct{ Name, Class, Points, Most string }

// series is a value of each second.
type series struct {
	name, class string
	value       func(drive.Second) float64
}

var rates = []series{
	{"right", "right", func(s drive.Second) float64 { return float64(s.Count) }},
	{"refused", "refused", func(s drive.Second) float64 { return float64(s.Refused) }},
	{"wrong", "wrong", func(s drive.Second) float64 { return float64(s.Errors) }},
}

var latencies = []series{
	{"p50", "low", func(s drive.Second) float64 { return s.P50 }},
	{"p99", "high", func(s drive.Second) float64 { return s.P99 }},
}

// Plots are two for each timeline: throughput and latency.
func (r *Report) Plots() (all []plot) {
	for _, t := range r.Timelines {
		if seconds := r.whole(t); len(seconds) > 1 {
			all = append(all, newPlot(t.Name+", a second", seconds, false, rates), newPlot(t.Name+", ms", seconds, true, latencies))
		}
	}
	return all
}

// newPlot draws from zero, or between powers of ten where it is logarithmic. A series without
// anything is left out.
func newPlot(title string, seconds []drive.Second, logarithmic bool, all []series) plot {
	p := plot{Title: title, Width: plotWidth, Height: plotHeight, Seconds: len(seconds), High: 1e-3}
	least := math.Inf(1)
	for _, s := range all {
		for _, second := range seconds {
			v := s.value(second)
			p.High = max(p.High, v)
			if v > 0 {
				least = min(least, v)
			}
		}
	}
	if logarithmic {
		p.Low = math.Pow(10, math.Floor(math.Log10(min(least, p.High))))
		p.High = math.Pow(10, math.Floor(math.Log10(p.High))+1)
	}
	for _, s := range all {
		most, points := 0.0, []string{}
		for i, second := range seconds {
			v := s.value(second)
			most = max(most, v)
			height := v / p.High
			if logarithmic {
				height = math.Log(max(v, p.Low)/p.Low) / math.Log(p.High/p.Low)
			}
			x := plotWidth * float64(i) / float64(len(seconds)-1)
			points = append(points, fmt.Sprintf("%.1f,%.1f", x, plotHeight*(1-height)))
		}
		if most > 0 {
			p.Curves = append(p.Curves, curve{s.name, s.class, strings.Join(points, " "), number(most)})
		}
	}
	return p
}

// whole are the seconds of a timeline in which the load lasted. The last one, in which only pending
// responses arrive, would look like a drop to zero.
func (r *Report) whole(t drive.Timeline) []drive.Second {
	i := slices.IndexFunc(r.Results, func(res drive.Result) bool { return res.Name == t.Name })
	if i < 0 || r.Results[i].Seconds < 2 {
		return t.Seconds
	}
	return t.Seconds[:min(int(r.Results[i].Seconds), len(t.Seconds))]
}
