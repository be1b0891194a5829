package disk

import (
	"log/slog"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func TestSizes(t *testing.T) {
	for _, c := range []struct{ total, memtable, reserve, ballast uint64 }{
		{0, 8, 16, 8}, {64, 4, 8, 4}, {128, 8, 16, 8}, {1024, 8, 102, 8}, {2048, 8, 204, 8}, {1 << 20, 8, 256, 8},
	} {
		m, r, b := spaceSizes(c.total * mib)
		if m/mib != c.memtable || r/mib != c.reserve || b/mib != c.ballast {
			t.Errorf("%d MiB: memtable %d, reserve %d, ballast %d", c.total, m/mib, r/mib, b/mib)
		}
	}
}

// TestGuardDoesNotFlutter checks that the guard closes below the reserve and frees the ballast, and
// that it opens only with space for the ballast and a margin.
func TestGuardDoesNotFlutter(t *testing.T) {
	free := uint64(500)
	o := &Options{FS: vfs.NewMem(), Logger: slog.New(slog.DiscardHandler), ReserveBytes: 100 * mib, BallastBytes: 10 * mib,
		FreeSpace: func() (uint64, uint64, error) { return free * mib, 1000 * mib, nil }}
	f, err := OpenFolder("data", o)
	must(t, err)
	for _, c := range []struct {
		free          uint64
		full, ballast bool
	}{{500, false, true}, {100, false, true}, {99, true, false}, {101, true, false}, {134, true, false}, {135, false, true}, {100, false, true}} {
		free = c.free
		f.SpaceGuard.MeasureDisk()
		_, err := o.FS.Stat(f.FilePath(BallastName))
		if ballast := !os.IsNotExist(err); f.SpaceGuard.IsFull() != c.full || ballast != c.ballast {
			t.Errorf("%d MiB free: full %v, ballast %v", c.free, f.SpaceGuard.IsFull(), ballast)
		}
	}
	if _, _, closures := f.SpaceGuard.LastMeasured(); closures != 1 {
		t.Errorf("closed %d times", closures)
	}
	must(t, f.Close())
}

// TestDiskIsWatchedAfterCommits checks that a commit is followed by a look at the disk, and that an
// idle folder is looked at once a second.
func TestDiskIsWatchedAfterCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var looks atomic.Int64
		o := &Options{FS: vfs.NewMem(), Logger: slog.New(slog.DiscardHandler), ReserveBytes: mib, BallastBytes: mib,
			FreeSpace: func() (uint64, uint64, error) { looks.Add(1); return 500 * mib, 1000 * mib, nil }}
		f, err := OpenFolder("data", o)
		must(t, err)
		f.StartWork(func() error { return nil }, func() bool { return false })
		opened := looks.Load()
		expect := func(want int64) {
			t.Helper()
			synctest.Wait()
			if got := looks.Load() - opened; got != want {
				t.Errorf("%d looks, want %d", got, want)
			}
		}
		for range 3 {
			must(t, f.BeginCommit(1))
		}
		time.Sleep(activeLook)
		expect(1)
		time.Sleep(10 * idleLook)
		expect(11)
		f.StopWork()
		must(t, f.Close())
	})
}
