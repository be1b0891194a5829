package persist

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"inboxd/internal/failpoint"
	"inboxd/internal/fault"
	"inboxd/persist/disk"
)

// Backup makes dir a data folder with everything that was acknowledged before the call, while
// commits go on: tables and blob files are links where the file system can, for none of them is
// ever written again. A start on dir is the restore of it.
//
// FORMAT is written last: a folder that a crash left behind, or an error, is none that a start
// takes. Errors are sentences for the operator.
func (s *Store) Backup(dir string) error {
	fs := s.folder.FS
	if _, err := fs.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		return fault.Wrap(fault.Invalid, fmt.Sprintf("The folder %s is there already: a backup makes its own", dir), err)
	}
	err := s.during(func() error { return s.backup(dir) })
	if err != nil {
		_ = fs.RemoveAll(dir) // what is left has no FORMAT
		return fault.Wrap(fault.Unavailable, fmt.Sprintf("The backup %s could not be made", dir), err)
	}
	return nil
}

// backup copies the note of how far the journal goes first, so that it is never ahead of what the
// backup has. Blob files come after the rows: those of rows that the copied log has are there by
// then, and none is removed meanwhile.
func (s *Store) backup(dir string) error {
	fs := s.folder.FS
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	release := s.blobs.hold()
	defer release()
	for _, step := range []func() error{
		func() error { return s.copyFile(fs, disk.HighWaterName, dir) },
		func() error { return s.db.Checkpoint(fs.PathJoin(dir, disk.EngineName), pebble.WithFlushedWAL()) },
		func() error { failpoint.Here("backup-copied"); return nil },
		func() error { return s.blobs.link(fs.PathJoin(dir, disk.BlobsName)) },
		func() error { return s.copyFile(fs, disk.SecretName, dir, private) },
		func() error { return disk.MarkCopy(fs, dir) },
		func() error { return disk.SyncFolder(fs, fs.PathDir(dir)) },
	} {
		if err := step(); err != nil {
			return named(err)
		}
	}
	return nil
}

// repairStep is how many octets of rows a repair writes at once.
const repairStep = 1 << 20

// Repair makes the folder to a sound copy of what can be read in dir, in which it changes nothing,
// and calls found as Check does. Rows that can't be read are left out, and those of files that are
// damaged. What the others miss then is shown as damaged mail is. After an Unwritten the process is to end.
func Repair(dir, to string, o Options, found func(problem string)) (Checked, error) {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if _, err := o.FS.Stat(to); !errors.Is(err, os.ErrNotExist) {
		return Checked{}, Unfit{Err: fmt.Errorf("the folder %s is there already: a repair makes its own", to)}
	}
	failed, done := make(chan error, 1), make(chan outcome, 1)
	var over sync.Mutex // found is called by one goroutine at a time, and by none after the end
	r := repair{to: to, fs: disk.Halting(o.FS, func(err error) {
		over.Lock()
		failed <- err // the first: nobody gets over the lock again
	})}
	go func() {
		sum, err := check(dir, o, func(problem string) {
			over.Lock()
			defer over.Unlock()
			found(problem)
		}, r.keep)
		done <- outcome{sum, errors.Join(err, r.end())}
	}()
	select {
	case err := <-failed:
		return Checked{}, Unwritten{to, err}
	case end := <-done:
		if end.err != nil {
			_ = o.FS.RemoveAll(to)
		}
		return end.sum, end.err
	}
}

// outcome is what a repair ended with.
type outcome struct {
	sum Checked
	err error
}

// Unwritten is why a repair could not write its copy. What there is of it stays, for goroutines may hold it
// until the process ends, and has no FORMAT.
type Unwritten struct {
	To  string
	Err error
}

func (u Unwritten) Error() string {
	why := u.Err.Error()
	if disk.IsFull(u.Err) {
		why = "its disk is full (" + why + ")"
	}
	return fmt.Sprintf("the copy %s can't be written: %s. What is there of it is incomplete, has no %s and can be removed", u.To, why, disk.FormatName)
}

// Unwrap gives the cause.
func (u Unwritten) Unwrap() error { return u.Err }

// repair writes a new folder. One goroutine has it.
type repair struct {
	fs    vfs.FS
	to    string
	db    *pebble.DB // nil until there is a row
	batch *pebble.Batch
}

// begin makes the folder, with the key of the one that is read.
func (r *repair) begin(s *Store) (err error) {
	if err := r.fs.MkdirAll(r.fs.PathJoin(r.to, disk.BlobsName), 0o700); err != nil {
		return err
	}
	if err := s.copyFile(r.fs, disk.SecretName, r.to, private); err != nil {
		return err
	}
	e := &engine{folder: s.folder}
	o := e.options(&Options{Still: true})
	o.FS, o.EventListener = r.fs, nil
	r.db, err = openPebble(r.fs.PathJoin(r.to, disk.EngineName), o)
	if err == nil {
		r.batch = r.db.NewBatch()
	}
	return err
}

// keep writes a row, and its file first.
func (r *repair) keep(s *Store, key, value []byte) error {
	if r.db == nil {
		if err := r.begin(s); err != nil {
			return err
		}
	}
	if kind(key[0]) == kindBlob {
		var rec blobRecord
		if err := decode(value, &rec); err != nil {
			return err
		}
		if err := copyTo(r.fs, s.blobs.path(rec.Name.file()), r.fs.PathJoin(r.to, disk.BlobsName, rec.Name.file())); err != nil {
			return err
		}
	}
	if kind(key[0]) == kindSpare {
		if err := r.keepProfile(s, string(key[prefixLen:len(key)-1])); err != nil {
			return err
		}
	}
	if err := r.batch.Set(key, value, nil); err != nil || r.batch.Len() < repairStep {
		return err
	}
	return r.write()
}

// keepProfile writes the profile of an inbox anew where it can't be read.
func (r *repair) keepProfile(s *Store, addr string) error {
	key := appendText(nil, kindInbox, addr)
	if found, err := s.has(key); found && err == nil {
		return nil
	}
	p, err := s.profile(addr)
	if err != nil {
		return err
	}
	var rec profileRecord
	rec.from(&p)
	var value bytes.Buffer
	return errors.Join(encode(&value, &rec), r.batch.Set(key, value.Bytes(), nil))
}

func (r *repair) write() error {
	err := r.db.Apply(r.batch, pebble.NoSync)
	r.batch.Reset()
	return err
}

// end puts on disk what was written, and makes it a data folder.
func (r *repair) end() error {
	if r.db == nil {
		return errors.New("nothing in it can be read")
	}
	err := errors.Join(r.write(), r.db.Flush(), r.batch.Close(), r.db.Close())
	if err != nil {
		return err
	}
	return errors.Join(disk.SyncFolder(r.fs, r.fs.PathJoin(r.to, disk.BlobsName)), disk.MarkCopy(r.fs, r.to), disk.SyncFolder(r.fs, r.fs.PathDir(r.to)))
}

// copyFile copies a file of the folder's own into dir of fs, if it is there.
func (e *engine) copyFile(fs vfs.FS, name, dir string, prepare ...func(vfs.File) error) error {
	data, err := disk.ReadFile(e.folder.FS, e.folder.Path(name))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return disk.WriteFile(fs, dir, name, data, prepare...)
}

// link gives every blob file a name in dir too. Files that no row registers are swept by the start
// of the copy.
func (b *blobFiles) link(dir string) error {
	fs := b.folder.FS
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	files, err := fs.List(b.dir())
	if err != nil {
		return err
	}
	for _, name := range files {
		if !finished(name) {
			continue
		}
		err := linkOrCopy(fs, b.path(name), fs.PathJoin(dir, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) { // an orphan that was swept
			return err
		}
	}
	return disk.SyncFolder(fs, dir)
}

// linkOrCopy copies where a link can't be made, as to another disk.
func linkOrCopy(fs vfs.FS, from, to string) error {
	err := fs.Link(from, to)
	if err == nil || errors.Is(err, os.ErrNotExist) {
		return err
	}
	return copyTo(fs, from, to)
}

func copyTo(fs vfs.FS, from, to string) error {
	src, err := fs.Open(from, vfs.SequentialReadsOption)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := fs.Create(to, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	if err == nil {
		err = dst.Sync()
	}
	return errors.Join(err, dst.Close())
}

// kept are blob files whose removal waits for backups. mu guards all.
type kept struct {
	mu      sync.Mutex
	backups int
	names   []blobName
}

// hold keeps every blob file where it is until release. Those that a crash leaves are orphans.
func (b *blobFiles) hold() (release func()) {
	b.kept.mu.Lock()
	defer b.kept.mu.Unlock()
	b.kept.backups++
	return func() {
		b.kept.mu.Lock()
		var names []blobName
		if b.kept.backups--; b.kept.backups == 0 {
			names, b.kept.names = b.kept.names, nil
		}
		b.kept.mu.Unlock()
		b.remove(names)
	}
}

// wait reports that the removal of files waits for a backup.
func (k *kept) wait(names []blobName) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.backups > 0 {
		k.names = append(k.names, names...)
	}
	return k.backups > 0
}
