package disk

import (
	"errors"
	"fmt"
	"math"
	"os"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"inboxd/internal/base/fault"
)

// FileIdentity identifies a file regardless of its name, by device and inode. It is zero on a file
// system without inodes.
type FileIdentity struct{ device, inode uint64 }

func identityOf(info os.FileInfo) (id FileIdentity) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		id = FileIdentity{uint64(s.Dev), s.Ino}
	}
	return id
}

// LinkedIdentity returns the identity of a file that has several names; false for a file with a
// single name or without an identity.
func LinkedIdentity(info os.FileInfo) (id FileIdentity, ok bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	return identityOf(info), ok && s.Nlink > 1
}

// checkPrivate refuses a folder that other users can enter: they could read messages in it.
func checkPrivate(fs vfs.FS, dir string) error {
	info, err := fs.Stat(dir)
	if err != nil || !info.IsDir() || identityOf(info) == (FileIdentity{}) {
		return nil // creating or opening it reports the problem
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("the data folder %s is accessible to other users (mode %04o): run chmod 700 %s", dir, mode, dir)
	}
	return nil
}

// MakeOwn creates the folder dir, which must not exist, and its missing parents. intact reports
// whether the path still leads to the created folder, and whether only this user can enter it.
// Another user who can write to the parent could put a different folder there at any moment.
func MakeOwn(fs vfs.FS, dir string) (intact func() error, err error) {
	above := fs.PathDir(dir)
	if err := fs.MkdirAll(above, 0o700); err != nil {
		return nil, err
	}
	info, err := fs.Stat(above)
	if err != nil {
		return nil, err
	}
	if identityOf(info) == (FileIdentity{}) { // an in-memory file system, which has one user
		if _, err := fs.Stat(dir); err == nil {
			return nil, os.ErrExist
		}
		return func() error { return nil }, fs.MkdirAll(dir, 0o700)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	made, err := os.Lstat(dir)
	if err != nil {
		return nil, err
	}
	intact = func() error {
		now, err := os.Lstat(dir)
		if err != nil {
			return err
		}
		s, _ := now.Sys().(*syscall.Stat_t)
		if !os.SameFile(made, now) || !now.IsDir() || s == nil || int(s.Uid) != os.Geteuid() {
			return fmt.Errorf("another user put something else at %s", dir)
		}
		return checkPrivate(fs, dir)
	}
	return intact, intact()
}

// errAway is in every fault that CheckIdentity returns.
var errAway = errors.New("the data folder is gone from its path")

// pathWitness is a file or folder inside the data folder that shows that the data folder is at its
// path.
type pathWitness struct {
	witnessPath string
	FileIdentity
}

// addWitness adds the file at path to the witnesses.
func (f *DataFolder) addWitness(path string) error {
	info, err := f.FS.Stat(path)
	f.witnessMu.Lock()
	defer f.witnessMu.Unlock()
	if err == nil {
		f.witnesses = append(f.witnesses, pathWitness{path, identityOf(info)})
	}
	return err
}

// inPlace returns nil as long as all witnesses are at their paths.
func (f *DataFolder) inPlace() error {
	f.witnessMu.RLock()
	witnesses := f.witnesses
	f.witnessMu.RUnlock()
	for _, w := range witnesses {
		info, err := f.FS.Stat(w.witnessPath)
		if err == nil && identityOf(info) != w.FileIdentity {
			err = fmt.Errorf("%s is another file", w.witnessPath)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// CheckIdentity checks that the path of the folder still leads to the folder that this process
// locked, with its database and its large values. It returns nil, or the fault for new data. A
// folder that was moved or removed still accepts writes, but to files that no start finds.
func (f *DataFolder) CheckIdentity() error {
	began := time.Now()
	err := f.inPlace()
	if err == nil {
		f.isAway.Store(false)
		f.lastSeenAt.Store(int64(began.Sub(f.openedAt)))
		return nil
	}
	f.lastSeenAt.Store(beforeAll)
	err = fmt.Errorf("%w: %v", errAway, err) // without the engine's stack
	if !f.isAway.Swap(true) {
		f.Log.slogOut.Error("storage: data folder missing, nothing is stored until it is back", "err", err)
	}
	return fault.Wrap(fault.StorageFull, "The storage was moved away. Reading works; writing works again once the storage is back", err)
}

// identityCheckAge is how long commits rely on a result of CheckIdentity. A check costs as much as
// a tenth of a commit that shares its fsync with others. An fsync alone takes a good part of this
// time, and the folder may be moved during the fsync as well.
const identityCheckAge = time.Millisecond

// beforeAll is before all times of DataFolder.lastSeenAt.
const beforeAll = math.MinInt64 / 2

// CheckIdentityCached is CheckIdentity, cached for identityCheckAge, for frequent callers.
func (f *DataFolder) CheckIdentityCached() error {
	if int64(time.Since(f.openedAt))-f.lastSeenAt.Load() < int64(identityCheckAge) {
		return nil
	}
	return f.CheckIdentity()
}
