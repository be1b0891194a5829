package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestFitThreads checks the scheduler and the threads of a started server.
func TestFitThreads(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	t.Setenv("GOMAXPROCS", "2")
	if fitThreads(); runtime.GOMAXPROCS(0) != before {
		t.Errorf("GOMAXPROCS went from the operator's choice to %d", runtime.GOMAXPROCS(0))
	}
	tasks, _ := filepath.Glob("/proc/self/task/*")
	t.Setenv("GOMAXPROCS", "")
	if fitThreads(); runtime.GOMAXPROCS(0) != before+1 {
		t.Errorf("GOMAXPROCS is %d after %d", runtime.GOMAXPROCS(0), before)
	}
	for _, task := range tasks {
		slack, err := os.ReadFile("/proc/" + filepath.Base(task) + "/timerslack_ns")
		if err != nil {
			t.Skipf("the slack of another thread is not ours to see here: %v", err)
		}
		if strings.TrimSpace(string(slack)) != timerSlack {
			t.Errorf("a thread has a slack of %s", slack)
		}
	}
}
