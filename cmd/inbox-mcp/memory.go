package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// What may be garbage when a collection begins: about a dozen MiB, and never less than what lives.
const (
	garbage      = 12 << 20
	leastGarbage = 100 // percent of what lives
	mostGarbage  = 400
)

// tuneMemory lets more garbage lie about while little lives. Each message goes through buffers of the
// SDK of 32 KiB, a quarter of a megabyte a call, over a heap of three: with the usual 100 percent the
// collector took a third of the calls that a client could make. With a hundred clients that wait, four
// times what lives would be too much. An operator's GOGC wins.
func tuneMemory() {
	if os.Getenv("GOGC") == "" {
		afterCollection(0)
	}
}

// afterCollection sets what may be garbage next, and calls itself after the next collection: that finds
// a mark which nobody holds.
func afterCollection(was int) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	percent := mostGarbage
	if n := live[0].Value.Uint64(); n > 0 {
		percent = int(min(max(garbage*100/n, leastGarbage), mostGarbage))
	}
	if percent != was {
		debug.SetGCPercent(percent)
	}
	runtime.AddCleanup(new([64]byte), afterCollection, percent)
}
