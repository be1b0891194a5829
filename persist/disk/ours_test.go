package disk

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestOursAsWorkBegins checks that the engine, which compacts as soon as it is open, may call Ours
// while Work adds witnesses. The race detector reports a violation.
func TestOursAsWorkBegins(t *testing.T) {
	f, err := Open("data", &Options{FS: vfs.NewMem(), FreeSpace: func() (uint64, uint64, error) { return 1 << 30, 1 << 30, nil }, Still: true})
	must(t, err)
	must(t, f.FS.MkdirAll(f.Path(EngineName), 0o700))
	compaction := make(chan error)
	go func() { compaction <- f.Ours() }()
	f.Work(func() error { return nil }, func() bool { return false })
	must(t, <-compaction)
	if len(f.witnesses) != 2 {
		t.Errorf("witnesses are %v", f.witnesses)
	}
	f.Rest()
	must(t, f.Close())
}
