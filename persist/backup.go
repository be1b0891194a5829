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

// BackupTo makes dir a data folder with everything that was acknowledged before the call, while
// commits continue. Tables and blob files become hard links where the file system supports it,
// because they are never written again. A start on dir restores the backup.
//
// FORMAT is written last, so a start refuses a folder that a crash or an error left incomplete. If
// ctx ends, the folder is removed, after a running copy of the engine's files has ended. Errors are
// sentences for the operator.
func (s *Store) BackupTo(ctx context.Context, dir string) error {
	fs := s.folder.FS
	intact, err := disk.MakeOwn(fs, dir)
	if errors.Is(err, os.ErrExist) {
		return fault.Wrap(fault.InvalidRequest, fmt.Sprintf("The folder %s already exists. Give the path of a new folder for the backup", dir), err)
	}
	if err == nil {
		err = s.runCall(func() error { return s.copyTo(ctx, dir, intact) })
	}
	if err != nil {
		if intact != nil && intact() == nil {
			_ = fs.RemoveAll(dir) // the rest has no FORMAT
		}
		return fault.Wrap(fault.TemporarilyUnavailable, fmt.Sprintf("The backup %s could not be made", dir), err)
	}
	return nil
}

// copyTo copies the high-water mark of the journal first, so that the mark is never ahead of the
// backup. It links blob files after the rows: the files of all copied rows exist by then, and none
// is removed meanwhile.
func (s *Store) copyTo(ctx context.Context, dir string, intact func() error) error {
	fs := s.folder.FS
	release := s.blobFiles.holdRemovals()
	defer release()
	for _, step := range []func() error{
		func() error { return s.copyFile(fs, disk.HighWaterName, dir) },
		func() error { return s.db.Checkpoint(fs.PathJoin(dir, disk.EngineName), pebble.WithFlushedWAL()) },
		func() error { failpoint.MarkPoint("backup-copied"); return nil },
		func() error { return s.blobFiles.linkInto(ctx, fs.PathJoin(dir, disk.BlobsName)) },
		func() error { return s.copyFile(fs, disk.SecretName, dir, makePrivate) },
		func() error { return s.copyFile(fs, disk.LostName, dir) },
		func() error { return disk.MarkCopy(fs, dir) },
		func() error { return disk.SyncFolder(fs, fs.PathDir(dir)) },
	} {
		if err := cmp.Or(ctx.Err(), intact()); err != nil {
			return err
		}
		if err := step(); err != nil {
			return namedError(err)
		}
	}
	return nil
}

// copyFile copies a file at the top level of the data folder into dir of fs, if it exists.
func (e *storageEngine) copyFile(fs vfs.FS, name, dir string, prepare ...func(vfs.File) error) error {
	data, err := disk.ReadFile(e.folder.FS, e.folder.FilePath(name))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return disk.WriteFile(fs, dir, name, data, prepare...)
}

// linkInto links every blob file into dir. The first start of the copy sweeps files that no row
// registers.
func (b *blobFiles) linkInto(ctx context.Context, dir string) error {
	fs := b.folder.FS
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	files, err := fs.List(b.dir())
	if err != nil {
		return err
	}
	var copied copiedFiles
	for _, name := range files {
		if !isFinishedFile(name) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		err := copied.linkOrCopy(fs, b.filePath(name), fs.PathJoin(dir, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) { // an orphan that was swept
			return err
		}
	}
	return disk.SyncFolder(fs, dir)
}

// copiedFiles are the files that were copied into one folder and have several names, because recipients
// of a message share them. Their other names become links in the copy, too.
type copiedFiles struct{ copiedPaths linkedFiles[string] }

// linkOrCopy copies if a link cannot be made, for example to another disk.
func (c *copiedFiles) linkOrCopy(fs vfs.FS, from, to string) error {
	err := fs.Link(from, to)
	if err == nil || errors.Is(err, os.ErrNotExist) {
		return err
	}
	return c.copyFile(fs, from, to)
}

func (c *copiedFiles) copyFile(fs vfs.FS, from, to string) error {
	first, found, keep := c.copiedPaths.findLinked(fs, from)
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

// heldRemovals are blob files whose removal waits for backups. mu guards all fields.
type heldRemovals struct {
	mu             sync.Mutex
	backupsRunning int
	heldNames      []blobName
}

// holdRemovals delays the removal of all blob files until release. If the process dies, they become
// orphans.
func (b *blobFiles) holdRemovals() (release func()) {
	b.heldRemovals.mu.Lock()
	defer b.heldRemovals.mu.Unlock()
	b.heldRemovals.backupsRunning++
	return func() {
		b.heldRemovals.mu.Lock()
		var names []blobName
		if b.heldRemovals.backupsRunning--; b.heldRemovals.backupsRunning == 0 {
			names, b.heldRemovals.heldNames = b.heldRemovals.heldNames, nil
		}
		b.heldRemovals.mu.Unlock()
		b.removeFiles(names)
	}
}

// deferRemoval reports whether the removal of files must wait for a backup, and then queues them.
func (k *heldRemovals) deferRemoval(names []blobName) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.backupsRunning > 0 {
		k.heldNames = append(k.heldNames, names...)
	}
	return k.backupsRunning > 0
}
