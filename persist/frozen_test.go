package persist

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"inboxd/internal/base/fault"
	"inboxd/persist/disk"
)

// freezer blocks every write to a disk while it is frozen.
type freezer struct {
	thaw  atomic.Pointer[chan struct{}] // nil: not frozen
	syncs atomic.Int64                  // of logs
}

func (f *freezer) String() string { return "freezer" }

func (f *freezer) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
		return nil
	}
	if thaw := f.thaw.Load(); thaw != nil {
		<-*thaw
	}
	if strings.HasSuffix(op.Path, ".log") && (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData) {
		f.syncs.Add(1)
	}
	return nil
}

func (f *freezer) freeze() { thaw := make(chan struct{}); f.thaw.Store(&thaw) }
func (f *freezer) melt()   { close(*f.thaw.Swap(nil)) }

// TestReadyMeansThatAWriteLands freezes and thaws the disk, idle and with a commit in progress,
// which alone suffices to detect it. Many callers share one probe.
func TestReadyMeansThatAWriteLands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var disk freezer
		o := options(errorfs.Wrap(vfs.NewMem(), &disk))
		o.DisableTimers = false
		o.FreeSpace = func() (uint64, uint64, error) { return 1 << 40, 1 << 40, nil }
		s, err := Open(folder, o)
		must(t, err)
		defer closeStore(t, s)
		ask := func(want bool, within time.Duration) {
			t.Helper()
			began := time.Now()
			if err := s.CheckWritable(); (err == nil) != want || err != nil && !fault.Is(err, fault.StorageFull) {
				t.Errorf("writable: %v, want %v", err, want)
			}
			if took := time.Since(began); took > within {
				t.Errorf("it took %v", took)
			}
		}
		must(t, s.CommitInbox(mail(victim, 1, "x")))
		ask(true, 0)
		time.Sleep(time.Hour)
		before := disk.syncs.Load()
		for range 100 {
			ask(true, 0) // a write completes immediately
		}
		if n := disk.syncs.Load() - before; n != 1 {
			t.Errorf("%d writes for 100 who ask at once", n)
		}

		time.Sleep(time.Hour)
		disk.freeze()
		for range 100 {
			go s.CheckWritable()
		}
		ask(false, 2*time.Second)
		synctest.Wait()
		ask(false, 0)
		if !s.IsFull() {
			t.Error("new data are not refused")
		}
		disk.melt()
		synctest.Wait()
		ask(true, 0)

		time.Sleep(time.Hour)
		disk.freeze()
		stored := make(chan error, 1)
		go func() { stored <- s.CommitInbox(mail(victim, 2, "x")) }()
		for began := time.Now(); !s.IsFull(); time.Sleep(100 * time.Millisecond) {
			if time.Since(began) > 4*time.Second {
				t.Fatal("nobody found out that the disk is frozen")
			}
		}
		disk.melt()
		must(t, <-stored)
		synctest.Wait()
		if s.IsFull() {
			t.Error("new data are refused after the thaw")
		}
		ask(true, 0)
	})
}

// TestMovedFolder checks that nothing is stored while the path does not lead to the folder,
// whatever else is there, and that everything continues when it is back.
func TestMovedFolder(t *testing.T) {
	parent := t.TempDir()
	dir, elsewhere := filepath.Join(parent, "data"), filepath.Join(parent, "elsewhere")
	o := options(vfs.Default)
	s, err := Open(dir, o)
	must(t, err)
	must(t, s.CommitInbox(mail(victim, 1, "x")))
	storesNothing := func(what string) {
		t.Helper()
		// A commit within identityCheckAge after the last check need not notice it yet;
		// CheckWritable does.
		if err := s.CheckWritable(); !fault.Is(err, fault.StorageFull) || !s.IsFull() {
			t.Errorf("%s: writable: %v, full %v", what, err, s.IsFull())
		}
		if err := s.CommitInbox(mail(victim, 2, "x")); !fault.Is(err, fault.StorageFull) {
			t.Errorf("%s: a commit answers %v", what, err)
		}
	}
	refused := func(what string) {
		t.Helper()
		storesNothing(what)
		if raw, err := s.ReadRaw(victim, 1); err != nil || string(raw) != "x" {
			t.Errorf("%s: reading: %q, %v", what, raw, err)
		}
	}
	must(t, os.Rename(dir, elsewhere))
	refused("moved away")
	flushed := make(chan error, 1)
	go func() { flushed <- s.db.Flush() }() // needs a new log, and waits
	must(t, os.Mkdir(dir, 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "LOCK"), nil, 0o600))
	refused("another's on the path")
	must(t, os.RemoveAll(dir))
	must(t, os.Rename(elsewhere, dir))
	must(t, <-flushed)
	must(t, s.CommitInbox(mail(victim, 2, body(victim, 2))))
	must(t, s.CheckWritable())
	for _, part := range []string{disk.EngineName, disk.BlobsName} {
		part = filepath.Join(dir, part)
		must(t, os.Rename(part, elsewhere))
		storesNothing(part + " moved away") // its content cannot be read
		must(t, os.Rename(elsewhere, part))
		must(t, s.CheckWritable())
	}
	closeStore(t, s)
	s, err = Open(dir, options(vfs.Default))
	must(t, err)
	must(t, checkWhole(s, victim, 2, true))
	closeStore(t, s)
}

// TestOpenFolderIsRefused covers empty and used folders; folders that the service creates are
// private.
func TestOpenFolderIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	must(t, os.Mkdir(dir, 0o700))
	for _, mode := range []os.FileMode{0o755, 0o750, 0o701, 0o722} {
		must(t, os.Chmod(dir, mode))
		_, err := Open(dir, options(vfs.Default))
		if err == nil || !strings.HasSuffix(err.Error(), "run chmod 700 "+dir) {
			t.Errorf("mode %v: %v", mode, err)
		}
	}
	must(t, os.Chmod(dir, 0o700))
	for range 2 {
		s, err := Open(dir, options(vfs.Default))
		must(t, err)
		closeStore(t, s)
	}
}
