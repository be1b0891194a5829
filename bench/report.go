package bench

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is one run. A figure without its machine, commit, load and date is not a result.
type Report struct {
	Tool    string         `json:"tool"`
	Date    time.Time      `json:"date"`
	Version string         `json:"version"`
	Commit  string         `json:"commit"`
	Machine Machine        `json:"machine"`
	Load    map[string]any `json:"load"`
	Results []Result       `json:"results"`
	Ratios  []Ratio        `json:"ratios,omitempty"`
	Checks  []Check        `json:"checks"`
	Notes   []string       `json:"notes,omitempty"`
	Codes   []Codes        `json:"codes,omitempty"`
	Misses  []Miss         `json:"misses,omitempty"`
}

// Result is one measured thing on one target, over all rounds.
type Result struct {
	Name       string             `json:"name"`
	Target     string             `json:"target"`
	Count      int64              `json:"count"`
	Errors     int64              `json:"errors"`
	Unsent     int64              `json:"unsent,omitempty"`
	FirstError string             `json:"first_error,omitempty"`
	Seconds    float64            `json:"seconds,omitempty"`
	PerSecond  float64            `json:"per_second,omitempty"`
	Rounds     []float64          `json:"rounds_per_second,omitempty"`
	Latency    *Percentiles       `json:"latency,omitempty"`
	CPU        *CPU               `json:"cpu,omitempty"`    // nil when the target is no process of ours
	Values     map[string]float64 `json:"values,omitempty"` // the unit is in the name
}

func (r *Result) fill(total Round) {
	r.Count, r.Errors, r.Unsent, r.FirstError = total.Count, total.Errors, total.Unsent, total.FirstError
	r.Seconds, r.PerSecond = total.Elapsed.Seconds(), total.perSecond()
	r.Latency, r.CPU = total.latency.percentiles(), total.cost()
}

// add appends what the server did, with nothing beside it.
func (r *Report) add(name string, total Round) { r.Add(name, "inboxd", total) }

// Add appends what a target did, with nothing beside it.
func (r *Report) Add(name, target string, total Round) {
	res := Result{Name: name, Target: target}
	res.fill(total)
	r.Results = append(r.Results, res)
}

// Check is something the run must be right about before its figures count.
type Check struct {
	Name string `json:"name"`
	Want int64  `json:"want"`
	Got  int64  `json:"got"`
}

// OK reports whether the check holds.
func (c Check) OK() bool { return c.Want == c.Got }

// Err says what makes the run worthless: wrong answers or a failed check.
func (r *Report) Err() error {
	for _, res := range r.Results {
		if res.Errors > 0 {
			return fmt.Errorf("%s on %s: %d wrong, the first: %s", res.Name, res.Target, res.Errors, res.FirstError)
		}
	}
	for _, c := range r.Checks {
		if !c.OK() {
			return fmt.Errorf("check failed: %s: want %d, got %d", c.Name, c.Want, c.Got)
		}
	}
	return nil
}

// Compare appends results of one alternation and the ratio of the first to each other one.
func (r *Report) Compare(results []Result) {
	r.Results = append(r.Results, results...)
	for _, limit := range results[1:] {
		r.Ratios = append(r.Ratios, RatioOf(results[0], limit))
	}
}

// WriteJSON writes the report to a file; "-" is standard output.
func (r *Report) WriteJSON(path string) error {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if b = append(b, '\n'); path == "-" {
		_, err = os.Stdout.Write(b)
		return err
	}
	return os.WriteFile(path, b, 0o644)
}

// WriteTable writes the report for a reader.
func (r *Report) WriteTable(w io.Writer) error {
	fmt.Fprintf(w, "%s %s  %s  commit %s\n%s\nload:", r.Tool, r.Version, r.Date.Format(time.RFC3339), r.Commit, r.Machine)
	for _, name := range slices.Sorted(maps.Keys(r.Load)) {
		fmt.Fprintf(w, " %s=%v", name, r.Load[name])
	}
	fmt.Fprint(w, "\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	r.writeResults(t)
	r.writeRatios(t)
	r.writeCodes(t)
	r.writeChecks(t)
	for _, note := range r.Notes {
		fmt.Fprintf(t, "note: %s\n", note)
	}
	return t.Flush()
}

func (r *Report) writeCodes(t io.Writer) {
	if len(r.Codes) == 0 {
		return
	}
	fmt.Fprintln(t, "CATEGORY\tMAILS\tRIGHT\tWRONG CODES\tPRECISION\tRECALL")
	for _, c := range r.Codes {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%.3f\t%.3f\n", c.Category, c.Mails, c.Right, c.Wrong, c.Precision, c.Recall)
	}
	fmt.Fprintln(t)
	for _, m := range r.Misses {
		fmt.Fprintf(t, "%s\twant %q\tgot %q\n", m.File, m.Want, m.Got)
	}
	if len(r.Misses) > 0 {
		fmt.Fprintln(t)
	}
}

func (r *Report) writeResults(t io.Writer) {
	fmt.Fprintln(t, "RESULT\tTARGET\tCOUNT\tERRORS\tSECONDS\tPER SECOND\tp50 ms\tp90\tp99\tp99.9\tmax\tUSER µs\tSYSTEM µs")
	for _, res := range r.Results {
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%s\t%s\t%s\t%s\n", res.Name, res.Target, res.Count, res.Errors,
			orDash(res.Seconds, "%.2f"), orDash(res.PerSecond, "%.0f"), latencyCells(res.Latency), cpuCells(res.CPU))
	}
	fmt.Fprintln(t)
	r.writeDetails(t)
}

// writeDetails writes what has no column: values, lateness and the first error.
func (r *Report) writeDetails(t io.Writer) {
	var lines []string
	for _, res := range r.Results {
		add := func(what, value string) {
			lines = append(lines, res.Name+"\t"+res.Target+"\t"+what+"\t"+value)
		}
		for _, name := range slices.Sorted(maps.Keys(res.Values)) {
			add(name, fmt.Sprintf("%.1f", res.Values[name]))
		}
		if res.Unsent > 0 {
			add("unsent at the asked rate", fmt.Sprint(res.Unsent))
		}
		if res.FirstError != "" {
			add("first error", res.FirstError)
		}
	}
	if len(lines) > 0 {
		fmt.Fprintf(t, "DETAIL\tTARGET\tWHAT\tVALUE\n%s\n\n", strings.Join(lines, "\n"))
	}
}

func (r *Report) writeRatios(t io.Writer) {
	if len(r.Ratios) == 0 {
		return
	}
	fmt.Fprintln(t, "RATIO\tOF / TO\tMEDIAN\tMIN\tMAX\tROUNDS\tCPU")
	for _, q := range r.Ratios {
		fmt.Fprintf(t, "%s\t%s / %s\t%.3f\t%.3f\t%.3f\t%d\t%s\n", q.Name, q.Of, q.To, q.Median, q.Min, q.Max, len(q.Rounds), orDash(q.CPU, "%.3f"))
	}
	fmt.Fprintln(t)
}

func (r *Report) writeChecks(t io.Writer) {
	for _, c := range r.Checks {
		verdict := "ok"
		if !c.OK() {
			verdict = fmt.Sprintf("FAILED, want %d", c.Want)
		}
		fmt.Fprintf(t, "check\t%s\t%d\t%s\n", c.Name, c.Got, verdict)
	}
}

func orDash(v float64, format string) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf(format, v)
}

func latencyCells(p *Percentiles) string {
	if p == nil {
		return strings.Join(slices.Repeat([]string{"-"}, 5), "\t")
	}
	cells := make([]string, 0, 5)
	for _, v := range []float64{p.P50, p.P90, p.P99, p.P999, p.Max} {
		cells = append(cells, fmt.Sprintf("%.3f", v))
	}
	return strings.Join(cells, "\t")
}

func cpuCells(c *CPU) string {
	if c == nil {
		return "-\t-"
	}
	return fmt.Sprintf("%.1f\t%.1f", c.User, c.System)
}

// orUnknown keeps an empty fact visible.
func orUnknown(s string) string { return cmp.Or(s, "unknown") }
