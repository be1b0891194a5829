package disk

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestClockInDoubt sets the clock off by hours, over restarts, and lists when messages may be
// removed. Each step first lets the given minutes pass. Seen is the latest trusted reading,
// whatever comes after it.
func TestClockInDoubt(t *testing.T) {
	const day = 24
	type step struct {
		minutes, off int // off is in hours, from here on
		restart      bool
		trusted      bool
	}
	for name, steps := range map[string][]step{
		"a year passes in one run":    {{365 * day * 60, 0, false, true}},
		"a day is no jump":            {{0, day, true, true}, {1, 2 * day, false, true}, {1, 0, true, true}},
		"backwards is no jump":        {{0, -40 * day, true, true}, {60, -40 * day, false, true}, {0, -40 * day, true, true}},
		"back and forth is one":       {{0, -40 * day, false, true}, {1, 0, false, false}},
		"ten years ahead":             {{0, 3650 * day, true, false}, {59, 3650 * day, false, false}, {1, 3650 * day, false, true}, {0, 0, true, true}},
		"ten years, and put right":    {{1, 3650 * day, false, false}, {1, -35 * day, false, true}, {1, 0, false, false}, {60, 0, false, true}},
		"ahead within a run":          {{1, day + 1, false, false}, {59, day + 1, false, false}, {1, day + 1, false, true}},
		"ahead since the run before":  {{0, 35 * day, true, false}, {59, 35 * day, false, false}, {1, 35 * day, false, true}, {0, 35 * day, true, true}},
		"a restart begins it anew":    {{0, 35 * day, true, false}, {50, 35 * day, true, false}, {59, 35 * day, true, false}, {59, 35 * day, false, false}, {1, 35 * day, false, true}},
		"the clock is put right":      {{0, 35 * day, true, false}, {10, 0, false, true}, {0, 0, true, true}},
		"put right while it was off":  {{0, 35 * day, true, false}, {10, 0, true, true}},
		"a second jump":               {{0, 35 * day, true, false}, {50, 70 * day, false, false}, {59, 70 * day, false, false}, {1, 70 * day, false, true}},
		"a first jump that was wrong": {{0, 70 * day, true, false}, {50, 35 * day, false, false}, {30, 35 * day, false, false}, {30, 35 * day, false, true}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &DataFolder{FS: vfs.NewMem(), Dir: "data", Log: &StoreLogger{slogOut: slog.New(slog.DiscardHandler)}}
				must(t, f.FS.MkdirAll(f.Dir, 0o700))
				must(t, WriteFile(f.FS, f.Dir, lockName, nil))
				off := 0
				now := func() time.Time { return time.Now().Add(time.Duration(off) * time.Hour) }
				start := func() *HighWater {
					h, err := readHighWater(f, now)
					must(t, err)
					return h
				}
				h := start()
				h.writeMark()
				seen := now().UTC()
				for i, s := range steps {
					time.Sleep(time.Duration(s.minutes) * time.Minute)
					if off = s.off; s.restart {
						h = start()
					}
					h.writeMark() // as for a message, before the clock is read
					if got := h.Clock().IsTrusted(); got != s.trusted {
						t.Errorf("step %d: trusted %v", i+1, got)
					}
					if s.trusted && now().After(seen) {
						seen = now().UTC()
					}
					if got := h.Clock().LatestTrusted(); !got.Equal(seen) {
						t.Errorf("step %d: seen %v, want %v", i+1, got, seen)
					}
				}
			})
		})
	}
}
