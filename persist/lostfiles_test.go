package persist

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/inbox"
	"inboxd/persist/disk"
)

// TestLastRecordOfTheManifest flips every bit of the record: the start is refused with the
// manifest's name, and no table is removed. An incomplete record, as a crash leaves it, is
// accepted. The record was not recorded as durable yet.
func TestLastRecordOfTheManifest(t *testing.T) {
	whole := inTables(t, 24)
	must(t, whole.Remove(folder+"/"+disk.HighWaterName))
	must(t, disk.SyncFolder(whole, folder))
	names := filesOf(t, whole, "MANIFEST")
	path := names[len(names)-1]
	data := must1(disk.ReadFile(whole, path))(t)
	last := lastChunk(t, data)
	tables := append(filesOf(t, whole, ".sst"), filesOf(t, whole, ".blob")...)
	for at := last; at < len(data); at++ {
		fs := whole.CrashClone(vfs.CrashCloneCfg{})
		flip(t, fs, path, at)
		_, err := Open(folder, options(fs))
		if err == nil || !strings.Contains(err.Error(), "the file "+path+" is damaged: its last record, at byte ") || !strings.HasSuffix(err.Error(), "Restore a backup of the folder") {
			t.Fatalf("a bit at %d of %d to %d: %v", at, last, len(data), err)
		}
		for _, path := range tables {
			must1(fs.Stat(path))(t)
		}
	}
	for left := last; left < len(data); left++ {
		for name, torn := range map[string][]byte{"cut": data[:left], "zeros": append(bytes.Clone(data[:left]), make([]byte, len(data)-left)...)} {
			if name == "zeros" && left%512 != 0 && left > last {
				continue // a sector is written atomically
			}
			fs := whole.CrashClone(vfs.CrashCloneCfg{})
			must(t, rewrite(fs, path, torn))
			if s, err := Open(folder, options(fs)); err == nil {
				closeStore(t, s)
			} else if strings.Contains(err.Error(), "last record") {
				t.Fatalf("%s at %d: %v", name, left, err)
			}
		}
	}
}

// lastChunk returns where the last record begins: the manifest is short, so no record has two
// chunks.
func lastChunk(t *testing.T, data []byte) (last int) {
	t.Helper()
	for at := 0; at < len(data); at += 7 + int(data[at+4]) + int(data[at+5])<<8 {
		last = at
	}
	return last
}

// TestMissingValueFile checks that the start continues and names the missing file, and that its
// messages are reported. Nothing panics, even if the file disappears during a run.
func TestMissingValueFile(t *testing.T) {
	for _, running := range []bool{false, true} {
		var log bytes.Buffer
		fs := inTables(t, 24)
		path := filesOf(t, fs, ".blob")[0]
		if !running {
			must(t, fs.Remove(path))
		}
		o := options(fs)
		o.Logger = slog.New(slog.NewTextHandler(&lockedWriter{w: &log}, nil))
		s, err := Open(folder, o)
		must(t, err)
		if running {
			must(t, fs.Remove(path))
		}
		damaged, silent := readMails(s, 24)
		if silent != nil || damaged == 0 || damaged == 24 {
			t.Errorf("running %v: %d mails of 24 are damaged: %v", running, damaged, silent)
		}
		if n := strings.Count(log.String(), "it is missing"); s.ReadStats().DamagedFiles != 1 || s.ReadStats().DamagedItems != damaged || n == 0 {
			t.Errorf("running %v: counted %d files, %d items of %d", running, s.ReadStats().DamagedFiles, s.ReadStats().DamagedItems, damaged)
		}
		must(t, s.CommitInbox(mail(victim, 25, large(25))))
		must(t, s.db.Flush())
		must(t, s.Close())
	}
}

// TestFolderAwayIsNoDamage checks that a file that cannot be opened while the folder is away is not
// reported as damaged.
func TestFolderAwayIsNoDamage(t *testing.T) {
	dir := t.TempDir() + "/data"
	s, err := Open(dir, options(vfs.Default))
	must(t, err)
	for id := int64(1); id <= 8; id++ {
		must(t, s.CommitInbox(mail(victim, id, large(id))))
	}
	must(t, s.db.Flush())
	must(t, os.Rename(dir, dir+"2"))
	for id := int64(1); id <= 8; id++ {
		if _, err := s.ReadRaw(victim, id); err != nil && !fault.Is(err, fault.StorageFull) {
			t.Errorf("mail %d: %v", id, err)
		}
	}
	must(t, os.Rename(dir+"2", dir))
	if damaged, err := readMails(s, 8); damaged > 0 || err != nil || s.ReadStats().DamagedFiles+s.ReadStats().DamagedItems > 0 {
		t.Errorf("%d damaged, %+v, %v", damaged, s.ReadStats(), err)
	}
	closeStore(t, s)
}

// TestDamagedFilterCostsNothing checks that rows are found without the filter.
func TestDamagedFilterCostsNothing(t *testing.T) {
	fs := inTables(t, 24)
	for _, path := range filesOf(t, fs, ".sst") {
		for _, filter := range layout(t, fs, path).Filter {
			flip(t, fs, path, int(filter.Offset)+3)
		}
	}
	s := open(t, fs)
	damaged, silent := readMails(s, 24)
	if damaged > 0 || silent != nil || s.ReadStats().DamagedItems > 0 || s.ReadStats().DamagedFiles == 0 {
		t.Errorf("%d damaged, %v, %+v", damaged, silent, s.ReadStats())
	}
	if live, err := s.InboxExists(victim); !live || err != nil {
		t.Errorf("%v, %v", live, err)
	}
	if live, err := s.InboxExists("nobody@example.org"); live || err != nil {
		t.Errorf("nobody: %v, %v", live, err)
	}
	closeStore(t, s)
}

func layout(t *testing.T, fs vfs.FS, path string) *sstable.Layout {
	t.Helper()
	file := must1(fs.Open(path))(t)
	readable := must1(sstable.NewSimpleReadable(file))(t)
	r := must1(sstable.NewReader(t.Context(), readable, sstable.ReaderOptions{Filters: (&storageEngine{folder: &disk.DataFolder{}}).pebbleOptions(new(Options)).MakeReaderOptions().Filters}))(t)
	defer r.Close()
	return must1(r.Layout())(t)
}

// TestDueWorkIsFoundPastDamage checks that an index with any one damaged block returns all other
// entries.
func TestDueWorkIsFoundPastDamage(t *testing.T) {
	const entries = 2000
	mem := vfs.NewCrashableMem()
	s := open(t, mem)
	for from := 0; from < entries; from += 100 {
		rows := &inbox.Rows{Address: victim}
		for n := from; n < from+100; n++ {
			rows.QueueMoves = append(rows.QueueMoves, inbox.QueueMove{ID: int64(n), To: at(n), AcceptedAt: at(0), WaitingDomains: []string{fmt.Sprint(large(int64(n))[:20], ".test")}})
		}
		must(t, s.CommitInbox(rows))
	}
	must(t, s.db.Flush())
	closeStore(t, s)
	path := filesOf(t, mem, ".sst")[0]
	blocks := layout(t, mem, path).Data
	short := 0
	for _, block := range blocks {
		fs := mem.CrashClone(vfs.CrashCloneCfg{})
		flip(t, fs, path, int(block.Offset)+3)
		s, err := Open(folder, options(fs))
		if err != nil {
			continue // the positions
		}
		found := 0
		must(t, s.EachQueued(func(inbox.QueueEntry) { found++ }))
		due, more, err := s.MailQueue(inbox.QueueEntry{}, entries+1)
		if err != nil || more || len(due) != found || found < entries-entries*3/len(blocks) {
			t.Errorf("block at %d of %d: %d and %d of %d entries, more %v, %v", block.Offset, len(blocks), found, len(due), entries, more, err)
		}
		if found < entries {
			short++
		}
		closeStore(t, s)
	}
	if short < len(blocks)/2 {
		t.Errorf("%d of %d blocks held entries", short, len(blocks))
	}
}

// TestCompactionsRestOverDamage checks that a compaction that meets a damaged table in level 0 is
// retried periodically, and not immediately, forever.
func TestCompactionsRestOverDamage(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := open(t, fs)
	for id := int64(1); id <= 4; id++ {
		must(t, s.CommitInbox(mail(victim, id, large(id))))
		must(t, s.db.Flush())
	}
	closeStore(t, s)
	path := filesOf(t, fs, ".sst")[0]
	flip(t, fs, path, int(layout(t, fs, path).Data[0].Offset)+3)
	synctest.Test(t, func(t *testing.T) {
		o := options(fs)
		o.DisableTimers = false
		f := must1(disk.OpenFolder(folder, &o))(t)
		e := &storageEngine{folder: f}
		p := e.pebbleOptions(&o)
		p.L0CompactionThreshold = 2
		var tries atomic.Int64
		p.EventListener.CompactionEnd = func(info pebble.CompactionInfo) {
			if tries.Add(1); info.Err == nil {
				t.Error("the compaction went well")
			} else if tries.Load() > 100 {
				panic(errors.Join(errors.New("compactions are tried without a rest"), info.Err))
			}
		}
		db := must1(openPebble(f.FilePath(disk.EngineName), p))(t)
		time.Sleep(time.Minute)
		if n := tries.Load(); n < 2 || n > 8 {
			t.Errorf("%d tries in a minute", n)
		}
		must(t, db.Close())
		must(t, f.Close())
	})
}

// TestLostMarkers checks that a start without the marker files, or without the database, is refused
// with what is missing. It leaves every file unchanged, even if nothing counts commits any more. A
// check and a repair read what is there.
func TestLostMarkers(t *testing.T) {
	for _, lost := range []string{"marker.manifest.", "marker.format-version.", "marker.", ""} {
		for _, tables := range []bool{true, false} {
			fs := vfs.NewCrashableMem()
			s := open(t, fs)
			for id := int64(1); id <= 4; id++ {
				r := mail(victim, id, large(id))
				r.Profile.DueAt, r.DueTo = at(1), at(1)
				must(t, s.CommitInbox(r))
				if tables {
					must(t, s.db.Flush())
				}
			}
			closeStore(t, s)
			for _, name := range must1(fs.List(folder + "/" + disk.EngineName))(t) {
				if strings.HasPrefix(name, lost) {
					must(t, fs.Remove(folder+"/"+disk.EngineName+"/"+name))
				}
			}
			o := options(fs)
			o.DisableTimers = false // a spare log is created and used
			for range 2 {           // the second time without the count of commits
				before := contentsOf(t, fs)
				if _, err := Open(folder, o); err == nil || !strings.Contains(err.Error(), "has lost data: ") || !strings.Contains(err.Error(), "Restore a backup") || strings.Contains(err.Error(), disk.HighWaterName) {
					t.Errorf("without %s*: %v", lost, err)
				}
				if after := contentsOf(t, fs); !maps.Equal(before, after) {
					t.Errorf("without %s* the refused start changed files: %d before, %d after", lost, len(before), len(after))
				}
				_ = fs.Remove(folder + "/" + disk.HighWaterName)
			}
			var found []string
			sum, err := RepairFolder(folder, "/repaired", options(fs), func(problem string) { found = append(found, problem) })
			if lost == "" {
				if err == nil || len(found) == 0 {
					t.Errorf("a repair of nothing found %q", found)
				}
				continue
			}
			must(t, err)
			if len(found) != 1 || sum.MessageCount != 4 {
				t.Errorf("without %s* a repair reads %+v and finds %q", lost, sum, found)
			}
			if got := problemsOf(t, fs, "/repaired"); len(got) > 0 {
				t.Errorf("the copy: %q", got)
			}
		}
	}
}

// contentsOf returns the files of the folder and its subfolders by name, except lock files.
func contentsOf(t *testing.T, fs vfs.FS) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, dir := range []string{folder, folder + "/" + disk.EngineName, folder + "/" + disk.BlobsName} {
		for _, name := range must1(fs.List(dir))(t) {
			path := dir + "/" + name
			if info := must1(fs.Stat(path))(t); !info.IsDir() && name != "LOCK" {
				all[path] = string(must1(disk.ReadFile(fs, path))(t))
			}
		}
	}
	return all
}

// TestLostTable checks that a start is refused with the name of a table that is missing or has lost
// a byte. A repair keeps all rows outside the table's key range, reports the others, and its copy
// is sound.
func TestLostTable(t *testing.T) {
	const messages = 10_000 // three tables: one has rows of the inbox on both sides
	mem := vfs.NewCrashableMem()
	s := open(t, mem)
	for id := int64(1); id <= messages; {
		r := &inbox.Rows{Address: victim}
		for range 100 {
			one := mail(victim, id, large(id + 10)[:900])
			one.Profile.DueAt, r.DueTo = at(1), at(1)
			r.Profile, r.PutMessages, r.StoreMessages = one.Profile, append(r.PutMessages, one.PutMessages...), append(r.StoreMessages, one.StoreMessages...)
			id++
		}
		must(t, s.CommitInbox(r))
	}
	must(t, s.db.Flush())
	must(t, s.db.Compact(t.Context(), []byte{0}, []byte{0xff}, false))
	var keys [][]byte
	must(t, scanKeys(s.db, keyRange{[]byte{0}, []byte{0xff}}, func(key, _ []byte) error { keys = append(keys, bytes.Clone(key)); return nil }))
	outside := map[string]int{} // rows outside the table's key range
	for _, level := range must1(s.db.SSTables())(t) {
		for _, table := range level {
			path := fmt.Sprintf("%s/%s/%06d.sst", folder, disk.EngineName, table.BackingSSTNum)
			for _, key := range keys {
				if bytes.Compare(key, table.Smallest.UserKey) < 0 || bytes.Compare(key, table.Largest.UserKey) > 0 {
					outside[path]++
				}
			}
		}
	}
	closeStore(t, s)
	tables := filesOf(t, mem, ".sst")
	if len(tables) < 3 {
		t.Fatalf("%d tables", len(tables)) // each has some of the rows
	}
	kept := 0
	for n, path := range tables {
		how := [...]string{"it is missing", " bytes of "}[n%2]
		fs := mem.CrashClone(vfs.CrashCloneCfg{})
		data := must1(disk.ReadFile(fs, path))(t)
		if must(t, fs.Remove(path)); n%2 == 1 {
			must(t, rewrite(fs, path, data[:len(data)-1]))
		}
		_, err := Open(folder, options(fs))
		if err == nil || !strings.Contains(err.Error(), "the file "+path+" is damaged: ") || !strings.Contains(err.Error(), how) || !strings.HasSuffix(err.Error(), "Restore a backup of the folder, or copy what can be read with inboxd check --repair") {
			t.Errorf("%s, %s: %v", path, how, err)
		}
		var found []string
		sum, err := RepairFolder(folder, "/repaired", options(fs), func(problem string) { found = append(found, problem) })
		if all := strings.Join(found, "\n"); !strings.Contains(all, path+" is damaged: it ") || strings.Contains(all, "pebble") || strings.Contains(all, "this service") {
			t.Errorf("%s, %s: a repair finds %q", path, how, found)
		}
		if err != nil {
			t.Errorf("%s, %s: a repair: %v", path, how, err) // no table overlaps all others
			continue
		}
		if sum.RowCount < outside[path] {
			t.Errorf("%s, %s: read %d of the %d rows that lie elsewhere", path, how, sum.RowCount, outside[path])
		}
		kept += sum.RowCount
		if got := problemsOf(t, fs, "/repaired"); len(got) > 0 {
			t.Errorf("%s, %s: the copy has %q", path, how, got[:min(3, len(got))])
		}
		closeStore(t, must1(Open("/repaired", options(fs)))(t))
	}
	if kept == 0 {
		t.Errorf("of %d tables nothing is kept", len(tables))
	}
}

// TestNoCopyOfNothing checks that a repair makes no copy, and says what to do, if the lost table
// overlaps everything or the manifest is damaged.
func TestNoCopyOfNothing(t *testing.T) {
	mem := vfs.NewCrashableMem()
	s := open(t, mem)
	must(t, s.CommitInbox(mail(victim, 1, "x")))
	must(t, s.db.Flush())
	must(t, s.db.Compact(t.Context(), []byte{0}, []byte{0xff}, false))
	closeStore(t, s)
	for _, what := range []string{".sst", "MANIFEST"} {
		fs := mem.CrashClone(vfs.CrashCloneCfg{})
		for _, path := range filesOf(t, fs, what) {
			must(t, fs.Remove(path))
			if what == "MANIFEST" {
				must(t, rewrite(fs, path, []byte("no manifest")))
			}
		}
		var found []string
		_, err := RepairFolder(folder, "/repaired", options(fs), func(problem string) { found = append(found, problem) })
		if err == nil || !strings.HasSuffix(err.Error(), "so no copy is made: restore a backup") || len(found) == 0 {
			t.Errorf("%s: %v, found %q", what, err, found)
		}
		if _, err := fs.Stat("/repaired"); err == nil {
			t.Errorf("%s: there is a copy", what)
		}
	}
}
