package persist

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/domain"
	"inboxd/persist/disk"
)

// problemsOf lists what a check finds.
func problemsOf(t *testing.T, fs vfs.FS, dir string) (found []string) {
	t.Helper()
	_, err := CheckFolder(dir, options(fs), func(problem string) { found = append(found, problem) })
	must(t, err)
	return found
}

// TestBackupWhileMailComes checks that a backup has everything acknowledged before it, complete,
// although blob files are created and removed meanwhile. Its first start assigns ids above all
// others.
func TestBackupWhileMailComes(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs)
	promises := make([]*promise, 4)
	for i := range promises {
		promises[i] = &promise{addr: fmt.Sprintf("inbox%d@example.org", i)}
	}
	turns := newTurns()
	var writers sync.WaitGroup
	for _, p := range promises {
		writers.Go(func() { p.work(t, s, turns) })
	}
	defer func() {
		turns.end()
		writers.Wait()
	}()
	for n := range 4 {
		dir := fmt.Sprintf("/backup%d", n)
		turns.give(60, 0)
		wants := make([]seen, len(promises))
		for i, p := range promises {
			wants[i] = seen{p.addr, p.acked.Load(), p.dropped.Load(), 0}
		}
		go turns.give(200, 100)
		must(t, s.BackupTo(t.Context(), dir))
		for i, p := range promises {
			wants[i].trying = p.trying.Load()
		}
		must(t, fs.Remove(fs.PathJoin(dir, disk.CopyName))) // so that ids show how much is there
		copied, err := Open(dir, options(fs))
		must(t, err)
		for _, want := range wants {
			must(t, want.check(copied))
		}
		closeStore(t, copied)
	}
	if len(s.blobFiles.heldRemovals.heldNames) > 0 {
		t.Error("files of dropped mail wait for no backup")
	}
}

// busyCopyFS calls between before each piece of a log is read.
type busyCopyFS struct {
	vfs.FS
	between func() // nil: no call
}

type busyCopyFile struct {
	vfs.File
	between func()
}

func (fs *busyCopyFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := fs.FS.Open(name, opts...)
	if err != nil || fs.between == nil || !strings.HasSuffix(name, ".log") {
		return f, err
	}
	return &busyCopyFile{f, fs.between}, nil
}

func (f *busyCopyFile) Read(p []byte) (int, error) {
	f.between()
	return f.File.Read(p)
}

// TestBackupOfAUsedLog opens backups of a log in a reused file that was written between the reads
// of two of its blocks.
func TestBackupOfAUsedLog(t *testing.T) {
	fs := &busyCopyFS{FS: vfs.NewMem()}
	s := open(t, fs)
	var id int64
	commit := func(n int) {
		for range n {
			id++
			must(t, s.CommitInbox(mail("a@example.org", id, strings.Repeat("x", 900))))
		}
	}
	commit(1000) // fills some logs
	between := 0
	for n := range 20 {
		commit(7) // moves to another position in the log
		acked, dir, piece := id, fmt.Sprintf("/backup%d", n), 0
		fs.between = func() {
			if piece++; piece%2 == 0 {
				commit(30)
			}
		}
		must(t, s.BackupTo(t.Context(), dir))
		fs.between = nil
		if id > acked { // otherwise the log was shorter than two blocks
			between++
		}
		copied, err := Open(dir, options(fs))
		must(t, err)
		if got := int64(len(must1(copied.LoadInbox("a@example.org"))(t).Messages)); got < acked {
			t.Errorf("the backup has %d mails of %d", got, acked)
		}
		closeStore(t, copied)
	}
	if between == 0 {
		t.Error("no log was written on while it was copied")
	}
}

// TestARestoredFolderGivesNewIDs checks that ids assigned after the backup are never reused, not
// even by a second restore of the same backup.
func TestARestoredFolderGivesNewIDs(t *testing.T) {
	const addr = "a@example.org"
	fs := vfs.NewMem()
	s := open(t, fs)
	must(t, s.CommitInbox(mail(addr, 1, "one")))
	must(t, s.CommitAccount(&account.Rows{ID: accountID(1), Profile: &account.Profile{ID: accountID(1), Email: "a@example.org", CreatedAt: at(0), LastKey: 3, LastWebhook: 2}}))
	must(t, s.BackupTo(t.Context(), "/backup"))
	above := int64(0)
	for restore := range 2 {
		if restore == 1 {
			must(t, disk.WriteFile(fs, "/backup", disk.CopyName, nil))
		}
		o := options(fs)
		o.Now = func() time.Time { return at(restore * 1000) }
		copied, err := Open("/backup", o)
		must(t, err)
		st := must1(copied.LoadInbox(addr))(t)
		unknown := must1(copied.LoadInbox("never@example.org"))(t)
		acc := must1(copied.LoadAccount(accountID(1)))(t)
		end := must1(copied.JournalEnd(accountID(1)))(t)
		last := must1(copied.LastDelivery(accountID(1)))(t)
		for what, id := range map[string]int64{
			"message": st.LastID, "event": int64(st.LastEvent), "meeting": st.Calendar.LastID, "of an address that may have been deleted since": unknown.LastID,
			"key": acc.LastKey, "webhook": acc.LastWebhook, "journal": int64(end), "delivery": last,
		} {
			if id < above+1<<20 || id > 1<<53 {
				t.Errorf("restore %d: ids of %s go on above %d", restore, what, id)
			}
		}
		above = st.LastID
		if len(st.Messages) != 1 || st.Messages[0].ID != 1 {
			t.Errorf("the mail that was there is %+v", st.Messages)
		}
		closeStore(t, copied)
		if got := must1(Open("/backup", o))(t); got.folder.MinimumID() != above {
			t.Errorf("the next start lifts ids from %d to %d", above, got.folder.MinimumID())
		} else {
			closeStore(t, got)
		}
	}
	if st := must1(s.LoadInbox(addr))(t); st.LastID != 1 {
		t.Errorf("the folder itself goes on above %d", st.LastID)
	}
}

// TestBackupsThatCannotBe checks that they fail with a clear error, leave nothing behind, and do
// not affect the store.
func TestBackupsThatCannotBe(t *testing.T) {
	mem := vfs.NewMem()
	for _, name := range []string{"OPTIONS", ".log", "secret.key", "copy", "FORMAT"} {
		fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if strings.HasPrefix(op.Path, "/backup/") && strings.Contains(op.Path, name) && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
				return syscall.ENOSPC
			}
			return nil
		}))
		s := must1(Open(folder, options(fs)))(t)
		must(t, s.CommitInbox(mail("a@example.org", 1, "one")))
		must(t, s.db.Flush())
		_, err := s.EncryptSecret("x", []byte("y")) // so that a key exists
		must(t, err)
		if err := s.BackupTo(t.Context(), "/backup"); err == nil || !strings.Contains(err.Error(), "The backup /backup could not be made") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := mem.Stat("/backup"); err == nil {
			t.Errorf("%s: something is left", name)
		}
		must(t, s.CommitInbox(mail("a@example.org", 2, "two")))
		closeStore(t, s)
	}
	s := open(t, mem)
	must(t, mem.MkdirAll("/there", 0o700))
	over, end := context.WithCancel(t.Context())
	end()
	if err := s.BackupTo(over, "/gone"); err == nil || !strings.Contains(err.Error(), "The backup /gone could not be made") {
		t.Errorf("a backup that was given up: %v", err)
	}
	if _, err := mem.Stat("/gone"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a backup that was given up leaves its folder: %v", err)
	}
	if err := s.BackupTo(t.Context(), "/there"); !fault.Is(err, fault.InvalidRequest) || !strings.Contains(err.Error(), "/there already exists") {
		t.Errorf("over a folder: %v", err)
	}
}

// harm is a folder with two messages, a small and a large one, and the damage done to it.
type harm struct {
	fs vfs.FS
	s  *Store
}

const harmed = "a@example.org"

func (h harm) delete(key []byte) error {
	return h.s.fillBatch(func(w *batchWriter) { w.deleteKey(key) }, func(b *pebble.Batch) error { return h.s.db.Apply(b, pebble.Sync) })
}

func (h harm) set(key, value []byte) error {
	return h.s.fillBatch(func(w *batchWriter) { w.setKey(key, value) }, func(b *pebble.Batch) error { return h.s.db.Apply(b, pebble.Sync) })
}

func (h harm) blob() string {
	r, _ := h.s.blobFiles.findBlob(blobKey(nil, harmed, 2, blobRaw))
	return h.s.blobFiles.filePath(r.BlobName.fileName())
}

// TestCheck checks that each problem in a folder is reported, and none for an intact one.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name string
		harm func(h harm) error
		want string
	}{
		{"nothing", func(harm) error { return nil }, ""},
		{"bytes are gone", func(h harm) error { return h.delete(appendMessage(nil, kindRaw, harmed, 1)) }, "the bytes of message 1 of a@example.org are missing"},
		{"content is gone", func(h harm) error { return h.delete(appendMessage(nil, kindContent, harmed, 1)) }, "the parsed content of message 1 of a@example.org is missing"},
		{"a large value's row is gone", func(h harm) error { return h.delete(blobKey(nil, harmed, 2, blobRaw)) }, "the bytes of message 2"},
		{"its file is gone", func(h harm) error { return h.fs.Remove(h.blob()) }, "of message 2 of a@example.org: open"},
		{"its file is shorter", func(h harm) error { return rewrite(h.fs, h.blob(), []byte("short")) }, "of message 2 of a@example.org: it is damaged"},
		{"nobody looks when mail is over", func(h harm) error { return h.delete(inboxDueKey(at(2), harmed)) }, "is missing from the retention index"},
		{"something of no message", func(h harm) error {
			return h.set(appendMessage(nil, kindContent, harmed, 9), []byte{recordVersion, 0xa0})
		}, "rows of message 9 of a@example.org exist, but the message does not"},
		{"a record that is none", func(h harm) error {
			return h.set(appendMessage(nil, kindContent, harmed, 1), []byte{recordVersion, 0xff})
		}, "(row 02"},
		{"a record of a newer program", func(h harm) error {
			return h.set(appendMessage(nil, kindContent, harmed, 1), []byte{recordVersion + 1, 0xa0})
		}, "record version 2"},
		{"a row in a wrong place", func(h harm) error {
			key := appendMessage(nil, kindContent, harmed, 1)
			key[1] ^= 1
			return h.set(key, []byte{recordVersion, 0xa0})
		}, errPlace.Error()},
		{"a row of a kind that is none", func(h harm) error { return h.set([]byte{200, 0, 0, 0}, []byte{1}) }, errKey.Error()},
		{"a list that is too short", func(h harm) error {
			return errors.Join(h.s.SetEmail("b@example.org", account.NameHolder{Account: accountID(2)}),
				h.s.CommitAccount(&account.Rows{ID: accountID(2), Profile: &account.Profile{Email: "b@example.org", CreatedAt: at(0), LiveInboxes: 3}}))
		}, "counts 3 inboxes, its list has 0"},
		{"a key that nobody can use", func(h harm) error {
			k := &account.APIKey{ID: 1, Hash: account.TokenHash{1}}
			return errors.Join(h.s.CommitAccount(&account.Rows{ID: accountID(2), PutKeys: []*account.APIKey{k}}), h.delete(credentialKey(accountID(2).HomePartition(), k.Hash)))
		}, "cannot be found by its hash"},
		{"the key file is damaged", func(h harm) error {
			_, err := h.s.EncryptSecret("x", nil)
			return errors.Join(err, rewrite(h.fs, folder+"/"+disk.SecretName, []byte("inboxd secret 1\n00\n")))
		}, disk.SecretName},
		{"the number that ids go on above is damaged", func(h harm) error {
			return rewrite(h.fs, folder+"/"+disk.IDsName, []byte("inboxd ids 1\nabove x\n"))
		}, "the file " + disk.IDsName + " in the data folder /data is damaged"},
		{"the key file is gone", func(h harm) error {
			return h.s.CommitDomain(&domain.Rows{Name: "x.test", PutState: &domain.State{Name: "x.test"}}) // no key was ever created
		}, "has lost its file " + disk.SecretName},
	} {
		t.Run(c.name, func(t *testing.T) {
			fs := vfs.NewMem()
			s := must1(Open(folder, options(fs)))(t)
			r := mail(harmed, 1, "small")
			r.Profile.DueAt, r.DueTo = at(1), at(1)
			must(t, s.CommitInbox(r))
			r = mail(harmed, 2, strings.Repeat("x", blobOver+1))
			r.Profile.DueAt, r.DueFrom, r.DueTo = at(2), at(1), at(2)
			must(t, s.CommitInbox(r))
			must(t, c.harm(harm{fs, s}))
			closeStore(t, s)
			got := problemsOf(t, fs, folder)
			if c.want == "" && len(got) > 0 || c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)) {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}

// TestCheckOfAFlippedBit covers each database file that contains data.
func TestCheckOfAFlippedBit(t *testing.T) {
	fs := vfs.NewMem()
	s := must1(Open(folder, options(fs)))(t)
	for id := int64(1); id <= 40; id++ {
		r := mail(harmed, id, strings.Repeat(fmt.Sprint(id), 3000))
		r.Profile.DueAt, r.DueTo = at(1), at(1)
		must(t, s.CommitInbox(r))
	}
	must(t, s.db.Flush())
	closeStore(t, s)
	dir, looked := folder+"/"+disk.EngineName, 0
	for _, name := range must1(fs.List(dir))(t) {
		if !strings.HasSuffix(name, ".sst") && !strings.HasSuffix(name, ".blob") {
			continue
		}
		looked++
		data := must1(disk.ReadFile(fs, dir+"/"+name))(t)
		flipped := bytes.Clone(data)
		flipped[len(data)/3] ^= 4
		must(t, rewrite(fs, dir+"/"+name, flipped))
		if found := problemsOf(t, fs, folder); !strings.Contains(strings.Join(found, " "), name) {
			t.Errorf("a bit of %s: %q", name, found)
		}
		must(t, rewrite(fs, dir+"/"+name, data))
	}
	if found := problemsOf(t, fs, folder); len(found) > 0 || looked < 2 {
		t.Errorf("%d files were harmed and mended: %q", looked, found)
	}
}

// TestCheckOfAReadOnlyDisk checks that a folder, and a backup that was never started, can be
// checked and repaired on a read-only disk.
func TestCheckOfAReadOnlyDisk(t *testing.T) {
	mem := vfs.NewMem()
	s := must1(Open(folder, options(mem)))(t)
	r := mail(harmed, 1, strings.Repeat("x", blobOver+1))
	r.Profile.DueAt, r.DueTo = at(1), at(1)
	must(t, s.CommitInbox(r))
	must(t, s.BackupTo(t.Context(), "/backup"))
	closeStore(t, s)
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		// The real operations succeed in an existing folder.
		same := op.Kind == errorfs.OpMkdirAll || op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileClose
		if !strings.HasPrefix(op.Path, "/repaired") && !same && (op.Kind.ReadOrWrite() == errorfs.OpIsWrite || op.Kind == errorfs.OpLock) {
			return &os.PathError{Op: "open", Path: op.Path, Err: syscall.EROFS}
		}
		return nil
	}))
	for _, dir := range []string{folder, "/backup"} {
		if got := problemsOf(t, fs, dir); len(got) > 0 {
			t.Errorf("%s: %q", dir, got)
		}
		sum, err := RepairFolder(dir, "/repaired"+dir, options(fs), func(problem string) { t.Error(problem) })
		if err != nil || sum.MessageCount != 1 {
			t.Errorf("%s: %+v, %v", dir, sum, err)
		}
	}
	if _, err := Open(folder, options(fs)); err == nil || !strings.Contains(err.Error(), "cannot be written") {
		t.Errorf("a start: %v", err)
	}
}

// TestPermissionIsNoDamage covers each file that a user may be unable to open. A check and a repair
// examine nothing, a start is refused if it needs the file, and no message advises to restore or
// remove anything.
func TestPermissionIsNoDamage(t *testing.T) {
	mem := inTables(t, 24)
	blob := must1(mem.List(folder + "/" + disk.BlobsName))(t)[0]
	for _, name := range []string{disk.FormatName, disk.HighWaterName, disk.SecretName, "LOCK", "MANIFEST-", ".log", ".sst", ".blob", blob} {
		fs := errorfs.Wrap(mem.CrashClone(vfs.CrashCloneCfg{}), errorfs.InjectorFunc(func(op errorfs.Op) error {
			opens := op.Kind == errorfs.OpOpen || op.Kind == errorfs.OpLock
			if opens && strings.HasPrefix(op.Path, folder) && strings.Contains(op.Path, name) && !strings.Contains(op.Path, disk.BlobsName+"/") == (name != blob) {
				return &os.PathError{Op: "open", Path: op.Path, Err: syscall.EACCES}
			}
			return nil
		}))
		none := func(problem string) {
			if !strings.Contains(problem, "is missing from the retention index") { // correct, and not about a file
				t.Errorf("%s: told %q", name, problem)
			}
		}
		_, checked := CheckFolder(folder, options(fs), none)
		_, repaired := RepairFolder(folder, "/repaired", options(fs), none)
		s, started := Open(folder, options(fs))
		if started == nil {
			_ = s.Close()
		}
		for what, err := range map[string]error{"a check": checked, "a repair": repaired, "a start": started} {
			if err == nil && what == "a start" && slices.Contains([]string{disk.SecretName, ".sst", ".blob", blob}, name) {
				continue // they are read later
			}
			if !errors.As(err, new(disk.UnusableFolder)) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "permission denied. Run inboxd as the owner") ||
				strings.Contains(err.Error(), "damaged") || strings.Contains(err.Error(), "emove") || strings.Contains(err.Error(), "estore a") {
				t.Errorf("%s: %s ends with %v", name, what, err)
			}
		}
		if _, err := fs.Stat("/repaired/" + disk.FormatName); err == nil {
			t.Errorf("%s: there is a copy", name)
		}
	}
}

// TestFolderThatMayNotBeEntered checks that such a folder is not reported as missing.
func TestFolderThatMayNotBeEntered(t *testing.T) {
	fs := errorfs.Wrap(inTables(t, 1).CrashClone(vfs.CrashCloneCfg{}), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if strings.HasPrefix(op.Path, folder+"/") {
			return &os.PathError{Op: "stat", Path: op.Path, Err: syscall.EACCES}
		}
		return nil
	}))
	if _, err := CheckFolder(folder, options(fs), func(problem string) { t.Error(problem) }); !errors.As(err, new(disk.UnusableFolder)) || !strings.Contains(err.Error(), "permission denied. Run inboxd as the owner") {
		t.Errorf("a check: %v", err)
	}
}

// TestUnfinishedCopy covers a folder without FORMAT, which may be an unfinished backup or repaired
// copy.
func TestUnfinishedCopy(t *testing.T) {
	fs := inTables(t, 1)
	must(t, fs.Remove(folder+"/"+disk.FormatName))
	if _, err := Open(folder, options(fs)); err == nil || !strings.Contains(err.Error(), "an unfinished backup or repaired copy") {
		t.Errorf("a start: %v", err)
	}
}

// TestCheckLooksAtNoOther checks that a path that is not a data folder, or is in use by another
// process, is reported as neither intact nor damaged.
func TestCheckLooksAtNoOther(t *testing.T) {
	fs := vfs.NewMem()
	none := func(string) { t.Error("it was looked at") }
	refused := func(dir, why string) {
		t.Helper()
		if _, err := CheckFolder(dir, options(fs), none); !errors.As(err, new(disk.UnusableFolder)) || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	refused("/nowhere", "is not a data folder of inboxd")
	s := must1(Open(folder, options(fs)))(t)
	refused(folder, "in use")
	closeStore(t, s)
	must(t, rewrite(fs, folder+"/"+disk.FormatName, []byte("inboxd store 99\n")))
	refused(folder, "use a newer inboxd")
}
