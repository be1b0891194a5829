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
)

//go:embed page.html
var pageText string

// page is one file: it loads nothing and runs no script.
var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"number": number, "count": func(n int64) string { return number(float64(n)) }, "plots": plotsOf,
}).Parse(pageText))

// view is what the page shows next to the report.
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

func thousands(digits string) string {
	sign, digits := strings.TrimRight(digits, "0123456789"), strings.TrimLeft(digits, "-")
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + " " + digits[i:] // a narrow blank that does not break
	}
	return sign + digits
}
