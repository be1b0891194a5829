package persist

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"inboxd/internal/core/calendar"
	"inboxd/internal/core/inbox"
	"inboxd/persist/disk"
)

// addressed makes the rows of a message to several recipients for one of them: only the calendar
// differs.
func addressed(shared *inbox.SharedStorage, n int, id int64, raw string) *inbox.Rows {
	r := mail(fmt.Sprintf("r%d@example.org", n), id, raw)
	r.DueTo = at(1001)
	m := &r.StoreMessages[0]
	m.SharedStorage, m.Content.Doc.Text = shared, raw[:len(raw)/2]
	m.Content.Calendar = &calendar.MessageEvent{Action: "created", RefusalReason: r.Address}
	return r
}

// diskBytes returns the size of all files of a folder, each counted once.
func diskBytes(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	seen := map[uint64]bool{}
	must(t, filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info := must1(entry.Info())(t)
		if s := info.Sys().(*syscall.Stat_t); !seen[s.Ino] {
			seen[s.Ino] = true
			bytes += info.Size()
		}
		return nil
	}))
	return bytes
}

// farFS is a disk that supports no links to other folders.
type farFS struct{ vfs.FS }

func (f farFS) Link(from, to string) error {
	if filepath.Dir(from) != filepath.Dir(to) {
		return &os.LinkError{Op: "link", Old: from, New: to, Err: syscall.EXDEV}
	}
	return f.FS.Link(from, to)
}

func (f farFS) Unwrap() vfs.FS { return f.FS }

// TestRecipientsShareAFile checks that the bytes and the content of a message to a hundred
// recipients are on disk once: in the folder, in its backups and in a repaired copy. Each recipient
// reads a separate copy, and deleting it does not affect the others.
func TestRecipientsShareAFile(t *testing.T) {
	const recipients = 100
	raw := strings.Repeat("0123456789abcde\n", 40<<10)
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o700))
	o := options(farFS{vfs.Default})
	s := must1(Open(filepath.Join(dir, "data"), o))(t)
	var shared inbox.SharedStorage
	var all sync.WaitGroup
	for n := range recipients { // some of them concurrently
		all.Go(func() {
			if err := s.CommitInbox(addressed(&shared, n, 1, raw)); err != nil {
				t.Error(err)
			}
		})
		if n%10 == 0 {
			all.Wait()
		}
	}
	all.Wait()
	fits := func(what, dir string) {
		t.Helper()
		if n := diskBytes(t, filepath.Join(dir, disk.BlobsName)); n < int64(len(raw)) || n > 2*int64(len(raw)) {
			t.Errorf("%s: %d bytes are stored of a message of %d", what, n, len(raw))
		}
	}
	fits("the folder", s.folder.Dir)
	eventually(t, "the blobs are counted", func() bool {
		s.totalsCounter.mu.Lock()
		s.totalsCounter.restUntil = time.Time{} // on a busy machine one call does not count all groups
		s.totalsCounter.mu.Unlock()
		sum, err := s.ReadTotals()
		return err == nil && sum.BlobBytes > int64(len(raw)) && sum.BlobBytes <= 2*int64(len(raw))
	})
	copied := filepath.Join(dir, "backup")
	must(t, s.BackupTo(t.Context(), copied))
	fits("a backup on another disk", copied)
	reads := func(s *Store, n int) {
		t.Helper()
		addr := fmt.Sprintf("r%d@example.org", n)
		c := must1(s.ReadContent(addr, 1))(t)
		if got := must1(s.ReadRaw(addr, 1))(t); string(got) != raw || c.Doc.Text != raw[:len(raw)/2] || c.Calendar.RefusalReason != addr {
			t.Errorf("%s reads %d bytes, and of a meeting %+v", addr, len(got), c.Calendar)
		}
	}
	for n := range recipients {
		reads(s, n)
		if n > 0 {
			must(t, s.CommitInbox(&inbox.Rows{Address: fmt.Sprintf("r%d@example.org", n), DropMessages: mail("", 1, "").PutMessages}))
		}
	}
	reads(s, 0)
	must(t, s.CommitInbox(addressed(&shared, 1, 2, raw))) // the first name belongs to another recipient or is gone
	must(t, s.CommitInbox(&inbox.Rows{Address: "r0@example.org", DropMessages: mail("", 1, "").PutMessages}))
	must(t, s.CommitInbox(&inbox.Rows{Address: "r1@example.org", DropMessages: mail("", 2, "").PutMessages}))
	if names := must1(o.FS.List(s.blobFiles.dir()))(t); len(names) > 0 || s.ReadStats().BlobFiles != 0 {
		t.Errorf("%v are left, %d are counted", names, s.ReadStats().BlobFiles)
	}
	closeStore(t, s)

	var problems []string
	describe := func(problem string) { problems = append(problems, problem) }
	sum := must1(CheckFolder(copied, o, describe))(t)
	if sum.FileCount != 2*recipients || sum.TotalBytes > 4*int64(len(raw)) {
		t.Errorf("a check reads %d bytes of %d files", sum.TotalBytes, sum.FileCount)
	}
	repaired := filepath.Join(dir, "repaired")
	must1(RepairFolder(copied, repaired, o, describe))(t)
	fits("a repaired copy", repaired)
	again := must1(Open(repaired, o))(t)
	reads(again, 0)
	reads(again, recipients-1)
	closeStore(t, again)

	names := must1(o.FS.List(filepath.Join(copied, disk.BlobsName)))(t)
	must(t, rewrite(vfs.Default, filepath.Join(copied, disk.BlobsName, names[0]), []byte("damaged")))
	if len(problems) > 0 {
		t.Errorf("problems: %v", problems)
	}
	if must1(CheckFolder(copied, o, describe))(t); len(problems) != 1 {
		t.Errorf("one damaged name of a file: %v", problems)
	}
}

// TestNothingElseIsShared covers different bytes, and a disk without links.
func TestNothingElseIsShared(t *testing.T) {
	mem := vfs.NewMem()
	noLinks := atomic.Bool{}
	s := open(t, errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if noLinks.Load() && op.Kind == errorfs.OpLink {
			return syscall.EPERM
		}
		return nil
	})))
	var shared inbox.SharedStorage
	for n, raw := range []string{bulky, strings.ToUpper(bulky), bulky[1:], bulky} {
		noLinks.Store(n == 3)
		must(t, s.CommitInbox(addressed(&shared, n, 1, raw)))
		if got := must1(s.ReadRaw(fmt.Sprintf("r%d@example.org", n), 1))(t); string(got) != raw {
			t.Errorf("recipient %d reads %d bytes", n, len(got))
		}
	}
}

// TestCrashAtEveryStepOfASharedFile simulates a crash before each file operation while two
// recipients get a message and drop it. Each has it completely or not at all, as committed, and no
// file is left over.
func TestCrashAtEveryStepOfASharedFile(t *testing.T) {
	mem := vfs.NewCrashableMem()
	type crash struct {
		fs  *vfs.MemFS
		has [2]bool // certainly
		may [2]bool
	}
	var crashes []crash
	var recording atomic.Bool
	var has, may [2]bool
	o := options(errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if recording.Load() && strings.Contains(op.Path, disk.BlobsName) && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			crashes = append(crashes, crash{mem.CrashClone(vfs.CrashCloneCfg{}), has, may})
		}
		return nil
	})))
	s := must1(Open(folder, o))(t)
	eventually(t, "the store is idle", func() bool {
		_, err := mem.Stat(s.folder.FilePath("spare.log"))
		return s.db.Metrics().Snapshots.Count == 0 && err == nil
	})
	recording.Store(true)
	var shared inbox.SharedStorage
	addr := func(n int) string { return fmt.Sprintf("r%d@example.org", n) }
	for n := range 2 {
		may[n] = true
		must(t, s.CommitInbox(addressed(&shared, n, 1, bulky)))
		has[n] = true
	}
	for n := range 2 {
		has[n] = false
		must(t, s.CommitInbox(&inbox.Rows{Address: addr(n), DropMessages: mail("", 1, "").PutMessages}))
		may[n] = false
	}
	recording.Store(false)
	closeStore(t, s)
	if len(crashes) < 12 {
		t.Fatalf("only %d steps were seen", len(crashes))
	}
	for i, c := range crashes {
		after := must1(Open(folder, options(c.fs)))(t)
		files := 0
		for n := range 2 {
			raw := must1(after.ReadRaw(addr(n), 1))(t)
			if there := string(raw) == bulky; !there && raw != nil || there && !c.may[n] || !there && c.has[n] {
				t.Errorf("step %d: recipient %d has %d bytes", i, n, len(raw))
			}
			if raw != nil {
				files += 2 // content, too
			}
		}
		after.blobFiles.sweepDone.Wait()
		if names := must1(c.fs.List(after.blobFiles.dir()))(t); len(names) != files {
			t.Errorf("step %d: files %v are left, want %d", i, names, files)
		}
		closeStore(t, after)
		if problems := problemsOf(t, c.fs, folder); len(problems) > 0 {
			t.Errorf("step %d: %v", i, problems)
		}
	}
}
