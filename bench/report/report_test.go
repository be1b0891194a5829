package report

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"inboxd/bench/drive"
)

func sampleReport() *Report {
	a := drive.Result{Name: "GET /latest", Target: "inboxd", Count: 900, Seconds: 1.5, PerSecond: 600, Rounds: []float64{500, 700},
		CPU:     &drive.CPU{User: 2.5, System: 4.25, Rounds: []float64{6, 7}},
		Latency: &drive.Percentiles{P50: 0.25, P90: 0.5, P99: 10.3, P999: 20, Max: 31.5}}
	b := drive.Result{Name: "GET /latest", Target: "constant", Count: 1500, Seconds: 1.5, PerSecond: 1000, Rounds: []float64{1000, 1000},
		CPU: &drive.CPU{User: 2, System: 4, Rounds: []float64{5, 7}}, Values: map[string]float64{"resident MiB": 12.25}}
	r := &Report{Tool: "inbox-bench poll", Date: time.Date(2026, 11, 21, 4, 0, 0, 0, time.UTC), Commit: "abc123",
		Machine: Machine{CPU: "Some CPU", Cores: 2, MemoryGiB: 24, Kernel: "6.1", Filesystem: "ext4", Go: "go1.26", LoadAverage: "0.10"},
		Load:    map[string]any{"inboxes": 10, "connections": 4},
		Checks:  []Check{{"stored", 900, 900}}}
	r.Compare([]drive.Result{a, b})
	return r
}

func TestReportTable(t *testing.T) {
	var out bytes.Buffer
	if err := sampleReport().WriteTable(&out); err != nil {
		t.Fatal(err)
	}
	table := out.String()
	for _, want := range []string{
		"inbox-bench poll  2026-11-21T04:00:00Z  commit abc123",
		"Some CPU, 2 cores, 24.0 GiB, Linux 6.1, ext4, go1.26, load average before 0.10",
		"load: connections=4 inboxes=10",
		"GET /latest inboxd 900 0 1.50 600 0.250 0.500 10.300 20.000 31.500 2.5 4.2",
		"GET /latest constant 1500 0 1.50 1000 - - - - - 2.0 4.0",
		"resident MiB 12.2",
		"GET /latest inboxd / constant 0.600 0.500 0.700 2 1.100",
		"check stored 900 ok",
	} {
		if !strings.Contains(strings.Join(strings.Fields(table), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("no %q in\n%s", want, table)
		}
	}
}

func TestReportJSONHoldsEverything(t *testing.T) {
	want := sampleReport()
	path := filepath.Join(t.TempDir(), "report.json")
	if err := want.WriteJSON(path); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	want.Load, got.Load = nil, nil // numbers come back as float64
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	for _, text := range []string{"no", "{}", "[]"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "is not a report") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestReportErr(t *testing.T) {
	if err := sampleReport().Err(); err != nil {
		t.Error(err)
	}
	wrong := sampleReport()
	wrong.Results[1].Errors, wrong.Results[1].FirstError = 3, "status 500"
	if err := wrong.Err(); err == nil || err.Error() != "GET /latest on constant: 3 wrong, the first: status 500" {
		t.Errorf("error %v", err)
	}
	lost := sampleReport()
	lost.Checks[0].Got = 899
	if err := lost.Err(); err == nil || err.Error() != "check failed: stored: want 900, got 899" {
		t.Errorf("error %v", err)
	}
	var out bytes.Buffer
	if err := lost.WriteTable(&out); err != nil || !strings.Contains(out.String(), "FAILED, want 900") {
		t.Errorf("table hides the failure: %v\n%s", err, out.String())
	}
}

func TestMachineIsKnown(t *testing.T) {
	m := Describe(t.TempDir())
	if m.Cores < 1 || m.MemoryGiB <= 0 || m.Kernel == "unknown" || m.LoadAverage == "unknown" {
		t.Errorf("%+v", m)
	}
	if m.Filesystem == "unknown" && filesystemOf("/") != "" { // a chroot may lie on no mount that it knows
		t.Errorf("%+v", m)
	}
	if kind := filesystemOf("/proc/self"); kind != "proc" {
		t.Errorf("/proc is on %q", kind)
	}
}
