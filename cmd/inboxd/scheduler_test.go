package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestFitScheduler looks at what a started server's scheduler was given.
func TestFitScheduler(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	t.Setenv("GOMAXPROCS", "2")
	if fitScheduler(); runtime.GOMAXPROCS(0) != before {
		t.Errorf("GOMAXPROCS went from the operator's choice to %d", runtime.GOMAXPROCS(0))
	}
	t.Setenv("GOMAXPROCS", "")
	if fitScheduler(); runtime.GOMAXPROCS(0) != before+1 {
		t.Errorf("GOMAXPROCS is %d after %d", runtime.GOMAXPROCS(0), before)
	}
	if err := slackenMonitor(); err != nil {
		t.Skipf("the monitor's thread can't be changed here: %v", err)
	}
	tasks, _ := filepath.Glob("/proc/self/task/*")
	slack := func(task string) string {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%s/timerslack_ns", filepath.Base(task)))
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(b))
	}
	if !slices.ContainsFunc(tasks, func(task string) bool { return slack(task) == fmt.Sprint(monitorSlack) }) {
		t.Error("no thread has the slack")
	}
	if own := slack(fmt.Sprint(os.Getpid())); own == fmt.Sprint(monitorSlack) {
		t.Error("the main thread has the slack")
	}
}
