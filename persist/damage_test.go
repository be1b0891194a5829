package persist

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/calendar"
	"inboxd/internal/core/inbox"
	"inboxd/persist/disk"
)

// inTables is a store of messages with their bytes in a value file and their rows in tables. The
// last messages are in the log, and one is in a blob file.
func inTables(t *testing.T, messages int64) *vfs.MemFS {
	t.Helper()
	fs := vfs.NewCrashableMem()
	s := open(t, fs)
	for id := int64(1); id <= messages; id++ {
		must(t, s.CommitInbox(mail(victim, id, large(id))))
		if id == messages*3/4 {
			must(t, s.db.Flush())
		}
	}
	_, err := s.ComputeMAC("", nil) // creates the key file
	must(t, err)
	closeStore(t, s)
	return fs
}

// large is larger than values within tables, and different everywhere, so that it does not
// compress.
func large(id int64) string {
	if id == 5 {
		return bulky
	}
	var b strings.Builder
	for n := uint64(id); b.Len() < 3000; n = n*6364136223846793005 + 1442695040888963407 {
		fmt.Fprintf(&b, "%x", n)
	}
	return b.String()
}

// flip flips one bit.
func flip(t *testing.T, fs *vfs.MemFS, path string, at int) {
	t.Helper()
	data, err := fs.UnsafeGetFileDataBuffer(path)
	must(t, err)
	data[at] ^= 8
}

// filesOf returns the files whose names end or begin like this.
func filesOf(t *testing.T, fs vfs.FS, like string) (paths []string) {
	t.Helper()
	for _, dir := range []string{folder, fs.PathJoin(folder, disk.EngineName), fs.PathJoin(folder, disk.BlobsName)} {
		names, err := fs.List(dir)
		must(t, err)
		for _, name := range names {
			path := fs.PathJoin(dir, name)
			fi, err := fs.Stat(path)
			must(t, err)
			if !fi.IsDir() && fi.Size() > 0 && (strings.HasSuffix(name, like) || strings.HasPrefix(name, like)) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// TestDamageIsNamed flips bits at chosen places in every kind of file. Either the start is refused
// with an error that names the file and says what to do. Or every message is intact or reported as
// damaged, logged and counted. Nothing panics, and closing succeeds.
func TestDamageIsNamed(t *testing.T) {
	const messages = 24
	mem := inTables(t, messages)
	blobFile := must1(mem.List(mem.PathJoin(folder, disk.BlobsName)))(t)[0]
	for kind, places := range map[string][]float64{
		".blob": {0.01, 0.5, 0.9}, ".sst": {0.01, 0.3, 0.6}, ".log": {0.0001, 0.001}, "MANIFEST": {0.1, 0.5, 0.95}, "OPTIONS": {0.5},
		disk.FormatName: {0, 0.5}, disk.HighWaterName: {0.2, 0.5}, disk.SecretName: {0, 0.5, 0.9}, "spare": {0.5}, blobFile: {0.5},
	} {
		paths := filesOf(t, mem, kind)
		for _, path := range paths[max(0, len(paths)-2):] {
			size := must1(mem.Stat(path))(t).Size()
			offsets := []int{int(size) - 3, int(size) - 60}
			for _, p := range places {
				offsets = append(offsets, int(p*float64(size)))
			}
			for _, at := range offsets {
				if at >= 0 {
					fs := mem.CrashClone(vfs.CrashCloneCfg{})
					flip(t, fs, path, at)
					if err := damagedRun(fs, messages); err != nil {
						t.Errorf("bit flipped at %d of %s (%d bytes): %v", at, path, size, err)
					}
				}
			}
		}
	}
}

func must1[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		must(t, err)
		return v
	}
}

// damagedRun opens a damaged store and reads everything; an error means unreported damage.
func damagedRun(fs vfs.FS, messages int64) (silent error) {
	var log bytes.Buffer
	o := options(fs)
	o.Logger = slog.New(slog.NewTextHandler(&lockedWriter{w: &log}, nil))
	s, err := Open(folder, o)
	if err != nil {
		text := err.Error()
		if strings.Contains(text, "carrier") || strings.Contains(text, "\n") || !strings.Contains(text, folder) ||
			!strings.Contains(text, "estore a backup") && !strings.Contains(text, "emove") {
			return fmt.Errorf("refused with %q", text)
		}
		return nil
	}
	defer func() {
		if err := s.Close(); err != nil && silent == nil {
			silent = fmt.Errorf("closing: %w", err)
		}
	}()
	damaged, silent := readMails(s, messages)
	if _, err := s.ComputeMAC("", nil); err != nil {
		damaged++
	}
	if logged := strings.Count(log.String(), "storage: message damaged\"") + strings.Count(log.String(), "storage: inbox damaged\""); silent == nil && logged != s.ReadStats().DamagedItems || s.ReadStats().DamagedItems < min(damaged, 1) && log.Len() == 0 && damaged > 0 {
		return fmt.Errorf("%d damaged, %d counted, %d logged", damaged, s.ReadStats().DamagedItems, logged)
	}
	return silent
}

// readMails reads every message twice, to detect damage that is logged twice.
func readMails(s *Store, messages int64) (damaged int, silent error) {
	st, err := s.LoadInbox(victim)
	if err != nil {
		return 1, nil // reported by its error
	}
	for id := int64(1); id <= messages; id++ {
		i := slices.IndexFunc(st.Messages, func(m *inbox.Message) bool { return m.ID == id })
		if i < 0 {
			return damaged, fmt.Errorf("message %d is missing", id)
		}
		raw, err := s.ReadRaw(victim, id)
		_, again := s.ReadRaw(victim, id)
		content, err2 := s.ReadContent(victim, id)
		switch {
		case st.Messages[i].IsDamaged, err != nil && fault.Is(err, fault.DataDamaged) && fault.Is(again, fault.DataDamaged), fault.Is(err2, fault.DataDamaged):
			damaged++
		case err != nil, err2 != nil, string(raw) != large(id), content == nil:
			return damaged, fmt.Errorf("message %d: %d bytes, %v, %v", id, len(raw), err, err2)
		}
	}
	return damaged, nil
}

// TestMailThatChangedBeforeItsBlock covers bytes that were damaged in memory, so that the engine's
// checksums match: their readers still get the damage error.
func TestMailThatChangedBeforeItsBlock(t *testing.T) {
	s := open(t, vfs.NewMem())
	must(t, s.CommitInbox(mail(victim, 1, "a text")))
	key := appendMessage(nil, kindRaw, victim, 1)
	value, done, err := s.db.Get(key)
	must(t, err)
	changed := bytes.Replace(value, []byte("text"), []byte("test"), 1)
	must(t, done.Close())
	must(t, s.db.Set(key, changed, pebble.Sync))
	if raw, err := s.ReadRaw(victim, 1); err == nil {
		t.Errorf("read as %q", raw)
	}
	if _, err := s.OpenRaw(victim, 1); err == nil {
		t.Error("opened")
	}
}

// TestDamagedRowsAreMarked checks that an inbox continues with what is readable. Unreadable
// messages expire, and can be dropped.
func TestDamagedRowsAreMarked(t *testing.T) {
	fs := inTables(t, 400)
	table := filesOf(t, fs, ".sst")[0]
	flip(t, fs, table, 300) // the first block of the first table: rows of the inbox
	o := options(fs)
	o.Now = func() time.Time { return at(500) }
	s, err := Open(folder, o)
	must(t, err)
	defer closeStore(t, s)
	st, err := s.LoadInbox(victim)
	must(t, err)
	var damaged []*inbox.Message
	for i, m := range st.Messages {
		if m.ID != int64(i+1) {
			t.Fatalf("message %d stands at %d", m.ID, i)
		}
		if m.IsDamaged {
			damaged = append(damaged, m)
		}
	}
	if n := len(damaged); n == 0 || n > 300 || len(st.Messages) != 400 {
		t.Fatalf("%d of %d messages are damaged", n, len(st.Messages))
	}
	next := st.Messages[damaged[len(damaged)-1].ID] // ids start at 1
	if m := damaged[len(damaged)-1]; !m.ReceivedAt.Equal(next.ReceivedAt) || !m.ExpiresAt.Equal(next.ReceivedAt.Add(time.Hour)) {
		t.Errorf("received %v, expires %v; the next one came %v", m.ReceivedAt, m.ExpiresAt, next.ReceivedAt)
	}
	if s.ReadStats().DamagedItems != len(damaged) || s.ReadStats().DamagedFiles != 1 {
		t.Errorf("counted %+v, want %d of one file", s.ReadStats(), len(damaged))
	}
	must(t, s.CommitInbox(&inbox.Rows{Address: victim, DropMessages: damaged}))
	st, err = s.LoadInbox(victim)
	must(t, err)
	if len(st.Messages) != 400-len(damaged) || slices.ContainsFunc(st.Messages, func(m *inbox.Message) bool { return m.IsDamaged }) {
		t.Errorf("%d messages are left after the damaged ones were dropped", len(st.Messages))
	}
}

// TestRefusedStartLeavesFiles covers a manifest that ends too early, which makes the engine treat
// the tables as obsolete. The start is refused, and the tables remain for a repair.
func TestRefusedStartLeavesFiles(t *testing.T) {
	for _, part := range []float64{0.4, 0.98} { // before its end, which the engine cannot detect; and in its last record
		fs := inTables(t, 24)
		tables := append(filesOf(t, fs, ".sst"), filesOf(t, fs, ".blob")...)
		manifests := filesOf(t, fs, "MANIFEST")
		manifest := manifests[len(manifests)-1]
		flip(t, fs, manifest, int(part*float64(must1(fs.Stat(manifest))(t).Size())))
		_, err := Open(folder, options(fs))
		if err == nil {
			continue // the last record did not concern tables
		}
		if part < 0.5 && !strings.Contains(err.Error(), manifest) {
			t.Errorf("refused with %v", err)
		}
		for _, path := range tables {
			if _, err := fs.Stat(path); err != nil {
				t.Errorf("at %v: %v", part, err)
			}
		}
	}
}

// TestCompactionsOverDamageEndInAnError covers all kinds of entries that a compaction may drop. For
// some the engine panics in its own goroutine, at each start again.
func TestCompactionsOverDamageEndInAnError(t *testing.T) {
	mem := vfs.NewCrashableMem()
	db, done := resting(t, mem)
	w := &batchWriter{batch: db.NewBatch()}
	for k, change := range []func(key []byte){func(key []byte) { w.setKey(key, key) }, w.deleteKey} {
		for n := range uint64(2000) {
			change(outboxKey(nil, &inbox.PublicEvent{Address: victim, SequenceNumber: n}))
		}
		must(t, w.firstErr)
		must(t, w.batch.Commit(pebble.Sync))
		must(t, db.Flush())
		if k == 0 {
			w.batch.Reset()
		}
	}
	done()
	path := filesOf(t, mem, ".sst")[0]
	blocks := layout(t, mem, path).Data
	if len(blocks) < 3 {
		t.Fatalf("%d blocks", len(blocks))
	}
	for _, block := range blocks {
		fs := mem.CrashClone(vfs.CrashCloneCfg{})
		flip(t, fs, path, int(block.Offset)+3)
		db, done := resting(t, fs)
		if err := db.Compact(t.Context(), []byte{0}, []byte{255}, false); err == nil {
			t.Errorf("block at %d: the damage was not met", block.Offset)
		}
		done()
	}
}

// resting opens a database that compacts only on request.
func resting(t *testing.T, fs vfs.FS) (db *pebble.DB, done func()) {
	t.Helper()
	o := options(fs)
	f := must1(disk.OpenFolder(folder, &o))(t)
	must(t, fs.MkdirAll(f.FilePath(disk.BlobsName), 0o700))
	p := (&storageEngine{folder: f}).pebbleOptions(&o)
	p.DisableAutomaticCompactions = true
	db = must1(openPebble(f.FilePath(disk.EngineName), p))(t)
	f.StartWork(func() error { return nil }, func() bool { return false })
	return db, func() {
		must(t, db.Close())
		f.StopWork()
		must(t, f.Close())
	}
}

// TestACutManifestIsNoticed covers a cut manifest. The engine takes what follows the last intact
// record for the rest of a crash, and ignores tables that were added since. What was recorded as
// durable must be there, whatever the end looks like.
func TestACutManifestIsNoticed(t *testing.T) {
	fs := inTables(t, 24)
	manifests := filesOf(t, fs, "MANIFEST")
	manifest := manifests[len(manifests)-1]
	whole := must1(disk.ReadFile(fs, manifest))(t)
	refused := func(how string, data []byte) {
		must(t, rewrite(fs, manifest, data))
		if s, err := Open(folder, options(fs)); err == nil {
			closeStore(t, s)
			t.Fatalf("%s: it started", how)
		} else if !strings.Contains(err.Error(), manifest) || !strings.Contains(err.Error(), "Restore a backup") {
			t.Errorf("%s: refused with %v", how, err)
		}
	}
	for end := range len(whole) - 1 {
		refused(fmt.Sprintf("cut off at %d of %d", end+1, len(whole)), whole[:end+1])
	}
	zeros := slices.Clone(whole)
	clear(zeros[len(zeros)-40:])
	refused("ended by zeros", zeros)
	must(t, rewrite(fs, manifest, whole))
	s := open(t, fs)
	if st := must1(s.LoadInbox(victim))(t); len(st.Messages) != 24 {
		t.Errorf("%d messages are left", len(st.Messages))
	}
	closeStore(t, s)
}

// TestDamagedFileIsNotRewritten checks this because Pebble would end the process during a rewrite.
func TestDamagedFileIsNotRewritten(t *testing.T) {
	for _, harm := range []bool{false, true} {
		fs := inTables(t, 24)
		path := filesOf(t, fs, ".blob")[0]
		if harm {
			flip(t, fs, path, 100)
		}
		ended := make(chan error, 100)
		s := &Store{}
		o := options(fs)
		f, err := disk.OpenFolder(folder, &o)
		must(t, err)
		s.storageEngine = &storageEngine{folder: f}
		p := s.pebbleOptions(&o)
		p.Experimental.ValueSeparationPolicy = func() pebble.ValueSeparationPolicy {
			policy := s.valueSeparation()
			policy.RewriteMinimumAge = 0
			return policy
		}
		p.EventListener.BlobFileRewriteEnd = func(info pebble.BlobFileRewriteInfo) { ended <- info.Err }
		s.db, err = openPebble(f.FilePath(disk.EngineName), p)
		must(t, err)
		f.StartWork(func() error { return nil }, func() bool { return false })
		for id := int64(2); id < 24; id++ {
			must(t, s.db.Delete(appendMessage(nil, kindRaw, victim, id), pebble.Sync))
		}
		must(t, s.db.Flush())
		must(t, s.db.Compact(t.Context(), []byte{byte(kindInbox)}, []byte{byte(kindRaw) + 1}, false))
		if err := <-ended; (err != nil) != harm {
			t.Errorf("damaged %v: the rewrite ended with %v", harm, err)
		}
		must(t, s.db.Close())
		f.StopWork()
		must(t, f.Close())
	}
}

// BenchmarkLookup reads single rows: a small one, and one whose value is in a value file.
func BenchmarkLookup(b *testing.B) {
	s, err := Open(folder, options(vfs.NewMem()))
	must(b, err)
	defer closeStore(b, s)
	for id := range int64(1000) {
		must(b, s.CommitInbox(mail(victim, id+1, large(id+1))))
	}
	must(b, s.db.Flush())
	b.Run("live", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := s.InboxExists(victim)
			must(b, err)
		}
	})
	b.Run("raw", func(b *testing.B) {
		b.ReportAllocs()
		for id := int64(0); b.Loop(); id++ {
			_, err := s.ReadRaw(victim, id%1000+1)
			must(b, err)
		}
	})
}

// TestDamagedCalendar checks that the readable rows of a damaged calendar are returned, that lost
// ones are logged and counted once, and that no id is reused.
func TestDamagedCalendar(t *testing.T) {
	for _, c := range []struct {
		name  string
		key   []byte
		ids   []int64
		last  int64
		named []int64
	}{
		{"a meeting", meetingKey(nil, victim, 2), []int64{1, 3}, 3, []int64{2}},
		{"the calendar's own row", calendarKey(nil, victim, partCalendar), []int64{1, 2, 3}, lostCalendar, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log bytes.Buffer
			o := options(vfs.NewCrashableMem())
			o.Logger = slog.New(slog.NewTextHandler(&log, nil))
			s, err := Open(folder, o)
			must(t, err)
			defer closeStore(t, s)
			r := mail(victim, 1, "x")
			r.Profile.HasCalendar = true
			for id := int64(1); id <= 3; id++ {
				m := &calendar.Meeting{ID: id, UpdatedAt: at(int(id))}
				r.Calendar = r.Calendar.WithMeeting(m, inbox.MeetingBytes(m))
				r.PutMeetings = append(r.PutMeetings, r.Calendar.Meeting(id))
			}
			must(t, s.CommitInbox(r))
			must(t, s.db.Set(c.key, []byte{recordVersion, 0xff}, pebble.Sync))
			for range 2 {
				st, err := s.LoadInbox(victim)
				must(t, err)
				var ids []int64
				for _, m := range st.Calendar.Meetings {
					ids = append(ids, m.ID)
				}
				if !slices.Equal(st.Calendar.DamagedIDs, c.named) {
					t.Errorf("%d are named", st.Calendar.DamagedIDs)
				}
				if !slices.Equal(ids, c.ids) || st.Calendar.LastID != c.last || len(st.Messages) != 1 {
					t.Errorf("meetings %d of ids up to %d, %d messages", ids, st.Calendar.LastID, len(st.Messages))
				}
			}
			if n := strings.Count(log.String(), "damaged part of a calendar skipped"); n != 1 || s.ReadStats().DamagedItems != 1 {
				t.Errorf("told %d times, %d counted", n, s.ReadStats().DamagedItems)
			}
		})
	}
}
