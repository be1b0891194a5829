package disk

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestOursAsWorkBegins checks that the engine, which compacts as soon as it is open, may call
// CheckIdentity while StartWork adds witnesses. The race detector reports a violation.
func TestOursAsWorkBegins(t *testing.T) {
	f, err := OpenFolder("data", &Options{FS: vfs.NewMem(), FreeSpace: func() (uint64, uint64, error) { return 1 << 30, 1 << 30, nil }, DisableTimers: true})
	must(t, err)
	must(t, f.FS.MkdirAll(f.FilePath(EngineName), 0o700))
	compaction := make(chan error)
	go func() { compaction <- f.CheckIdentity() }()
	f.StartWork(func() error { return nil }, func() bool { return false })
	must(t, <-compaction)
	if len(f.witnesses) != 2 {
		t.Errorf("witnesses are %v", f.witnesses)
	}
	f.StopWork()
	must(t, f.Close())
}
