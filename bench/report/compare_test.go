package report

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
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
		// Means 3 and 6, variances 2.5 each, n 5: s.e. 1, 8 degrees of freedom, t 2.306; as a share of 3.
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

// twoReports are of one load: the second does half as much in the same rounds, at the same latency.
func twoReports() (a, b *Report) {
	a, b = sampleReport(), sampleReport()
	for _, r := range []*Report{a, b} {
		r.Results[0].Rounds, r.Results[0].RoundP99 = []float64{600, 610, 590}, []float64{10, 11, 10.5}
	}
	b.Results[0].Rounds, b.Results[0].PerSecond = []float64{300, 305, 295}, 300
	return a, b
}

func TestCompareFindsWhatGotWorse(t *testing.T) {
	a, b := twoReports()
	c, err := CompareReports(a, b)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := c.Write(&out); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"GET /latest on inboxd, a second 600 300 -50.0 % -53.5 % to -46.5 % WORSE",
		"GET /latest on inboxd, p50 ms 0.25 0.25 +0.0 % - ",
		"GET /latest on inboxd, p99 ms 10.3 10.3 +0.0 % -10.8 % to +10.8 %",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if err := c.Below(0.95); err == nil || !strings.Contains(err.Error(), "below 0.95 of what it was: GET /latest on inboxd, a second (0.50)") {
		t.Errorf("error %v", err)
	}
	if err := c.Below(0.4); err != nil {
		t.Errorf("half is not below 0.4: %v", err)
	}
	better, err := CompareReports(b, a)
	if err != nil || better.Below(0.95) != nil {
		t.Errorf("what got better fails: %v, %v", err, better.Below(0.95))
	}
	out.Reset()
	if err := better.Write(&out); err != nil || !strings.Contains(out.String(), "better") || strings.Contains(out.String(), "WORSE") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// A latency that grows is worse, and its samples are batches of the timeline's seconds.
func TestCompareTakesTimelines(t *testing.T) {
	of := func(p99 float64) *Report {
		r := sampleReport()
		r.Results = []drive.Result{{Name: "polls", Target: "inboxd", Count: 10, Seconds: 32, PerSecond: 100, Latency: &drive.Percentiles{P50: 1, P99: p99}}}
		line := drive.Timeline{Name: "polls", Target: "inboxd"}
		for n := range 33 {
			line.Seconds = append(line.Seconds, drive.Second{Second: n, Count: 100, P50: 1, P99: p99 + float64(n%3)/10})
		}
		r.Timelines = []drive.Timeline{line}
		return r
	}
	if n := len(of(2).samples(of(2).Results[0], func(s drive.Second) float64 { return s.P99 })); n != 6 {
		t.Errorf("%d samples of 33 seconds, want 6 batches", n)
	}
	c, err := CompareReports(of(2), of(3))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range c.Figures {
		if worse := f.Name == "polls on inboxd, p99 ms"; f.Significant() != worse || worse && (f.Worth() > 0.7 || f.Low < 0.4 || f.High > 0.55) {
			t.Errorf("%+v", f)
		}
	}
}

func TestCompareRefusesOtherSettings(t *testing.T) {
	for want, change := range map[string]func(*Report){
		`one report is of "inbox-bench poll" and the other of "inbox-bench ingest"`: func(r *Report) { r.Tool = "inbox-bench ingest" },
		"the reports are of other settings: connections (4 and 5)":                  func(r *Report) { r.Load["connections"] = 5 },
		"rate (<nil> and 7)":   func(r *Report) { r.Load["rate"] = 7 },
		"a run that failed":    func(r *Report) { r.Results[0].Errors = 1 },
		"nothing was measured": func(r *Report) { r.Results[1].Count = 0 },
	} {
		other := sampleReport()
		change(other)
		if _, err := CompareReports(sampleReport(), other); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	other := sampleReport()
	other.Load["server"], other.Load["bytes_304"], other.Machine.Cores = "other", 7, 64
	if c, err := CompareReports(sampleReport(), other); err != nil || len(c.Notes) != 1 || !strings.Contains(c.Notes[0], "machines differ") {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestReadRefusesWhatIsNoReport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	for _, text := range []string{"no", "{}", "[]"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "is no report") {
			t.Errorf("%s: %v", text, err)
		}
	}
	b, err := json.Marshal(sampleReport())
	if err == nil {
		err = os.WriteFile(path, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if r, err := Read(path); err != nil || r.Results[0].Latency.P99 != 10.3 {
		t.Errorf("%+v, %v", r, err)
	}
}
