package persist

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/inbox"
	"inboxd/persist/disk"
)

var bulky = strings.Repeat("0123456789abcdef", blobOver/16) + "!"

// TestRawInPieces checks that a row and a file can be read in pieces. A message that is dropped
// meanwhile cannot be read further, and a damaged one cannot be opened.
func TestRawInPieces(t *testing.T) {
	mem := vfs.NewMem()
	s, err := Open(folder, options(mem))
	must(t, err)
	defer closeStore(t, s)
	for id, text := range map[int64]string{1: bulky, 2: bulky[:100<<10]} {
		must(t, s.CommitInbox(mail(victim, id, text)))
		raw, err := s.OpenRaw(victim, id)
		must(t, err)
		if raw.Size() != int64(len(text)) {
			t.Errorf("%d bytes of %d", raw.Size(), len(text))
		}
		must(t, iotest.TestReader(io.NewSectionReader(raw, 0, raw.Size()), []byte(text)))
		must(t, s.CommitInbox(&inbox.Rows{Address: victim, DropMessages: mail(victim, id, "").PutMessages}))
		if _, err := raw.ReadAt(make([]byte, 10), 10); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("dropped: %v", err)
		}
		if raw, err := s.OpenRaw(victim, id); raw != nil || err != nil {
			t.Errorf("dropped: %v, %v", raw, err)
		}
	}
	must(t, s.CommitInbox(mail(victim, 3, bulky)))
	files, err := mem.List(s.blobFiles.dir())
	must(t, err)
	for _, name := range files {
		must(t, disk.WriteFile(mem, s.blobFiles.dir(), name, []byte(strings.Replace(bulky, "!", "?", 1))))
	}
	if _, err := s.OpenRaw(victim, 3); !fault.Is(err, fault.DataDamaged) {
		t.Errorf("damaged: %v", err)
	}
}

// TestBlobCrashAtEveryStep simulates a crash before each file operation of storing and dropping a
// large message. It is afterwards there completely or not at all, and no file is left over.
func TestBlobCrashAtEveryStep(t *testing.T) {
	mem := vfs.NewCrashableMem()
	type crash struct {
		fs              *vfs.MemFS
		stored, dropped bool
	}
	var crashes []crash
	var recording atomic.Bool // the engine's own goroutines use it, too
	stored, dropping := false, false
	o := options(errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if recording.Load() && strings.Contains(op.Path, disk.BlobsName) && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			crashes = append(crashes, crash{mem.CrashClone(vfs.CrashCloneCfg{}), stored, dropping})
		}
		return nil
	})))
	s, err := Open(folder, o)
	must(t, err)
	eventually(t, "the store is idle", func() bool {
		_, err := mem.Stat(s.folder.FilePath("spare.log"))
		return s.db.Metrics().Snapshots.Count == 0 && err == nil
	})
	recording.Store(true)
	must(t, s.CommitInbox(mail(victim, 1, bulky)))
	stored = true
	crashes = append(crashes, crash{mem.CrashClone(vfs.CrashCloneCfg{}), true, false})
	dropping = true
	must(t, s.CommitInbox(&inbox.Rows{Address: victim, DropMessages: mail(victim, 1, "").PutMessages}))
	recording.Store(false)
	closeStore(t, s)
	if len(crashes) < 6 {
		t.Fatalf("only %d steps were seen", len(crashes))
	}
	for i, c := range crashes {
		after, err := Open(folder, options(c.fs))
		must(t, err)
		raw, err := after.ReadRaw(victim, 1)
		must(t, err)
		// The drop is synced before its file is removed.
		if there := string(raw) == bulky; !there && raw != nil || there != (c.stored && !c.dropped) {
			t.Errorf("step %d (stored %v, dropped %v): %d bytes", i, c.stored, c.dropped, len(raw))
		}
		closeStore(t, after)
		files, err := c.fs.List(after.blobFiles.dir())
		must(t, err)
		if want := map[bool]int{true: 1}[raw != nil]; len(files) != want {
			t.Errorf("step %d: files %v are left, want %d", i, files, want)
		}
	}
}

func TestDamagedBlob(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs)
	must(t, s.CommitInbox(mail(victim, 1, bulky)))
	files, err := fs.List(s.blobFiles.dir())
	must(t, err)
	path := fs.PathJoin(s.blobFiles.dir(), files[0])
	data, err := disk.ReadFile(fs, path)
	must(t, err)
	for name, bad := range map[string][]byte{"cut": data[:len(data)-1], "longer": append(data[:len(data):len(data)], 0), "changed": []byte("X" + string(data[1:]))} {
		must(t, rewrite(fs, path, bad))
		if raw, err := s.ReadRaw(victim, 1); err == nil {
			t.Errorf("a blob that was %s came back as %d bytes", name, len(raw))
		}
	}
	must(t, fs.Remove(path))
	if raw, err := s.ReadRaw(victim, 1); err == nil {
		t.Errorf("a missing blob came back as %d bytes", len(raw))
	}
}

// TestABlobIsWholeForAMoment checks that opening a file again soon after a check does not verify it
// again, but later does. Reading the whole file always verifies it.
func TestABlobIsWholeForAMoment(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs)
	must(t, s.CommitInbox(mail(victim, 1, bulky)))
	opened := func() error { _, err := s.OpenRaw(victim, 1); return err }
	must(t, opened())
	files, err := fs.List(s.blobFiles.dir())
	must(t, err)
	flip(t, fs, fs.PathJoin(s.blobFiles.dir(), files[0]), 100)
	must(t, opened())
	if _, err := s.ReadRaw(victim, 1); !fault.Is(err, fault.DataDamaged) {
		t.Errorf("read as a whole: %v", err)
	}
	for name, at := range s.blobFiles.verifiedFiles.at {
		s.blobFiles.verifiedFiles.at[name] = at.Add(-wholeFor)
	}
	for range 2 {
		if err := opened(); !fault.Is(err, fault.DataDamaged) {
			t.Errorf("after the moment: %v", err)
		}
	}
}

// TestFailedBlobLeavesNothing makes the second of two blobs of a batch fail.
func TestFailedBlobLeavesNothing(t *testing.T) {
	mem := vfs.NewMem()
	writes := 0
	var armed atomic.Bool
	o := options(errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if armed.Load() && op.Kind == errorfs.OpFileWrite && strings.Contains(op.Path, disk.BlobsName) {
			if writes++; writes == 2 {
				return errorfs.ErrInjected
			}
		}
		return nil
	})))
	s, err := Open(folder, o)
	must(t, err)
	defer closeStore(t, s)
	armed.Store(true)
	r := mail(victim, 1, bulky)
	r.StoreMessages[0].Content.Doc.Text = bulky
	if err := s.CommitInbox(r); err == nil {
		t.Fatal("the commit succeeded without its blob")
	}
	files, err := mem.List(s.blobFiles.dir())
	if err != nil || len(files) != 0 || s.ReadStats().BlobFiles != 0 {
		t.Errorf("files %v, %d counted, %v", files, s.ReadStats().BlobFiles, err)
	}
	if st, err := s.LoadInbox(victim); err != nil || st.LastID != 0 {
		t.Errorf("the failed mail has left %+v, %v", st, err)
	}
}
