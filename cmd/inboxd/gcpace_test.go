package main

import "testing"

// TestGCPercent: little garbage beside a small heap, no more collections for a large one.
func TestGCPercent(t *testing.T) {
	for _, c := range []struct{ liveMB, percent int }{
		{0, 200}, {8, 200}, {16, 200}, {20, 160}, {32, 100}, {64, 50}, {128, 75}, {512, 93},
	} {
		if got := gcPercent(uint64(c.liveMB) << 20); got != c.percent {
			t.Errorf("%d MB live: %d %%, want %d", c.liveMB, got, c.percent)
		}
	}
}
