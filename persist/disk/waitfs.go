package disk

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// waitFS is the file system under the engine. It handles two kinds of failure that the engine
// handles badly:
//
// A full disk. A failed log write would end the process, and a failed flush would be repeated at
// once, forever. So a write to a full disk waits for space instead of failing. The write of a table
// waits only about a second, so that a compaction that does not fit frees its partial output. A
// write also waits while the folder is not at its path.
//
// Any other failed write. In some cases the engine panics with its locks held; in others it repeats
// its work at once, forever. So the process ends here, with one log record.
type waitFS struct {
	vfs.FS
	folder     *DataFolder
	spaceGuard *SpaceGuard
	spareLog   *spareLog
	liveLogs   sync.Map // name → *liveLog, while it is being written
}

// waitFile is a file or folder of waitFS; the engine uses it from one goroutine at a time.
type waitFile struct {
	vfs.File
	fs           *waitFS
	fileName     string
	isTable      bool
	bytesWritten int64 // bytes written
}

func isTable(name string) bool {
	return strings.HasSuffix(name, ".sst") || isValueFile(name)
}

// judgeError returns an error of name, or ends the process. Until the store is open, its errors become
// the error of Open.
func (fs *waitFS) judgeError(name string, err error) error {
	again := isTable(name) && (IsFull(err) || errors.Is(err, errAway))
	if err != nil && !fs.spaceGuard.isOpening.Load() && !again {
		fs.spaceGuard.log.ExitFatal("writing "+fs.PathBase(name), err)
	}
	return err
}

// isForeign reports a name outside the engine's folder, for example in a backup: there nothing
// waits for space, and a failure does not end the process.
func (fs *waitFS) isForeign(name string) bool {
	engine := fs.folder.FilePath(EngineName)
	return name != engine && name != fs.PathDir(engine) && fs.PathDir(name) != engine
}

func (fs *waitFS) openFile(name string, open func() (vfs.File, error)) (vfs.File, error) {
	if fs.isForeign(name) {
		return open()
	}
	var f vfs.File
	err := fs.spaceGuard.waitForSpace(isTable(name), func() (err error) {
		if err = fs.folder.CheckIdentity(); err != nil {
			return err // another folder may be at the path
		}
		f, err = open()
		return AccessDenied(name, err)
	})
	if fs.judgeError(name, err) != nil {
		return nil, err
	}
	return &waitFile{File: f, fs: fs, fileName: name, isTable: isTable(name)}, nil
}

func (fs *waitFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if c == rewriteCategory {
		if err := fs.fitToRewrite(); err != nil {
			return nil, err
		}
	}
	f, err := fs.openFile(name, func() (vfs.File, error) {
		if isLog(name) && !fs.isForeign(name) {
			if f, err := fs.spareLog.takeSpare(name, c); f != nil || err != nil {
				return f, err
			}
		}
		return fs.FS.Create(name, c)
	})
	return fs.trackLog(name, f, err)
}

// Open opens value files with their own verification, and live logs only up to their written end.
func (fs *waitFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	if err := fs.folder.tableErrors[name]; err != nil {
		return nil, err
	}
	f, err := fs.FS.Open(name, opts...)
	if isTable(name) && errors.Is(err, os.ErrNotExist) {
		return nil, fs.folder.MissingFile(name, err)
	}
	if err != nil {
		return f, AccessDenied(name, err)
	}
	if !isValueFile(name) {
		return fs.wrapLog(name, f), nil
	}
	return openValueFile(f, name, fs.folder.DamageLog)
}

// MissingFile returns the error for a missing file of the folder: the folder is away, or the file is
// lost. For a lost value file, the engine expects details with its own error and panics without
// them; this error it returns.
func (f *DataFolder) MissingFile(path string, err error) error {
	if away := f.CheckIdentity(); away != nil {
		return away
	}
	if isTable(path) && !isValueFile(path) {
		return err // the engine reports tables itself
	}
	return f.DamageLog.NoteDamage(path, "it is missing")
}

// List also lists the missing files.
func (fs *waitFS) List(dir string) ([]string, error) {
	names, err := fs.FS.List(dir)
	for _, path := range fs.folder.missingFiles {
		if fs.PathDir(path) == dir {
			names = append(names, fs.PathBase(path))
		}
	}
	return names, err
}

func (fs *waitFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return fs.openFile(name, func() (vfs.File, error) { return fs.FS.OpenReadWrite(name, c, opts...) })
}

func (fs *waitFS) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := fs.openFile(newname, func() (vfs.File, error) { return fs.FS.ReuseForWrite(oldname, newname, c) })
	return fs.trackLog(newname, f, err)
}

func (fs *waitFS) Remove(name string) error {
	if !fs.isForeign(name) && fs.folder.deferredRemovals.deferRemoval(name) {
		return nil
	}
	return fs.FS.Remove(name)
}

func (fs *waitFS) OpenDir(name string) (vfs.File, error) {
	return fs.openFile(name, func() (vfs.File, error) { return fs.FS.OpenDir(name) })
}

// Lock also locks the engine's folder, unless nothing can be locked.
func (fs *waitFS) Lock(name string) (io.Closer, error) {
	if fs.folder.folderLock == (noLock{}) {
		return noLock{}, nil
	}
	return fs.FS.Lock(name)
}

func (fs *waitFS) Rename(oldname, newname string) error {
	if fs.isForeign(newname) {
		return fs.FS.Rename(oldname, newname)
	}
	return fs.judgeError(newname, fs.spaceGuard.waitForSpace(false, func() error { return fs.FS.Rename(oldname, newname) }))
}

func (fs *waitFS) MkdirAll(dir string, perm os.FileMode) error {
	if fs.isForeign(dir) {
		return fs.FS.MkdirAll(dir, perm)
	}
	return fs.judgeError(dir, fs.spaceGuard.waitForSpace(false, func() error { return fs.FS.MkdirAll(dir, perm) }))
}

func (fs *waitFS) Unwrap() vfs.FS { return fs.FS }

// Write continues after the part that fit.
func (f *waitFile) Write(p []byte) (int, error) {
	done, err := f.File.Write(p)
	if IsFull(err) {
		err = f.fs.spaceGuard.waitForSpace(f.isTable, func() error {
			n, err := f.File.Write(p[done:])
			done += n
			return err
		})
	}
	f.bytesWritten += int64(done)
	return done, f.fs.judgeError(f.fileName, err)
}

func (f *waitFile) WriteAt(p []byte, off int64) (int, error) {
	done := 0
	err := f.fs.spaceGuard.waitForSpace(f.isTable, func() error {
		n, err := f.File.WriteAt(p[done:], off+int64(done))
		done += n
		return err
	})
	return done, f.fs.judgeError(f.fileName, err)
}

// A failed fsync is never repeated: the kernel may have dropped the pages and would then report
// success.

func (f *waitFile) Sync() error {
	err := f.File.Sync()
	if name := f.fs.PathBase(f.fileName); err == nil && strings.HasPrefix(name, manifestPrefix) {
		f.fs.folder.manifestEnd.Store(&manifestEnd{name, f.bytesWritten})
	}
	return f.fs.judgeError(f.fileName, err)
}

func (f *waitFile) SyncData() error { return f.fs.judgeError(f.fileName, f.File.SyncData()) }
func (f *waitFile) SyncTo(length int64) (bool, error) {
	full, err := f.File.SyncTo(length)
	return full, f.fs.judgeError(f.fileName, err)
}
