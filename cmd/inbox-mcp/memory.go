package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Limits of the garbage when a collection begins: about 12 MiB, and at least as much as the live
// heap.
const (
	garbageLimit = 12 << 20
	leastGarbage = 100 // percent of the live heap
	mostGarbage  = 400
)

// tuneMemory allows more garbage while the live heap is small. Each message passes through buffers
// of the SDK of 32 KiB, a quarter of a megabyte per call, over a live heap of three. With the
// default of 100 percent, the collector cost a third of the calls that a client could make. With a
// hundred waiting clients, four times the live heap would be too much. An operator's GOGC takes
// precedence.
func tuneMemory() {
	if os.Getenv("GOGC") == "" {
		afterCollection(0)
	}
}

// afterCollection sets the limit for the next collection and runs again after it: the cleanup runs
// when that collection finds the new object unreachable.
func afterCollection(was int) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	percent := mostGarbage
	if n := live[0].Value.Uint64(); n > 0 {
		percent = int(min(max(garbageLimit*100/n, leastGarbage), mostGarbage))
	}
	if percent != was {
		debug.SetGCPercent(percent)
	}
	runtime.AddCleanup(new([64]byte), afterCollection, percent)
}
