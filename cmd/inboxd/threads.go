package main

import (
	"os"
	"runtime"
)

// fitThreads fits Go's scheduler to a server of which one goroutine, the log's, is in
// fdatasync most of the time under load (ADR 0023): it has a place more than there are cores
// for that, and sleeps of its threads may end 1 ms late (PR_SET_TIMERSLACK in prctl(2)). The
// runtime's monitor would wake every 20 us otherwise, which costs a virtual machine some 6 %
// of its cores. An operator's GOMAXPROCS is left alone, and a system that forbids the rest
// does without.
func fitThreads() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	}
	threads, _ := os.ReadDir("/proc/self/task")
	for _, t := range threads { // later ones have it from these
		_ = os.WriteFile("/proc/"+t.Name()+"/timerslack_ns", []byte(timerSlack), 0)
	}
}

const timerSlack = "1000000"
