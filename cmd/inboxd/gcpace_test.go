package main

import "testing"

// TestGCPace: little garbage as long as collections are cheap, more while they are dear, and
// never more than twice what lives.
func TestGCPace(t *testing.T) {
	var p gcPace
	var now collector
	for i, c := range []struct {
		liveMB, share float64 // of the cores since the last look
		percent       int
	}{
		{0, 0, 200}, {8, 0, 200}, {16, 0.05, 150}, {24, 0.05, 100}, {64, 0.05, 50}, {64, 0.01, 50},
		{64, 0.2, 100}, {64, 0.2, 200}, {64, 0.2, 200}, {64, 0.05, 200}, {64, 0.01, 160}, {64, 0.01, 128},
		{1024, 0.05, 50}, {1024, 0.2, 100}, {12, 0.05, 200},
	} {
		now.live = uint64(c.liveMB * (1 << 20))
		now.from++
		now.took += c.share
		if got := p.percent(now); got != c.percent {
			t.Errorf("step %d, %v MB live at %v: %d %%, want %d", i, c.liveMB, c.share, got, c.percent)
		}
	}
	if before := p; p.percent(now) != 200 || p != before {
		t.Error("without a collection in between something changed")
	}
}
