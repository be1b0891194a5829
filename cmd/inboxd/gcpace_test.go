package main

import "testing"

// TestGCPace: little garbage as long as collections are cheap, more while they are dear, and
// never more than twice what lives.
func TestGCPace(t *testing.T) {
	var p gcPace
	var now collector
	for i, c := range []struct {
		liveMB, share float64 // of the CPU time since the last look
		percent       int
	}{
		{0, 0, 200}, {8, 0, 200}, {20, 0.07, 160}, {32, 0.07, 100}, {64, 0.07, 50}, {64, 0.02, 50},
		{64, 0.3, 100}, {64, 0.3, 200}, {64, 0.3, 200}, {64, 0.07, 200}, {64, 0.02, 160}, {64, 0.02, 128},
		{1024, 0.07, 50}, {1024, 0.3, 100}, {16, 0.07, 200},
	} {
		now.live = uint64(c.liveMB * (1 << 20))
		now.used++
		now.seconds += c.share
		if got := p.percent(now); got != c.percent {
			t.Errorf("step %d, %v MB live at %v: %d %%, want %d", i, c.liveMB, c.share, got, c.percent)
		}
	}
	if before := p; p.percent(now) != 200 || p != before {
		t.Error("without a collection in between something changed")
	}
}
