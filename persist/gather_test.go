package persist

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestGather checks that the engine pauses only after a sync that many commits waited for.
func TestGather(t *testing.T) {
	s := open(t, vfs.NewMem())
	rest := s.storageEngine.pebbleOptions(&Options{}).WALMinSyncInterval
	if rest == nil {
		t.Fatal("the engine does not ask")
	}
	for waiting, want := range map[int64]int64{0: 0, gatherFrom - 1: 0, gatherFrom: int64(gatherFor)} {
		s.commitsWaiting.Store(waiting)
		if got := rest(); int64(got) != want {
			t.Errorf("%d wait: %v", waiting, got)
		}
	}
	s.commitsWaiting.Store(0)
}
