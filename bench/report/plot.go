package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"inboxd/bench/drive"
)

// The size of a plot, in units that the page stretches.
const plotWidth, plotHeight = 560.0, 160.0

// plot is some curves over the seconds of a run, in a frame from Low to High.
type plot struct {
	Width, Height float64
	Low, High     float64
	Seconds       int
	Curves        []curve
}

// curve is one line of a plot; class is how the page colours it.
type curve struct{ Name, Class, Points, Most string }

type series struct {
	name, class string
	values      []float64
}

// newPlot draws from zero, or between powers of ten where it is logarithmic.
func newPlot(logarithmic bool, lines ...series) plot {
	p := plot{Width: plotWidth, Height: plotHeight, Seconds: len(lines[0].values)}
	least := math.Inf(1)
	for _, s := range lines {
		for _, v := range s.values {
			p.High = max(p.High, v)
			if v > 0 {
				least = min(least, v)
			}
		}
	}
	p.High = max(p.High, 1e-3)
	if logarithmic {
		p.Low = math.Pow(10, math.Floor(math.Log10(min(least, p.High))))
		p.High = math.Pow(10, math.Floor(math.Log10(p.High))+1)
	}
	for _, s := range lines {
		c := curve{Name: s.name, Class: s.class, Most: number(slices.Max(s.values))}
		var points []string
		for i, v := range s.values {
			height := v / p.High
			if logarithmic {
				height = math.Log(max(v, p.Low)/p.Low) / math.Log(p.High/p.Low)
			}
			x := plotWidth * float64(i) / float64(len(s.values)-1)
			points = append(points, fmt.Sprintf("%.1f,%.1f", x, plotHeight*(1-height)))
		}
		c.Points = strings.Join(points, " ")
		p.Curves = append(p.Curves, c)
	}
	return p
}

// plotted is a timeline as two plots.
type plotted struct {
	Name          string
	Rate, Latency plot
}

func plotsOf(r *Report) (all []plotted) {
	for _, t := range r.Timelines {
		seconds := r.whole(t)
		if len(seconds) < 2 {
			continue
		}
		of := func(name, class string, value func(drive.Second) float64) series {
			s := series{name: name, class: class}
			for _, second := range seconds {
				s.values = append(s.values, value(second))
			}
			return s
		}
		rate := []series{of("right", "right", func(s drive.Second) float64 { return float64(s.Count) })}
		for _, s := range []series{
			of("refused", "refused", func(s drive.Second) float64 { return float64(s.Refused) }),
			of("wrong", "wrong", func(s drive.Second) float64 { return float64(s.Errors) }),
		} {
			if slices.Max(s.values) > 0 {
				rate = append(rate, s)
			}
		}
		all = append(all, plotted{
			Name: t.Name, Rate: newPlot(false, rate...),
			Latency: newPlot(true, of("p50", "low", func(s drive.Second) float64 { return s.P50 }),
				of("p99", "high", func(s drive.Second) float64 { return s.P99 })),
		})
	}
	return all
}

// whole are the seconds of a timeline that lasted: the last one, in which only what was begun
// before the end is answered, would look like a fall to nothing.
func (r *Report) whole(t drive.Timeline) []drive.Second {
	for _, res := range r.Results {
		if n := int(res.Seconds); res.Name == t.Name && n >= 2 && n < len(t.Seconds) {
			return t.Seconds[:n]
		}
	}
	return t.Seconds
}
