package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// The size of a plot in units of its own; the page stretches it.
const (
	plotWidth, plotHeight  = 560.0, 190.0
	leftOf, above, beneath = 52.0, 12.0, 24.0
)

// series is one line of a plot; class is how the page colours it.
type series struct {
	Name, Class string
	values      []float64
}

// plot is some series over the seconds of a run.
type plot struct {
	Unit                string
	Width, Height       float64
	Lines               []curve
	Across, Along       []tick
	Left, Right, Bottom float64
}

// curve is a series that was drawn.
type curve struct {
	Name, Class  string
	Points, Area string
	Most, Last   string
}

// tick is a place on an axis.
type tick struct {
	At    float64
	Label string
}

func newPlot(unit string, logarithmic bool, lines ...series) plot {
	p := plot{Unit: unit, Width: plotWidth, Height: plotHeight, Left: leftOf, Right: plotWidth - 20, Bottom: plotHeight - beneath}
	low, high, n := math.Inf(1), 0.0, 2
	for _, s := range lines {
		n = max(n, len(s.values))
		for _, v := range s.values {
			if v > 0 {
				low = min(low, v)
			}
			high = max(high, v)
		}
	}
	axis := newAxis(low, high, logarithmic)
	x := func(i int) float64 { return p.Left + (p.Right-p.Left)*float64(i)/float64(n-1) }
	y := func(v float64) float64 { return p.Bottom - (p.Bottom-above)*axis.at(v) }
	for _, t := range axis.ticks {
		p.Across = append(p.Across, tick{y(t), onAxis(t)})
	}
	step := int(niceStep(float64(n-1) / 6))
	for i := 0; i < n; i += max(step, 1) {
		p.Along = append(p.Along, tick{x(i), fmt.Sprintf("%d s", i)})
	}
	for _, s := range lines {
		p.Lines = append(p.Lines, s.draw(x, y, p.Bottom, logarithmic))
	}
	return p
}

// draw makes the points of a polyline. A second without a value is left out of a logarithmic one.
func (s series) draw(x func(int) float64, y func(float64) float64, bottom float64, logarithmic bool) curve {
	c := curve{Name: s.Name, Class: s.Class, Most: number(slices.Max(s.values)), Last: number(s.values[len(s.values)-1])}
	var points []string
	first, last := -1, 0
	for i, v := range s.values {
		if v == 0 && logarithmic {
			continue
		}
		if first < 0 {
			first = i
		}
		last = i
		points = append(points, fmt.Sprintf("%.1f,%.1f", x(i), y(v)))
	}
	c.Points = strings.Join(points, " ")
	if first >= 0 && !logarithmic { // an area says how much from nothing, which a logarithmic axis has not
		c.Area = fmt.Sprintf("%.1f,%.1f %s %.1f,%.1f", x(first), bottom, c.Points, x(last), bottom)
	}
	return c
}

// axis places values between 0 and 1.
type axis struct {
	low, high   float64
	logarithmic bool
	ticks       []float64
}

// newAxis is from 0 to above high, or by powers of ten around both where it is logarithmic.
func newAxis(low, high float64, logarithmic bool) axis {
	if high <= 0 {
		high = 1
	}
	if !logarithmic {
		step := niceStep(high / 4)
		a := axis{high: step * math.Ceil(high/step*1.0001)}
		for v := 0.0; v <= a.high*1.0001; v += step {
			a.ticks = append(a.ticks, v)
		}
		return a
	}
	low = min(max(low, 1e-3), high)
	a := axis{low: math.Pow(10, math.Floor(math.Log10(low))), high: math.Pow(10, math.Ceil(math.Log10(high*1.0001))), logarithmic: true}
	for v := a.low; v <= a.high*1.0001; v *= 10 {
		a.ticks = append(a.ticks, v)
	}
	return a
}

func (a axis) at(v float64) float64 {
	if !a.logarithmic {
		return v / a.high
	}
	v = min(max(v, a.low), a.high)
	return math.Log10(v/a.low) / math.Log10(a.high/a.low)
}

// niceStep is the next of 1, 2, 5, 10, 20, ... that is not below v.
func niceStep(v float64) float64 {
	if v <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= v*0.9999 {
			return m * power
		}
	}
	return 10 * power
}
