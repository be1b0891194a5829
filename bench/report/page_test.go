package report

import (
	"bytes"
	"encoding/xml"
	"io"
	"regexp"
	"strings"
	"testing"

	"inboxd/bench/drive"
)

// pageReport has something of everything that a page can show.
func pageReport() *Report {
	r := sampleReport()
	r.Version = "v1.2.3"
	r.Promised("polls, p99 in ms", 12.5, 20, true)
	r.Promised("goodput <next to> the peak", 0.5, 0.8, false)
	r.Notes = []string{"A note with <b>markup</b>."}
	r.Timelines = []drive.Timeline{{Name: "polls", Target: "inboxd", Seconds: []drive.Second{
		{Second: 0, Count: 9000, P50: 0.3, P99: 4}, {Second: 1, Count: 10000, Refused: 7, P50: 0.2, P99: 3}, {Second: 2, Count: 9500, P50: 0.25, P99: 45},
	}}}
	return r
}

func renderPage(t *testing.T, r *Report) string {
	t.Helper()
	var out bytes.Buffer
	if err := r.html(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestPageShowsEverything(t *testing.T) {
	page := renderPage(t, pageReport())
	text := strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, " ")), " ")
	for _, want := range []string{
		"inbox-bench poll", "version v1.2.3 · commit abc123", "All checks hold",
		"GET /latest · inboxd 600 /s p50 0.250 · p99 10.3 ms",
		"polls, p99 in ms 12.5 at most 20 holds", "goodput &lt;next to&gt; the peak 0.500 at least 0.800 missed",
		"polls, a second right, at most 10 000 refused, at most 7", "polls, ms p50, at most 0.300 p99, at most 45",
		"GET /latest inboxd / constant 0.600 0.500 0.700 1.10",
		"stored 900 900 ok", "A note with &lt;b&gt;markup&lt;/b&gt;.", "connections 4 inboxes 10",
		"Some CPU, 2 cores", "Linux 6.1", "ext4", "go1.26", "resident MiB 12.2",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// The page is one file: it loads nothing, runs nothing, and has a light and a dark theme.
func TestPageIsSelfContained(t *testing.T) {
	page := renderPage(t, pageReport())
	for _, never := range []string{"<script", "<link", "<img", "<iframe", "src=", "href=", "url(", "@import", "http:", "https:", " on"} {
		if i := strings.Index(page, never); i >= 0 && !strings.Contains(" one only", page[i:i+4]) {
			if never != " on" || regexp.MustCompile(` on\w+\s*=`).MatchString(page) {
				t.Errorf("the page holds %q: %.60q", never, page[i:])
			}
		}
	}
	for _, always := range []string{"default-src 'none'", "prefers-color-scheme: dark", "color-scheme: light dark", `name="viewport"`} {
		if !strings.Contains(page, always) {
			t.Errorf("no %s", always)
		}
	}
}

// Each plot has a line with a point for each second, in its frame.
func TestPlotsHoldEverySecond(t *testing.T) {
	page := renderPage(t, pageReport())
	var curves int
	for _, svg := range regexp.MustCompile(`(?s)<svg.*?</svg>`).FindAllString(page, -1) {
		for d := xml.NewDecoder(strings.NewReader(svg)); ; {
			token, err := d.Token()
			if err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%v in %s", err, svg)
			}
			start, ok := token.(xml.StartElement)
			if !ok || start.Name.Local != "polyline" {
				continue
			}
			for _, a := range start.Attr {
				if a.Name.Local == "points" {
					curves++
					if n := len(strings.Fields(a.Value)); n != 3 && !strings.Contains(svg, "refused") {
						t.Errorf("%d points of 3 seconds: %s", n, a.Value)
					}
				}
			}
		}
	}
	if curves != 4 { // right, refused, p50, p99
		t.Errorf("%d curves", curves)
	}
}

// The second after a load has only pending responses.
func TestTheTailOfALoadIsNotPlotted(t *testing.T) {
	r := pageReport()
	r.Results = append(r.Results, drive.Result{Name: "polls", Target: "inboxd", Seconds: 3.004})
	r.Timelines[0].Seconds = append(r.Timelines[0].Seconds, drive.Second{Second: 3, Count: 2, P50: 900, P99: 900})
	page := renderPage(t, r)
	if strings.Contains(page, "900 ms") || !strings.Contains(page, "at most 45") || strings.Contains(page, "p99, at most 900") {
		t.Error("the page plots what came after the load")
	}
}

func TestPageShowsFailedChecks(t *testing.T) {
	r := pageReport()
	r.Checks[0].Got = 1
	if page := renderPage(t, r); !strings.Contains(page, "These figures are not valid: check failed: stored: want 900, got 1") || strings.Contains(page, "All checks hold") {
		t.Error("the page hides a failed check")
	}
}

func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.1234: "0.123", 1.5: "1.50", 12.34: "12.3", 20: "20", 999.6: "1\u202f000", 1234567: "1\u202f234\u202f567", -1234.5: "-1\u202f234"} {
		if got := number(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}
