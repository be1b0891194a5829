package main

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

// TestGCPace: little garbage as long as collections are cheap, more once they have been dear
// for a while, never more than 48 MB or a quarter of what lives, and little again when they are not.
func TestGCPace(t *testing.T) {
	var p gcPace
	var now collector
	for i, c := range []struct {
		looks         int
		liveMB, share float64 // of the cores
		percent       int
	}{
		{1, 0, 0, 200}, {1, 8, 0, 200}, {1, 16, 0.01, 200}, {30, 32, 0.01, 150}, {30, 40, 0.01, 100}, {100, 64, 0.01, 25},
		{1, 64, 0.2, 25}, {1, 64, 0, 25}, // one dear collection is none
		{100, 64, 0.2, 75}, {100, 64, 0.04, 75}, {100, 64, 0, 25},
		{100, 1024, 0.2, 25}, {100, 1024, 0.01, 25}, {1, 12, 0.01, 200},
	} {
		got := 0
		for range c.looks {
			now.live = uint64(c.liveMB * (1 << 20))
			now.took += c.share
			got = p.percent(now, 1)
		}
		if got != c.percent {
			t.Errorf("step %d, %v MB live at %v: %d %%, want %d", i, c.liveMB, c.share, got, c.percent)
		}
	}
}

// TestGCPaceInFlood: a flood of mail may leave a third of the budget as garbage, for ten
// seconds after its last half second; a smaller budget never means less than without it.
func TestGCPaceInFlood(t *testing.T) {
	const places = 3
	p := gcPace{flood: 170 << 20}
	var mails uint64
	for i, c := range []struct {
		looks   int
		rate    uint64 // mails a second
		liveMB  uint64
		percent int
	}{
		{1, 2990, 40, 100}, {1, 3000, 40, 425}, {1, 9000, 17, 1000}, {19, 0, 40, 425}, {1, 0, 40, 100},
		{1, 9000, 1000, 25}, {5, 9000, 340, 50},
	} {
		got := 0
		for range c.looks {
			mails += c.rate / 2
			p.count(mails, gcLook.Seconds()*places)
			got = p.percent(collector{live: c.liveMB << 20}, 1)
		}
		if got != c.percent {
			t.Errorf("step %d, %d mails/s with %d MB live: %d %%, want %d", i, c.rate, c.liveMB, got, c.percent)
		}
	}
}

// TestGCPaceFollowsMail: the collector's percentage is above all that it is without a flood as
// soon as one is seen, and an operator's GOGC is left alone.
func TestGCPaceFollowsMail(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	limit := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(limit)
	t.Setenv("GOGC", "")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	pace := tuneMemory(1 << 40)
	if got := percentNow(); got != gcMost {
		t.Errorf("%d %% before any mail, want %d", got, gcMost)
	}
	go func() {
		pace(ctx, func() uint64 { return 1 << 40 })
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

func percentNow() int {
	m := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(m)
	return int(m[0].Value.Uint64())
}
