package disk

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	formatVersion = 2 // of the data folder's layout: keys, files and their meaning
	formatHead    = "inboxd store "
)

// Names inside the data folder.
const (
	FormatName    = "FORMAT"
	lockName      = "LOCK"
	HighWaterName = "high-water"
	BallastName   = "ballast"
	EngineName    = "db"
	BlobsName     = "blobs"
	SecretName    = "secret.key"
	LostName      = "lost" // only a repaired copy has it
)

// lockFolder makes dir (mode 0700) and takes it for this process.
func lockFolder(fs vfs.FS, dir string) (io.Closer, error) {
	if err := checkPrivate(fs, dir); err != nil {
		return nil, err
	}
	if err := makeFolder(fs, dir); err != nil {
		return nil, fmt.Errorf("the data folder %s cannot be created: %w", dir, err)
	}
	if err := checkPrivate(fs, dir); err != nil {
		return nil, err // somebody else made it since
	}
	lock, err := fs.Lock(fs.PathJoin(dir, lockName))
	switch {
	case err == nil:
		return lock, nil
	case heldElsewhere(err):
		return nil, fmt.Errorf("the data folder %s is in use by another inboxd. Stop it, or choose another folder with --data", dir)
	}
	return nil, fmt.Errorf("the data folder %s cannot be written: %w", dir, Denied(fs.PathJoin(dir, lockName), err))
}

// Denied tells whoever may not open a file what to do about that: nothing is known to be damaged. Other errors it
// passes on.
func Denied(path string, err error) error {
	if !errors.Is(err, os.ErrPermission) || errors.As(err, new(Unfit)) {
		return err
	}
	return Unfit{fmt.Errorf("%s cannot be opened by user %d: %w. Run inboxd as the owner of the data folder, or change its owner with chown and chmod", path, os.Geteuid(), os.ErrPermission)}
}

// noLock is the lock of a folder on a disk that can't be written.
type noLock struct{}

// Close implements io.Closer.
func (noLock) Close() error { return nil }

// lockToRead is lockFolder for somebody who only reads. Where nothing can be written, as in a snapshot that is mounted
// for reading, no server can have the folder by this path, and nothing is locked.
func lockToRead(fs vfs.FS, dir string) (io.Closer, error) {
	lock, err := lockFolder(fs, dir)
	if errors.Is(err, syscall.EROFS) {
		return noLock{}, nil
	}
	return lock, err
}

// makeFolder makes dir and what is missing above it, and puts their names on disk: else a
// power loss could take the whole store away by its name.
func makeFolder(fs vfs.FS, dir string) error {
	var made []string
	for d := dir; ; d = fs.PathDir(d) {
		if _, err := fs.Stat(d); !errors.Is(err, os.ErrNotExist) || fs.PathDir(d) == d {
			break
		}
		made = append(made, d)
	}
	if err := fs.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, d := range made {
		if err := SyncFolder(fs, fs.PathDir(d)); err != nil {
			return err
		}
	}
	// A run that died right here left it made but not synced. A parent that can't be read
	// was not made by us.
	if err := SyncFolder(fs, fs.PathDir(dir)); err != nil && !errors.Is(err, os.ErrPermission) {
		return err
	}
	return nil
}

// heldElsewhere tells a lock that is taken from one that can't be taken: fcntl(2) answers
// EAGAIN or EACCES as a bare number, while a folder that can't be written fails in open
// already, with a path. A second Open of this process has no number at all.
func heldElsewhere(err error) bool {
	if path := (*os.PathError)(nil); errors.As(err, &path) {
		return false
	}
	return errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) ||
		strings.Contains(err.Error(), "held by current process")
}

// checkFormat writes FORMAT into a new folder and reads it in an old one. A crash before it is
// written leaves an empty folder, which is new.
func checkFormat(fs vfs.FS, dir string) error {
	data, err := ReadFile(fs, fs.PathJoin(dir, FormatName))
	if errors.Is(err, os.ErrNotExist) {
		if _, err := fs.Stat(fs.PathJoin(dir, EngineName)); err == nil {
			return fmt.Errorf("the data folder %s has a database but no file %s: it is an unfinished backup or repaired copy, is damaged, or is not a folder of inboxd. "+
				"Create it again, or restore a backup", dir, FormatName)
		}
		return writeFormat(fs, dir)
	}
	if err != nil {
		return fmt.Errorf("reading %s in the data folder %s: %w", FormatName, dir, err)
	}
	text, ok := strings.CutPrefix(strings.TrimSpace(string(data)), formatHead)
	version, err := strconv.Atoi(text)
	switch {
	case !ok || err != nil:
		return fmt.Errorf("the file %s in the data folder %s is damaged: %q. Restore a backup of it", FormatName, dir, data)
	case version > formatVersion:
		return Unfit{fmt.Errorf("the data folder %s has format %d; this inboxd reads format %d: use a newer inboxd", dir, version, formatVersion)}
	case version < formatVersion:
		return Unfit{fmt.Errorf("the data folder %s has format %d; this inboxd reads format %d: use an older inboxd, or export and import", dir, version, formatVersion)}
	}
	return nil
}

func writeFormat(fs vfs.FS, dir string) error {
	return WriteFile(fs, dir, FormatName, fmt.Appendf(nil, "%s%d\n", formatHead, formatVersion))
}

// ReadFile returns the content of a small file, such as FORMAT. A missing permission is Denied.
func ReadFile(fs vfs.FS, path string) ([]byte, error) {
	f, err := fs.Open(path)
	if err != nil {
		return nil, Denied(path, err)
	}
	defer f.Close()
	return io.ReadAll(f)
}

// WriteFile replaces dir/name so that a crash leaves the old file or the new one whole:
// temporary file, fsync, rename, fsync of the folder. prepare gets the file while it is empty.
func WriteFile(fs vfs.FS, dir, name string, data []byte, prepare ...func(vfs.File) error) error {
	path := fs.PathJoin(dir, name)
	err := writeSynced(fs, path+".tmp", data, prepare...)
	if err == nil {
		err = fs.Rename(path+".tmp", path)
	}
	if err != nil {
		_ = fs.Remove(path + ".tmp")
		return err
	}
	return SyncFolder(fs, dir)
}

func writeSynced(fs vfs.FS, path string, data []byte, prepare ...func(vfs.File) error) error {
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	for _, p := range prepare {
		err = errors.Join(err, p(f))
	}
	if err == nil {
		err = writePieces(f, data)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// writePieces writes copies, because a vfs.File may change the slice it is given; small
// ones, because a mail may have 25 MB.
func writePieces(f vfs.File, data []byte) error {
	piece := make([]byte, min(len(data), 256<<10))
	for len(data) > 0 {
		n := copy(piece, data)
		if _, err := f.Write(piece[:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// SyncFolder makes the names in dir durable: files that were created, renamed or removed there.
func SyncFolder(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
