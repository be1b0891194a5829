package main

import (
	"strings"
	"testing"
	"time"

	"inboxd/bench"
	"inboxd/bench/toolcalls"
)

// TestBench runs the tool load at a small scale: every part measures something and finds every
// code. Of its results, only memory is meaningful on a busy machine.
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
	if err := toolcalls.Run(t.Context(), bed, toolcalls.Options{Program: w.bin + "inbox-mcp", Messages: 3, Rounds: 1, Duration: 20 * time.Millisecond, Starts: 1, Connections: 100, Calls: 300, Settle: 100 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	if err := bed.Report.Err(); err != nil {
		t.Error(err)
	}
	counts := map[string]int64{}
	for _, r := range bed.Report.Results {
		counts[r.Name+" "+r.Target] += r.Count
	}
	for name, least := range map[string]int64{
		"exec to tools/list inbox-mcp": 1, "final dot to code long poll": 3, "final dot to code wait_for_otp by stdio": 3, "final dot to code wait_for_otp by http": 3,
		"list_inboxes tool by stdio": 1, "list_inboxes tool by http": 1, "list_inboxes API call": 1, "waiting over HTTP inbox-mcp": 100,
	} {
		if counts[name] < least {
			t.Errorf("%s: %d, want %d at least", name, counts[name], least)
		}
	}
	if promises := bed.Report.Promises; len(promises) != 9 {
		t.Errorf("what is promised: %+v", promises)
	}
	for _, r := range bed.Report.Results {
		for what, mib := range r.Values {
			// The promised limits are 100 and 10, at rest. A call that leaks leaves 100 KB, its
			// buffers.
			if strings.HasPrefix(what, "MiB of") && mib >= 100 || strings.HasPrefix(what, "MiB more") && mib >= 30 {
				t.Errorf("%s: %.1f", what, mib)
			}
		}
	}
}
