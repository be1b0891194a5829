package persist

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"inboxd/internal/base/failpoint"
	"inboxd/internal/base/fault"
	"inboxd/persist/disk"
)

// Backup makes dir a data folder with everything that was acknowledged before the call, while
// commits continue. Tables and blob files become hard links where the file system supports it,
// because they are never written again. A start on dir restores the backup.
//
// FORMAT is written last, so a start refuses a folder that a crash or an error left incomplete. If
// ctx ends, the folder is removed, after a running copy of the engine's files has ended. Errors are
// sentences for the operator.
func (s *Store) Backup(ctx context.Context, dir string) error {
	fs := s.folder.FS
	intact, err := disk.MakeOwn(fs, dir)
	if errors.Is(err, os.ErrExist) {
		return fault.Wrap(fault.Invalid, fmt.Sprintf("The folder %s already exists. Give the path of a new folder for the backup", dir), err)
	}
	if err == nil {
		err = s.during(func() error { return s.backup(ctx, dir, intact) })
	}
	if err != nil {
		if intact != nil && intact() == nil {
			_ = fs.RemoveAll(dir) // the rest has no FORMAT
		}
		return fault.Wrap(fault.Unavailable, fmt.Sprintf("The backup %s could not be made", dir), err)
	}
	return nil
}

// backup copies the high-water mark of the journal first, so that the mark is never ahead of the
// backup. It links blob files after the rows: the files of all copied rows exist by then, and none
// is removed meanwhile.
func (s *Store) backup(ctx context.Context, dir string, intact func() error) error {
	fs := s.folder.FS
	release := s.blobs.hold()
	defer release()
	for _, step := range []func() error{
		func() error { return s.copyFile(fs, disk.HighWaterName, dir) },
		func() error { return s.db.Checkpoint(fs.PathJoin(dir, disk.EngineName), pebble.WithFlushedWAL()) },
		func() error { failpoint.Here("backup-copied"); return nil },
		func() error { return s.blobs.link(ctx, fs.PathJoin(dir, disk.BlobsName)) },
		func() error { return s.copyFile(fs, disk.SecretName, dir, private) },
		func() error { return s.copyFile(fs, disk.LostName, dir) },
		func() error { return disk.MarkCopy(fs, dir) },
		func() error { return disk.SyncFolder(fs, fs.PathDir(dir)) },
	} {
		if err := cmp.Or(ctx.Err(), intact()); err != nil {
			return err
		}
		if err := step(); err != nil {
			return named(err)
		}
	}
	return nil
}

// copyFile copies a file at the top level of the data folder into dir of fs, if it exists.
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

// link links every blob file into dir. The first start of the copy sweeps files that no row
// registers.
func (b *blobFiles) link(ctx context.Context, dir string) error {
	fs := b.folder.FS
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	files, err := fs.List(b.dir())
	if err != nil {
		return err
	}
	var copied copies
	for _, name := range files {
		if !finished(name) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		err := copied.linkOrCopy(fs, b.path(name), fs.PathJoin(dir, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) { // an orphan that was swept
			return err
		}
	}
	return disk.SyncFolder(fs, dir)
}

// copies are the files that were copied into one folder and have several names, because recipients
// of a message share them. Their other names become links in the copy, too.
type copies struct{ made linked[string] }

// linkOrCopy copies if a link cannot be made, for example to another disk.
func (c *copies) linkOrCopy(fs vfs.FS, from, to string) error {
	err := fs.Link(from, to)
	if err == nil || errors.Is(err, os.ErrNotExist) {
		return err
	}
	return c.copy(fs, from, to)
}

func (c *copies) copy(fs vfs.FS, from, to string) error {
	first, found, keep := c.made.find(fs, from)
	if found && fs.Link(first, to) == nil {
		return nil
	}
	err := copyTo(fs, from, to)
	if err == nil {
		keep(to)
	}
	return err
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

// kept are blob files whose removal waits for backups. mu guards all fields.
type kept struct {
	mu      sync.Mutex
	backups int
	names   []blobName
}

// hold delays the removal of all blob files until release. If the process dies, they become
// orphans.
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

// wait reports whether the removal of files must wait for a backup, and then queues them.
func (k *kept) wait(names []blobName) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.backups > 0 {
		k.names = append(k.names, names...)
	}
	return k.backups > 0
}
