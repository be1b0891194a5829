package persist

import (
	"errors"
	"os"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestUsedSpareDoesNotComeBack holds that a power loss after a spare became a log can't
// show it as a spare again: the next start would write one log over another.
func TestUsedSpareDoesNotComeBack(t *testing.T) {
	fs := vfs.NewCrashableMem()
	must(t, makeFolder(fs, folder))
	s := &spareLog{fs: fs, dir: folder, size: 64 << 10, gate: &gate{}}
	s.open()
	f, err := s.become(fs.PathJoin(folder, "000001.log"), vfs.WriteCategoryUnspecified)
	must(t, err)
	if f == nil {
		t.Fatal("there was no spare")
	}
	defer f.Close()
	clone := fs.CrashClone(vfs.CrashCloneCfg{})
	if _, err := clone.Stat(s.path()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the used spare is back: %v", err)
	}
	if f, err := s.become(fs.PathJoin(folder, "000002.log"), vfs.WriteCategoryUnspecified); f != nil || err != nil {
		t.Errorf("one spare became two logs: %v %v", f, err)
	}
}
