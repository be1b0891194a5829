package report

import (
	"bytes"
	"io"
	"math"
	"strings"
	"testing"

	"inboxd/bench/drive"
)

func TestStudentT(t *testing.T) {
	// The usual tables, two-sided 95 %; 2.5 and 35 lie between their neighbours.
	for freedom, want := range map[float64]float64{0.5: 12.706, 1: 12.706, 2: 4.303, 5: 2.571, 10: 2.228, 30: 2.042, 35: 2.030, 40: 2.021, 50: 2.009, 60: 2.000, 120: 1.980, 200: 1.972, 1e9: 1.960} {
		if got := studentT(freedom); math.Abs(got-want) > 0.0015 {
			t.Errorf("%v degrees of freedom: %.4f, want %.3f", freedom, got, want)
		}
	}
	if got := studentT(2.5); got <= 3.182 || got >= 4.303 {
		t.Errorf("between 2 and 3: %v", got)
	}
}

func TestChangeInterval(t *testing.T) {
	for name, c := range map[string]struct {
		a, b      []float64
		low, high float64
		known     bool
	}{
		// Means 3 and 6, variances 2.5 each, n 5: s.e. 1, 8 degrees of freedom, t 2.306; as a share
		// of 3.
		"equal variances": {[]float64{1, 2, 3, 4, 5}, []float64{4, 5, 6, 7, 8}, (3 - 2.306) / 3, (3 + 2.306) / 3, true},
		// Variances 1 and 0: the first alone decides, with 2 degrees of freedom; s.e. 1/sqrt 3.
		"one is exact":   {[]float64{9, 10, 11}, []float64{10, 10, 10}, -4.303 / math.Sqrt(3) / 10, 4.303 / math.Sqrt(3) / 10, true},
		"both are exact": {[]float64{2, 2}, []float64{3, 3}, 0.5, 0.5, true},
		"one sample":     {[]float64{1}, []float64{1, 2}, 0, 0, false},
		"nothing":        {nil, nil, 0, 0, false},
		"a mean of zero": {[]float64{0, 0}, []float64{1, 2}, 0, 0, false},
	} {
		low, high, known := changeInterval(c.a, c.b)
		if known != c.known || math.Abs(low-c.low) > 1e-3 || math.Abs(high-c.high) > 1e-3 {
			t.Errorf("%s: %v to %v, %v, want %v to %v", name, low, high, known, c.low, c.high)
		}
	}
}

func TestCompareMarksWhatChanged(t *testing.T) {
	a, b := sampleReport(), sampleReport()
	for _, r := range []*Report{a, b} {
		r.Results[0].Rounds, r.Results[0].RoundP99 = []float64{600, 610, 590}, []float64{10, 11, 10.5}
	}
	b.Results[0].Rounds, b.Results[0].PerSecond = []float64{300, 305, 295}, 300
	b.Load["server"], b.Load["bytes_304"] = "other", 7
	for mark, reports := range map[string][2]*Report{
		"600 300 -50.0 % -53.5 % to -46.5 % WORSE":    {a, b},
		"300 600 +100.0 % +93.1 % to +106.9 % better": {b, a},
	} {
		var out bytes.Buffer
		if err := Compare(&out, reports[0], reports[1]); err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(out.String()), " ")
		for _, want := range []string{
			"GET /latest on inboxd, a second " + mark,
			"GET /latest on inboxd, p50 ms 0.25 0.25 +0.0 % - ",
			"GET /latest on inboxd, p99 ms 10.3 10.3 +0.0 % -10.8 % to +10.8 % GET",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, out.String())
			}
		}
	}
}

// A load without rounds has a timeline: 16 s are three batches without the first second.
func TestCompareTakesTimelinesInBatches(t *testing.T) {
	of := func(each int64) *Report {
		r := sampleReport()
		r.Results[0] = drive.Result{Name: "polls", Target: "inboxd", Count: 16 * each, Seconds: 16.2, PerSecond: float64(each)}
		line := drive.Timeline{Name: "polls", Target: "inboxd"}
		for n := range 17 {
			second := drive.Second{Second: n, Count: each + int64(n/6)}
			if n == 0 || n == 16 { // connections are made, and pending responses arrive
				second.Count = 1
			}
			line.Seconds = append(line.Seconds, second)
		}
		r.Timelines = []drive.Timeline{line}
		return r
	}
	var out bytes.Buffer
	if err := Compare(&out, of(1000), of(2000)); err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(text, "polls on inboxd, a second 1000 2000 +100.0 % +99.7 % to +100.1 % better") {
		t.Error(out.String())
	}
}

func TestCompareRefusesOtherLoads(t *testing.T) {
	for want, change := range map[string]func(*Report){
		"the same settings": func(r *Report) { r.Tool = "inbox-bench ingest" },
		"connections:5":     func(r *Report) { r.Load["connections"] = 5 },
		"a run that failed": func(r *Report) { r.Results[0].Errors = 1 },
		"was measured":      func(r *Report) { r.Results[1].Count = 0 },
	} {
		other := sampleReport()
		change(other)
		if err := Compare(io.Discard, sampleReport(), other); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
