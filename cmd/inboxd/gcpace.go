package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// tuneMemory trades memory for fewer collections as long as that is little (ADR 0019). An
// operator's GOGC or GOMEMLIMIT wins. It goes on until ctx ends.
func tuneMemory(ctx context.Context, budget int64) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(2*budget + 512<<20)
	}
	if os.Getenv("GOGC") == "" {
		go paceCollections(ctx)
	}
}

const (
	gcLook = 500 * time.Millisecond
	// gcSpare is what may be garbage before a collection while the live heap is small, which
	// a percentage alone would not bound: the tables that every start makes are 8 MB.
	gcSpare = 32 << 20
	gcMost  = 200
	gcStep  = 5 // a change by less is not worth stopping everything for
)

// paceCollections keeps the collector's percentage what gcPercent says of the live heap.
func paceCollections(ctx context.Context) {
	tick := time.NewTicker(gcLook)
	defer tick.Stop()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for set := 0; ; {
		metrics.Read(live)
		if want := gcPercent(live[0].Value.Uint64()); max(want-set, set-want) >= gcStep {
			debug.SetGCPercent(want)
			set = want
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// gcPercent is how many bytes may be garbage for each 100 that live when the next collection
// begins: gcSpare in all up to twice as much alive, then as much as lives beyond it, so that
// a large heap, whose collections cost most, is not collected more often than a small one.
func gcPercent(live uint64) int {
	if live == 0 {
		return gcMost
	}
	spare := max(gcSpare, live-min(live, gcSpare))
	return int(min(gcMost, 100*spare/live))
}
