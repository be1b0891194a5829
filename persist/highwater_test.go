package persist

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A commit after a quiet time is noted at once, those that follow it together.
func TestHighWaterIsNotedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Store{fs: vfs.NewMem(), dir: folder, now: time.Now, stop: make(chan struct{})}
		must(t, s.fs.MkdirAll(folder, 0o700))
		s.positions.moved = make(chan struct{}, 1)
		go s.keepHighWater(s.stop)
		defer close(s.stop)
		noted := func(want uint64) {
			t.Helper()
			synctest.Wait()
			if h, err := s.readHighWater(); err != nil || h.commits != want {
				t.Errorf("%d commits are noted, want %d, %v", h.commits, want, err)
			}
		}
		time.Sleep(time.Hour)
		s.positions.ack()
		noted(1)
		s.positions.ack()
		s.positions.ack()
		noted(1)
		time.Sleep(highWaterEvery)
		noted(3)
		time.Sleep(time.Hour)
		s.positions.ack()
		noted(4)
	})
}
