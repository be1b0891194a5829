package disk

import (
	"errors"
	"os"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestUsedSpareDoesNotComeBack checks that after a power loss a used spare does not reappear as a
// spare: the next start would write one log over another.
func TestUsedSpareDoesNotComeBack(t *testing.T) {
	fs := vfs.NewCrashableMem()
	must(t, makeFolder(fs, "data"))
	f := &DataFolder{FS: fs, Dir: "data", SpaceGuard: &SpaceGuard{}}
	s := newSpareLog(f, 64<<10)
	s.openSpare()
	log, err := s.takeSpare(f.FilePath("000001.log"), vfs.WriteCategoryUnspecified)
	must(t, err)
	if log == nil {
		t.Fatal("there was no spare")
	}
	defer log.Close()
	clone := fs.CrashClone(vfs.CrashCloneCfg{})
	if _, err := clone.Stat(s.sparePath()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the used spare is back: %v", err)
	}
	if log, err := s.takeSpare(f.FilePath("000002.log"), vfs.WriteCategoryUnspecified); log != nil || err != nil {
		t.Errorf("one spare became two logs: %v %v", log, err)
	}
}
