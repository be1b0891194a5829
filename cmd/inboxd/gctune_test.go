package main

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

// TestGCTune checks the garbage allowed: little normally, never more than twice the live heap.
// During a flood of messages it is a third of the budget, until ten seconds after its last half
// second. A smaller budget never allows less than normally.
func TestGCTune(t *testing.T) {
	const many = 1500 // messages in half a second that count as a flood
	tune := gcTune{floodGarbage: 170 << 20}
	var mails uint64
	for i, c := range []struct {
		looks   int
		mails   uint64 // in each half second
		liveMB  uint64
		percent int
	}{
		{1, 0, 0, 200}, {1, 0, 16, 200}, {1, 0, 32, 150}, {1, 0, 40, 100}, {1, 0, 64, 25}, {1, 0, 1024, 25},
		{1, many - 1, 40, 100}, {1, many, 40, 425}, {1, 3 * many, 17, 1000}, {19, 0, 40, 425}, {1, 0, 40, 100},
		{1, 3 * many, 1000, 25}, {5, 3 * many, 340, 50},
	} {
		for range c.looks {
			mails += c.mails
			tune.recordMessages(mails, many)
		}
		if got := tune.gcPercent(c.liveMB << 20); got != c.percent {
			t.Errorf("step %d, %d mails with %d MB live: %d %%, want %d", i, c.mails, c.liveMB, got, c.percent)
		}
	}
}

// TestGCTuneFollowsMail checks that the collector's percentage rises above all normal values as
// soon as a flood is detected, and that an operator's GOGC is kept.
func TestGCTuneFollowsMail(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	limit := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(limit)
	t.Setenv("GOGC", "")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	follow := tuneMemory(1 << 40)
	if got := percentNow(); got != gcMost {
		t.Errorf("%d %% before any mail, want %d", got, gcMost)
	}
	go func() {
		follow(ctx, func() uint64 { return 1 << 40 })
		close(done)
	}()
	for began := time.Now(); percentNow() <= gcMost; runtime.Gosched() {
		if time.Since(began) > 10*time.Second {
			t.Fatal("no flood was seen")
		}
	}
	cancel()
	<-done

	t.Setenv("GOGC", "100")
	debug.SetGCPercent(100)
	tuneMemory(1<<40)(ctx, func() uint64 { return 1 << 40 })
	if got := percentNow(); got != 100 {
		t.Errorf("%d %% with an operator's GOGC of 100", got)
	}
}

// TestCollectionsAreTold checks that every collection is reported, and none after the end.
func TestCollectionsAreTold(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	told := watchCollections(ctx)
	<-told // the start
	for range 3 {
		runtime.GC()
		select {
		case <-told:
		case <-time.After(10 * time.Second):
			t.Fatal("a collection was not told")
		}
	}
	cancel()
}

func percentNow() int {
	m := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(m)
	return int(m[0].Value.Uint64())
}
