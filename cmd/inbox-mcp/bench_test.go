package main

import (
	"strings"
	"testing"

	"inboxd/bench"
	"inboxd/bench/toolcalls"
)

// TestBench runs the load of tools on a small scale: every kind of caller is measured, and every code
// is found.
func TestBench(t *testing.T) {
	w := theWorld(t)
	bed, err := bench.Prepare(t.Context(), "test", bench.ServerOptions{Inboxd: w.bin + "inboxd", Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := bed.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := toolcalls.Run(t.Context(), bed, toolcalls.Options{Program: w.bin + "inbox-mcp", Calls: 3, Rounds: 2}); err != nil {
		t.Fatal(err)
	}
	if err := bed.Report.Err(); err != nil {
		t.Error(err)
	}
	var ratios []string
	for _, r := range bed.Report.Ratios {
		ratios = append(ratios, r.Name+" "+r.Of+"/"+r.To)
		if r.Median <= 0 || len(r.Rounds) != 2 {
			t.Errorf("%+v", r)
		}
	}
	for _, r := range bed.Report.Results {
		if r.Count != 3 {
			t.Errorf("%+v", r)
		}
	}
	want := "final dot to code wait_for_otp over stdio/long poll, final dot to code wait_for_otp over HTTP/long poll, " +
		"list_inboxes tool over stdio/API call, list_inboxes tool over HTTP/API call"
	if got := strings.Join(ratios, ", "); got != want {
		t.Errorf("ratios %s", got)
	}
}
