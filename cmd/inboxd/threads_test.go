package main

import (
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
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

// TestLimitMemory checks that the memory limit follows the budget, and that an operator's GOMEMLIMIT
// takes precedence.
func TestLimitMemory(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	t.Setenv("GOMEMLIMIT", "")
	limitMemory(1 << 30)
	if got := debug.SetMemoryLimit(-1); got != 2<<30+512<<20 {
		t.Errorf("the limit is %d", got)
	}
	t.Setenv("GOMEMLIMIT", "3GiB")
	limitMemory(1 << 20)
	if got := debug.SetMemoryLimit(-1); got != 2<<30+512<<20 {
		t.Errorf("the operator's limit was changed to %d", got)
	}
}
