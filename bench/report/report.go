// Package report is the report of a run: figures next to their limits, checks, settings and the
// machine, as a table, as JSON and as a page with plots. It knows what a figure is made of and
// refuses to know how any was measured.
package report

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"inboxd/bench/drive"
)

// Report is one run. A figure without its machine, commit, load and date is not a result.
type Report struct {
	Tool      string           `json:"tool"`
	Date      time.Time        `json:"date"`
	Version   string           `json:"version"`
	Commit    string           `json:"commit"`
	Machine   Machine          `json:"machine"`
	Load      map[string]any   `json:"load"`
	Results   []drive.Result   `json:"results"`
	Ratios    []drive.Ratio    `json:"ratios,omitempty"`
	Checks    []Check          `json:"checks"`
	Promises  []Promise        `json:"promises,omitempty"`
	Timelines []drive.Timeline `json:"timelines,omitempty"`
	Notes     []string         `json:"notes,omitempty"`
	Codes     []Codes          `json:"codes,omitempty"`
	Misses    []Miss           `json:"misses,omitempty"`
}

// Add appends what a target did, with nothing next to it.
func (r *Report) Add(name, target string, total drive.Round) {
	res := drive.Result{Name: name, Target: target}
	res.Fill(total)
	r.Results = append(r.Results, res)
}

// Note gives the last result a value with a name, which says its unit.
func (r *Report) Note(name string, value float64) {
	last := &r.Results[len(r.Results)-1]
	if last.Values == nil {
		last.Values = map[string]float64{}
	}
	last.Values[name] = value
}

// Check is something the run must be right about before its figures count.
type Check struct {
	Name string `json:"name"`
	Want int64  `json:"want"`
	Got  int64  `json:"got"`
}

// OK reports whether the check holds.
func (c Check) OK() bool { return c.Want == c.Got }

// Verify appends a check.
func (r *Report) Verify(name string, want, got int64) {
	r.Checks = append(r.Checks, Check{name, want, got})
}

// Promise is a figure with what is promised of it. A missed one does not fail the run: others may
// be at work on the machine.
type Promise struct {
	Name  string  `json:"name"`
	Got   float64 `json:"got"`
	Bound float64 `json:"bound"`
	Most  bool    `json:"most"` // Got may be Bound at most, else at least
}

// Holds reports whether it is kept.
func (p Promise) Holds() bool { return p.Most && p.Got <= p.Bound || !p.Most && p.Got >= p.Bound }

// Side is "at most" or "at least".
func (p Promise) Side() string {
	if p.Most {
		return "at most"
	}
	return "at least"
}

// Promised appends what a figure is next to its bound.
func (r *Report) Promised(name string, got, bound float64, most bool) {
	r.Promises = append(r.Promises, Promise{name, got, bound, most})
}

// Err says what makes the run worthless: nothing measured, wrong responses or a failed check.
func (r *Report) Err() error {
	if len(r.Results) == 0 {
		return errors.New("nothing was measured")
	}
	for _, res := range r.Results {
		if res.Count == 0 && res.Errors == 0 {
			return fmt.Errorf("%s on %s: nothing was measured", res.Name, res.Target)
		}
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
func (r *Report) Compare(results []drive.Result) {
	r.Results = append(r.Results, results...)
	for _, limit := range results[1:] {
		r.Ratios = append(r.Ratios, drive.RatioOf(results[0], limit))
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
	r.writePromises(t)
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
	fmt.Fprintln(t, "CATEGORY\tMESSAGES\tRIGHT\tWRONG CODES\tPRECISION\tRECALL")
	for _, c := range r.Codes {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%.3f\t%.3f\n", c.Category, c.Messages, c.Right, c.Wrong, c.Precision, c.Recall)
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
		if res.Refused > 0 {
			add("refused as it should be", fmt.Sprintf("%d, the first: %s", res.Refused, res.FirstRefusal))
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

func (r *Report) writePromises(t io.Writer) {
	for _, p := range r.Promises {
		verdict := "holds"
		if !p.Holds() {
			verdict = "MISSED"
		}
		fmt.Fprintf(t, "promise\t%s\t%.3g\t%s %.3g: %s\n", p.Name, p.Got, p.Side(), p.Bound, verdict)
	}
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

func latencyCells(p *drive.Percentiles) string {
	if p == nil {
		return strings.Join(slices.Repeat([]string{"-"}, 5), "\t")
	}
	cells := make([]string, 0, 5)
	for _, v := range []float64{p.P50, p.P90, p.P99, p.P999, p.Max} {
		cells = append(cells, fmt.Sprintf("%.3f", v))
	}
	return strings.Join(cells, "\t")
}

func cpuCells(c *drive.CPU) string {
	if c == nil {
		return "-\t-"
	}
	return fmt.Sprintf("%.1f\t%.1f", c.User, c.System)
}

// orUnknown keeps an empty fact visible.
func orUnknown(s string) string { return cmp.Or(s, "unknown") }
