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
	LostName      = "lost" // only in a repaired copy
)

// lockFolder creates dir (mode 0700) if necessary and locks it for this process.
func lockFolder(fs vfs.FS, dir string) (io.Closer, error) {
	if err := checkPrivate(fs, dir); err != nil {
		return nil, err
	}
	if err := makeFolder(fs, dir); err != nil {
		return nil, fmt.Errorf("the data folder %s cannot be created: %w", dir, err)
	}
	if err := checkPrivate(fs, dir); err != nil {
		return nil, err // another process created it meanwhile
	}
	lock, err := fs.Lock(fs.PathJoin(dir, lockName))
	switch {
	case err == nil:
		return lock, nil
	case heldElsewhere(err):
		return nil, fmt.Errorf("the data folder %s is in use by another inboxd. Stop it, or choose another folder with --data", dir)
	}
	return nil, fmt.Errorf("the data folder %s cannot be written: %w", dir, AccessDenied(fs.PathJoin(dir, lockName), err))
}

// AccessDenied converts a permission error into instructions: the file is not known to be damaged. It
// passes other errors on.
func AccessDenied(path string, err error) error {
	if !errors.Is(err, os.ErrPermission) || errors.As(err, new(UnusableFolder)) {
		return err
	}
	return UnusableFolder{fmt.Errorf("%s cannot be opened by user %d: %w. Run inboxd as the owner of the data folder, or change its owner with chown and chmod", path, os.Geteuid(), os.ErrPermission)}
}

// noLock is the lock of a folder on a read-only file system.
type noLock struct{}

// Close implements io.Closer.
func (noLock) Close() error { return nil }

// lockToRead is lockFolder for a reader. On a read-only file system, for example a mounted
// snapshot, no server can use the folder by this path, so nothing is locked.
func lockToRead(fs vfs.FS, dir string) (io.Closer, error) {
	lock, err := lockFolder(fs, dir)
	if errors.Is(err, syscall.EROFS) {
		return noLock{}, nil
	}
	return lock, err
}

// makeFolder creates dir and its missing parents, and syncs their directory entries. Otherwise a
// power loss could lose the whole store with its directory entry.
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
	// A run that died right here left the folder created but not synced. A parent that cannot be
	// read was not created by inboxd.
	if err := SyncFolder(fs, fs.PathDir(dir)); err != nil && !errors.Is(err, os.ErrPermission) {
		return err
	}
	return nil
}

// heldElsewhere distinguishes a held lock from one that cannot be acquired. fcntl(2) returns EAGAIN
// or EACCES as a bare errno. In a folder that cannot be written, open fails first, with a path. A
// second Open in the same process has no errno at all.
func heldElsewhere(err error) bool {
	if path := (*os.PathError)(nil); errors.As(err, &path) {
		return false
	}
	return errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) ||
		strings.Contains(err.Error(), "held by current process")
}

// checkFormat writes FORMAT into a new folder and checks it in an existing one. A crash before it
// is written leaves an empty folder, which counts as new.
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
		return UnusableFolder{fmt.Errorf("the data folder %s has format %d; this inboxd reads format %d: use a newer inboxd", dir, version, formatVersion)}
	case version < formatVersion:
		return UnusableFolder{fmt.Errorf("the data folder %s has format %d; this inboxd reads format %d: use an older inboxd, or export and import", dir, version, formatVersion)}
	}
	return nil
}

func writeFormat(fs vfs.FS, dir string) error {
	return WriteFile(fs, dir, FormatName, fmt.Appendf(nil, "%s%d\n", formatHead, formatVersion))
}

// ReadFile reads the whole file at path. A permission error becomes instructions for the operator.
func ReadFile(fs vfs.FS, path string) ([]byte, error) {
	f, err := fs.Open(path)
	if err != nil {
		return nil, AccessDenied(path, err)
	}
	defer f.Close()
	return io.ReadAll(f)
}

// WriteFile replaces dir/name so that a crash leaves either the old or the new file intact:
// temporary file, fsync, rename, fsync of the folder. prepare is called with the file while it is
// empty.
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

// writePieces writes copies, because a vfs.File may change the slice it is given. The copies are
// small, because a message may have 25 MB.
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

// SyncFolder makes the directory entries of dir durable.
func SyncFolder(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
