package disk

import (
	"errors"
	"io"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// ErrNotRegular is in every error of opening something that is neither a file nor a folder.
var ErrNotRegular = errors.New("it is not a regular file")

// RealFS is the disk. It opens only regular files and folders: opening a named pipe blocks until
// somebody writes to it, and reading a device may never end.
var RealFS vfs.FS = regularFS{vfs.Default}

type regularFS struct{ vfs.FS }

// checkMode refuses name if it exists and is not wanted. It follows links.
func (fs regularFS) checkMode(name string, wanted func(os.FileMode) bool) error {
	info, err := fs.Stat(name)
	if err != nil || wanted(info.Mode()) {
		return nil // opening it reports the problem
	}
	return &os.PathError{Op: "open", Path: name, Err: ErrNotRegular}
}

func isFileOrFolder(mode os.FileMode) bool { return mode.IsRegular() || mode.IsDir() }

func (fs regularFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	if err := fs.checkMode(name, isFileOrFolder); err != nil {
		return nil, err
	}
	return fs.FS.Open(name, opts...)
}

func (fs regularFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	if err := fs.checkMode(name, os.FileMode.IsRegular); err != nil {
		return nil, err
	}
	return fs.FS.OpenReadWrite(name, c, opts...)
}

func (fs regularFS) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := fs.checkMode(oldname, os.FileMode.IsRegular); err != nil {
		return nil, err
	}
	return fs.FS.ReuseForWrite(oldname, newname, c)
}

func (fs regularFS) OpenDir(name string) (vfs.File, error) {
	if err := fs.checkMode(name, os.FileMode.IsDir); err != nil {
		return nil, err
	}
	return fs.FS.OpenDir(name)
}

func (fs regularFS) List(dir string) ([]string, error) {
	if err := fs.checkMode(dir, os.FileMode.IsDir); err != nil {
		return nil, err
	}
	return fs.FS.List(dir)
}

func (fs regularFS) Lock(name string) (io.Closer, error) {
	if err := fs.checkMode(name, os.FileMode.IsRegular); err != nil {
		return nil, err
	}
	return fs.FS.Lock(name)
}

func (fs regularFS) Unwrap() vfs.FS { return fs.FS }
