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

// Identity tells a file from every other one, whatever its name: its device and inode. Zero in
// a file system that has none.
type Identity struct{ device, inode uint64 }

func identityOf(info os.FileInfo) (id Identity) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		id = Identity{uint64(s.Dev), s.Ino}
	}
	return id
}

// Linked is the identity of a file that has several names; false for one that has a single name, or none to be
// known by.
func Linked(info os.FileInfo) (id Identity, ok bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	return identityOf(info), ok && s.Nlink > 1
}

// checkPrivate refuses a folder that others can enter: they would read mail in it.
func checkPrivate(fs vfs.FS, dir string) error {
	info, err := fs.Stat(dir)
	if err != nil || !info.IsDir() || identityOf(info) == (Identity{}) {
		return nil // making it, or opening it, tells what is the matter
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("the data folder %s is accessible to other users (mode %04o): run chmod 700 %s", dir, mode, dir)
	}
	return nil
}

// MakeOwn makes the folder dir, which must not be there, and what is missing above it. intact reports whether the
// path still leads to the folder that was made, and whether nobody but this user can enter it: another user who
// can write above it may put a folder of his own there at any moment.
func MakeOwn(fs vfs.FS, dir string) (intact func() error, err error) {
	above := fs.PathDir(dir)
	if err := fs.MkdirAll(above, 0o700); err != nil {
		return nil, err
	}
	info, err := fs.Stat(above)
	if err != nil {
		return nil, err
	}
	if identityOf(info) == (Identity{}) { // a file system in memory, which has one user
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

// errAway is in every fault of Ours.
var errAway = errors.New("the data folder is gone from its path")

// witness is a file or a folder of the data folder by which that is known to be on its path.
type witness struct {
	path string
	Identity
}

// know makes what is at path a witness.
func (f *Folder) know(path string) error {
	info, err := f.FS.Stat(path)
	f.knowing.Lock()
	defer f.knowing.Unlock()
	if err == nil {
		f.witnesses = append(f.witnesses, witness{path, identityOf(info)})
	}
	return err
}

// inPlace is nil as long as all witnesses are.
func (f *Folder) inPlace() error {
	f.knowing.RLock()
	witnesses := f.witnesses
	f.knowing.RUnlock()
	for _, w := range witnesses {
		info, err := f.FS.Stat(w.path)
		if err == nil && identityOf(info) != w.Identity {
			err = fmt.Errorf("%s is another file", w.path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Ours reports whether the path of the folder still leads to the folder that this process
// locked, with its database and its large values: nil, or the fault of what can't be stored. A folder that was
// moved away or removed goes on taking writes, in files that no start finds.
func (f *Folder) Ours() error {
	began := time.Now()
	err := f.inPlace()
	if err == nil {
		f.away.Store(false)
		f.ours.Store(int64(began.Sub(f.opened)))
		return nil
	}
	f.ours.Store(never)
	err = fmt.Errorf("%w: %v", errAway, err) // without the engine's stack
	if !f.away.Swap(true) {
		f.Log.out.Error("storage: data folder missing, nothing is stored until it is back", "err", err)
	}
	return fault.Wrap(fault.StorageFull, "The storage was moved away. Reading works; writing works again once the storage is back", err)
}

// oursFresh is how long an answer of Ours holds for commits. A look costs as much as a tenth of
// a commit that shares its sync with others; a sync alone takes a good part of this time, in
// which the folder can leave as well.
const oursFresh = time.Millisecond

// never is before all times of Folder.ours.
const never = math.MinInt64 / 2

// OursLately is Ours for those who come many in a millisecond.
func (f *Folder) OursLately() error {
	if int64(time.Since(f.opened))-f.ours.Load() < int64(oursFresh) {
		return nil
	}
	return f.Ours()
}
