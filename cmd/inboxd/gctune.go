package main

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// gcLook is how often the rate of received messages is checked.
	gcLook = 500 * time.Millisecond
	// Without a flood of messages, gcCalm octets may be garbage when a collection begins. A small
	// heap may grow to gcHeap; in a large one, a quarter of the live heap may be garbage.
	gcCalm = 16 << 20
	gcHeap = 80 << 20
	gcMost = 200 // percent of the live heap, without a flood
	gcStep = 5   // in percent; a smaller change is not worth stopping the program for

	// A flood is gcFlood messages per second for each of GOMAXPROCS. During a flood, the budget
	// divided by gcFloodShare may be garbage. A flood continues for gcFloodLooks more checks, so
	// that a short pause does not end it.
	gcFlood      = 300
	gcFloodShare = 3
	gcFloodLooks = 20
)

// tuneMemory allows more garbage while many messages arrive, and little otherwise (ADR 0019). An
// operator's GOGC or GOMEMLIMIT takes precedence. The function it returns adapts the limit to the
// number of messages received so far, until ctx ends.
func tuneMemory(budget int64) (follow func(ctx context.Context, mails func() uint64)) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(2*budget + 512<<20)
	}
	if os.Getenv("GOGC") != "" {
		return func(context.Context, func() uint64) {}
	}
	debug.SetGCPercent(gcMost)
	return func(ctx context.Context, mails func() uint64) {
		followMail(ctx, gcTune{floodGarbage: uint64(budget) / gcFloodShare}, mails)
	}
}

// followMail adapts the collector's percentage to the live heap, after each collection, and to the
// rate of messages.
func followMail(ctx context.Context, t gcTune, mails func() uint64) {
	tick := time.NewTicker(gcLook)
	defer tick.Stop()
	collected := watchCollections(ctx)
	for set := gcMost; ; {
		if want := t.gcPercent(liveHeap()); max(want-set, set-want) >= gcStep {
			debug.SetGCPercent(want)
			set = want
		}
		select {
		case <-collected:
		case <-tick.C:
			// GOMAXPROCS is the part of the machine that we may use.
			t.recordMessages(mails(), gcFlood*gcLook.Seconds()*float64(runtime.GOMAXPROCS(0)))
		case <-ctx.Done():
			return
		}
	}
}

// watchCollections returns a channel that receives a value after each collection, until ctx ends.
// Checking at intervals is not enough: the live heap, and the garbage allowed with it, can triple
// in between.
func watchCollections(ctx context.Context) <-chan struct{} {
	told := make(chan struct{}, 1)
	var await func(struct{})
	await = func(struct{}) {
		select {
		case told <- struct{}{}:
		default:
		}
		if ctx.Err() == nil {
			// A smaller object would share a block and might never be collected.
			runtime.AddCleanup(new([16]byte), await, struct{}{})
		}
	}
	await(struct{}{})
	return told
}

// liveHeap returns how many octets survived the last collection.
func liveHeap() uint64 {
	m := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(m)
	return m[0].Value.Uint64()
}

// gcTune computes how much garbage is allowed when a collection begins: one value normally and one
// during a flood of messages. Only followMail's goroutine uses it.
type gcTune struct {
	floodGarbage     uint64 // octets of garbage allowed during a flood
	lastMessageCount uint64
	floodLooks       int // checks for which the latest flood still counts
}

// recordMessages is called with the number of messages received so far. If many arrived since the
// last call, a flood begins.
func (t *gcTune) recordMessages(mails uint64, many float64) {
	t.floodLooks = max(0, t.floodLooks-1)
	if float64(mails-t.lastMessageCount) >= many {
		t.floodLooks = gcFloodLooks
	}
	t.lastMessageCount = mails
}

// gcPercent returns the percentage of the live heap that may be garbage.
func (t *gcTune) gcPercent(live uint64) int {
	live = max(live, 1)
	calm := max(gcCalm, live/4, gcHeap-min(live, gcHeap))
	if t.floodLooks > 0 && t.floodGarbage > calm {
		return int(100 * t.floodGarbage / live)
	}
	return int(min(gcMost, 100*calm/live))
}
