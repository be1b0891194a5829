package main

import (
	"os"
	"runtime"
	"runtime/debug"
)

// fitThreads adapts Go's scheduler to a server in which one goroutine, that of the log, is in
// fdatasync most of the time under load (ADR 0023). It sets GOMAXPROCS one above the number of
// cores, and lets timers of the threads fire 1 ms late (PR_SET_TIMERSLACK in prctl(2)). Otherwise
// the runtime's monitor would wake every 20 us, which costs a virtual machine some 6 % of its
// cores. A GOMAXPROCS set by the operator is kept. A system that forbids the timer slack keeps its
// default.
func fitThreads() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	}
	threads, _ := os.ReadDir("/proc/self/task")
	for _, t := range threads { // later threads inherit it from these
		_ = os.WriteFile("/proc/"+t.Name()+"/timerslack_ns", []byte(timerSlack), 0)
	}
}

const timerSlack = "1000000"

// limitMemory makes the garbage collector work harder as memory nears twice the budget and 512 MiB.
// An operator's GOMEMLIMIT takes precedence.
func limitMemory(budget int64) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(2*budget + 512<<20)
	}
}
