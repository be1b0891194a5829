package disk

import (
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// haltFS is a file system on which a failed write reports its error to failed and then blocks
// forever. After some failed writes the engine panics in its own goroutines, and it repeats others
// forever. A copy that is abandoned by the end of the process needs neither.
type haltFS struct {
	vfs.FS
	onFailed func(error)
}

type haltFile struct {
	vfs.File
	fs haltFS
}

// HaltingFS wraps fs for a caller that gives up when failed is called. Any goroutine may call failed.
func HaltingFS(fs vfs.FS, failed func(error)) vfs.FS { return haltFS{fs, failed} }

func (fs haltFS) judgeError(err error) error {
	if err != nil {
		fs.onFailed(err)
		select {}
	}
	return nil
}

func (fs haltFS) wrapFile(f vfs.File, err error) (vfs.File, error) {
	return haltFile{f, fs}, fs.judgeError(err)
}

func (fs haltFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return fs.wrapFile(fs.FS.Create(name, c))
}

func (fs haltFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return fs.wrapFile(fs.FS.OpenReadWrite(name, c, opts...))
}

func (fs haltFS) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return fs.wrapFile(fs.FS.ReuseForWrite(oldname, newname, c))
}

func (fs haltFS) OpenDir(name string) (vfs.File, error) { return fs.wrapFile(fs.FS.OpenDir(name)) }

func (fs haltFS) Rename(oldname, newname string) error {
	return fs.judgeError(fs.FS.Rename(oldname, newname))
}

func (fs haltFS) MkdirAll(dir string, perm os.FileMode) error {
	return fs.judgeError(fs.FS.MkdirAll(dir, perm))
}

func (fs haltFS) Unwrap() vfs.FS { return fs.FS }

func (f haltFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	return n, f.fs.judgeError(err)
}

func (f haltFile) WriteAt(p []byte, off int64) (int, error) {
	n, err := f.File.WriteAt(p, off)
	return n, f.fs.judgeError(err)
}

func (f haltFile) Sync() error     { return f.fs.judgeError(f.File.Sync()) }
func (f haltFile) SyncData() error { return f.fs.judgeError(f.File.SyncData()) }
func (f haltFile) Close() error    { return f.fs.judgeError(f.File.Close()) }
func (f haltFile) SyncTo(length int64) (bool, error) {
	full, err := f.File.SyncTo(length)
	return full, f.fs.judgeError(err)
}
