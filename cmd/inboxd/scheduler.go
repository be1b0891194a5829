package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
)

// fitScheduler fits Go's scheduler to a server of which one goroutine, the log's, is in
// fdatasync most of the time under load (ADR 0023). An operator's GOMAXPROCS is left alone.
//
// A goroutine in a system call keeps its place among those that run until the runtime's
// monitor takes it away. So there is one place more than there are cores, and the monitor,
// which would look every 20 us for places to take and costs a virtual machine some 6 % of
// its cores with that, may take its time.
func fitScheduler() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	}
	_ = slackenMonitor() // not on this system: no gain, no harm
}

// monitorSlack is how much later than asked the monitor's sleeps may end, in nanoseconds
// (PR_SET_TIMERSLACK in prctl(2)). It bounds how long a second blocked system call holds up
// others.
const monitorSlack = 2_000_000

// slackenMonitor sets the slack of the monitor's thread, the first that the runtime starts
// beside the main one. Were it another, that thread's timers would be late by the slack.
func slackenMonitor() error {
	entries, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	var threads []int
	for _, e := range entries {
		if id, err := strconv.Atoi(e.Name()); err == nil && id != os.Getpid() {
			threads = append(threads, id)
		}
	}
	if len(threads) == 0 {
		return fmt.Errorf("no thread beside the main one")
	}
	return os.WriteFile(fmt.Sprintf("/proc/%d/timerslack_ns", slices.Min(threads)), strconv.AppendInt(nil, monitorSlack, 10), 0)
}
