package disk

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// waitFS is the file system under the engine. It stands between the engine and two
// failures that the engine has no good answer to:
//
// A full disk. A failed log write would end the process, a failed flush is repeated at once
// and for ever. So a write that finds the disk full waits for space instead of failing. A
// table's write waits about a second only, so that a compaction that does not fit gives its
// half-written output back. A folder that is gone from its path is waited for in the same way.
//
// Any other failed write. The engine panics in some of these cases with its locks held, in
// others it repeats its work at once and for ever. So the process ends here, with one line.
type waitFS struct {
	vfs.FS
	folder *Folder
	space  *SpaceGuard
	spare  *spareLog
	logs   sync.Map // name → *liveLog, while it is written
}

// waitFile is a file or folder of waitFS; the engine lets one goroutine use one at a time.
type waitFile struct {
	vfs.File
	fs    *waitFS
	name  string
	table bool
	done  int64 // bytes written
}

func isTable(name string) bool {
	return strings.HasSuffix(name, ".sst") || isValueFile(name)
}

// verdict passes an error of name on, or ends the process. Until the store is open its
// errors become the error of Open.
func (fs *waitFS) verdict(name string, err error) error {
	again := isTable(name) && (IsFull(err) || errors.Is(err, errAway))
	if err != nil && !fs.space.opening.Load() && !again {
		fs.space.log.Fatal("writing "+fs.PathBase(name), err)
	}
	return err
}

// elsewhere reports a name that is none of the engine's, as those of a backup are: there nothing
// waits for space, and nothing that fails ends the process.
func (fs *waitFS) elsewhere(name string) bool {
	engine := fs.folder.Path(EngineName)
	return name != engine && name != fs.PathDir(engine) && fs.PathDir(name) != engine
}

func (fs *waitFS) file(name string, open func() (vfs.File, error)) (vfs.File, error) {
	if fs.elsewhere(name) {
		return open()
	}
	var f vfs.File
	err := fs.space.wait(isTable(name), func() (err error) {
		if err = fs.folder.Ours(); err != nil {
			return err // another's folder may lie on the path
		}
		f, err = open()
		return Denied(name, err)
	})
	if fs.verdict(name, err) != nil {
		return nil, err
	}
	return &waitFile{File: f, fs: fs, name: name, table: isTable(name)}, nil
}

func (fs *waitFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if c == rewriteCategory {
		if err := fs.fitToRewrite(); err != nil {
			return nil, err
		}
	}
	f, err := fs.file(name, func() (vfs.File, error) {
		if isLog(name) && !fs.elsewhere(name) {
			if f, err := fs.spare.become(name, c); f != nil || err != nil {
				return f, err
			}
		}
		return fs.FS.Create(name, c)
	})
	return fs.live(name, f, err)
}

// Open reads value files with a check of its own, and logs as far as they are written.
func (fs *waitFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	if err := fs.folder.broken[name]; err != nil {
		return nil, err
	}
	f, err := fs.FS.Open(name, opts...)
	if isTable(name) && errors.Is(err, os.ErrNotExist) {
		return nil, fs.folder.Missing(name, err)
	}
	if err != nil {
		return f, Denied(name, err)
	}
	if !isValueFile(name) {
		return fs.written(name, f), nil
	}
	return openValueFile(f, name, fs.folder.Damage)
}

// Missing is what it means that a file of the folder is not there: the folder is away, or the file
// is lost. The engine takes its own error of a lost value file for a damage of which it has to
// know more, and panics; this one it passes on.
func (f *Folder) Missing(path string, err error) error {
	if away := f.Ours(); away != nil {
		return away
	}
	if isTable(path) && !isValueFile(path) {
		return err // the engine tells of tables itself
	}
	return f.Damage.Found(path, "it is missing")
}

// List shows the engine what is missing, too.
func (fs *waitFS) List(dir string) ([]string, error) {
	names, err := fs.FS.List(dir)
	for _, path := range fs.folder.missing {
		if fs.PathDir(path) == dir {
			names = append(names, fs.PathBase(path))
		}
	}
	return names, err
}

func (fs *waitFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return fs.file(name, func() (vfs.File, error) { return fs.FS.OpenReadWrite(name, c, opts...) })
}

func (fs *waitFS) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := fs.file(newname, func() (vfs.File, error) { return fs.FS.ReuseForWrite(oldname, newname, c) })
	return fs.live(newname, f, err)
}

func (fs *waitFS) Remove(name string) error {
	if !fs.elsewhere(name) && fs.folder.late.wait(name) {
		return nil
	}
	return fs.FS.Remove(name)
}

func (fs *waitFS) OpenDir(name string) (vfs.File, error) {
	return fs.file(name, func() (vfs.File, error) { return fs.FS.OpenDir(name) })
}

// Lock locks the engine's folder too, where anything can be locked.
func (fs *waitFS) Lock(name string) (io.Closer, error) {
	if fs.folder.lock == (noLock{}) {
		return noLock{}, nil
	}
	return fs.FS.Lock(name)
}

func (fs *waitFS) Rename(oldname, newname string) error {
	if fs.elsewhere(newname) {
		return fs.FS.Rename(oldname, newname)
	}
	return fs.verdict(newname, fs.space.wait(false, func() error { return fs.FS.Rename(oldname, newname) }))
}

func (fs *waitFS) MkdirAll(dir string, perm os.FileMode) error {
	if fs.elsewhere(dir) {
		return fs.FS.MkdirAll(dir, perm)
	}
	return fs.verdict(dir, fs.space.wait(false, func() error { return fs.FS.MkdirAll(dir, perm) }))
}

func (fs *waitFS) Unwrap() vfs.FS { return fs.FS }

// Write goes on behind the part that did fit.
func (f *waitFile) Write(p []byte) (int, error) {
	done, err := f.File.Write(p)
	if IsFull(err) {
		err = f.fs.space.wait(f.table, func() error {
			n, err := f.File.Write(p[done:])
			done += n
			return err
		})
	}
	f.done += int64(done)
	return done, f.fs.verdict(f.name, err)
}

func (f *waitFile) WriteAt(p []byte, off int64) (int, error) {
	done := 0
	err := f.fs.space.wait(f.table, func() error {
		n, err := f.File.WriteAt(p[done:], off+int64(done))
		done += n
		return err
	})
	return done, f.fs.verdict(f.name, err)
}

// A failed sync is never repeated: the kernel may have dropped the pages and would then
// report success.

func (f *waitFile) Sync() error {
	err := f.File.Sync()
	if name := f.fs.PathBase(f.name); err == nil && strings.HasPrefix(name, manifestPrefix) {
		f.fs.folder.manifest.Store(&manifestEnd{name, f.done})
	}
	return f.fs.verdict(f.name, err)
}

func (f *waitFile) SyncData() error { return f.fs.verdict(f.name, f.File.SyncData()) }
func (f *waitFile) SyncTo(length int64) (bool, error) {
	full, err := f.File.SyncTo(length)
	return full, f.fs.verdict(f.name, err)
}
