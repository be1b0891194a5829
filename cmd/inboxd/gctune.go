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
	gcLook = 500 * time.Millisecond
	// gcCalm is what may be garbage when a collection begins; a small heap may fill gcHeap, a
	// large one has a quarter of what lives.
	gcCalm = 16 << 20
	gcHeap = 80 << 20
	gcMost = 200 // percent, in calm
	gcStep = 5   // a change by less is not worth stopping everything for

	// gcFlood mails a second for each goroutine that may run at a time (GOMAXPROCS) are a flood.
	// Then a gcFloodShare-th of the budget may be garbage, and for gcFloodLooks more, so that a
	// pause for breath does not end it.
	gcFlood      = 300
	gcFloodShare = 3
	gcFloodLooks = 20
)

// tuneMemory lets more garbage lie about while mail pours in, and little otherwise (ADR 0019).
// An operator's GOGC or GOMEMLIMIT wins. What it returns follows the number of mails received
// so far, until ctx ends.
func tuneMemory(budget int64) (follow func(ctx context.Context, mails func() uint64)) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(2*budget + 512<<20)
	}
	if os.Getenv("GOGC") != "" {
		return func(context.Context, func() uint64) {}
	}
	debug.SetGCPercent(gcMost)
	return func(ctx context.Context, mails func() uint64) {
		followMail(ctx, gcTune{flood: uint64(budget) / gcFloodShare}, mails)
	}
}

// followMail sets the collector's percentage anew as the heap, after each collection, and the mail go.
func followMail(ctx context.Context, t gcTune, mails func() uint64) {
	tick := time.NewTicker(gcLook)
	defer tick.Stop()
	collected := collections(ctx)
	for set := gcMost; ; {
		if want := t.percent(liveHeap()); max(want-set, set-want) >= gcStep {
			debug.SetGCPercent(want)
			set = want
		}
		select {
		case <-collected:
		case <-tick.C:
			// GOMAXPROCS knows what of the machine is ours.
			t.count(mails(), gcFlood*gcLook.Seconds()*float64(runtime.GOMAXPROCS(0)))
		case <-ctx.Done():
			return
		}
	}
}

// collections tells of collections, until ctx ends: what lives can triple between two looks, and so would what may be
// garbage.
func collections(ctx context.Context) <-chan struct{} {
	told := make(chan struct{}, 1)
	var await func(struct{})
	await = func(struct{}) {
		select {
		case told <- struct{}{}:
		default:
		}
		if ctx.Err() == nil {
			runtime.AddCleanup(new([16]byte), await, struct{}{}) // what is smaller shares a block, and may stay
		}
	}
	await(struct{}{})
	return told
}

// liveHeap is how many octets the last collection left.
func liveHeap() uint64 {
	m := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(m)
	return m[0].Value.Uint64()
}

// gcTune is how much garbage there may be when a collection begins: one figure in calm and one
// in a flood of mail. Only followMail's goroutine touches it.
type gcTune struct {
	flood   uint64 // octets of garbage in one
	mails   uint64
	flooded int // looks for which the last one counts
}

// count takes notice of the mails received so far: many more than at the last look are a flood.
func (t *gcTune) count(mails uint64, many float64) {
	t.flooded = max(0, t.flooded-1)
	if float64(mails-t.mails) >= many {
		t.flooded = gcFloodLooks
	}
	t.mails = mails
}

// percent is the percentage of the live heap that may be garbage.
func (t *gcTune) percent(live uint64) int {
	live = max(live, 1)
	calm := max(gcCalm, live/4, gcHeap-min(live, gcHeap))
	if t.flooded > 0 && t.flood > calm {
		return int(100 * t.flood / live)
	}
	return int(min(gcMost, 100*calm/live))
}
