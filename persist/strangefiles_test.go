package persist

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"inboxd/internal/base/fault"
	"inboxd/persist/disk"
)

// realStore is a store on the real disk with a message in a blob, a key file and a table.
func realStore(t *testing.T) *Store {
	t.Helper()
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o700))
	s := must1(Open(filepath.Join(dir, "data"), options(nil)))(t)
	must(t, s.CommitInbox(mail(victim, 1, bulky)))
	must1(s.EncryptSecret("x", []byte("y")))(t)
	must(t, s.db.Flush())
	return s
}

// TestStrangeFiles replaces each file of the data folder by a named pipe, a socket, a device or a
// folder. A check and a start end, and name the file.
func TestStrangeFiles(t *testing.T) {
	s := realStore(t)
	closeStore(t, s)
	dir := s.folder.Dir
	var names []string
	for _, pattern := range []string{"*", "db/*", "blobs/*"} {
		names = append(names, must1(filepath.Glob(filepath.Join(dir, pattern)))(t)...)
	}
	strange := map[string]func(path string) error{
		"a named pipe": func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a socket": func(path string) error {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
			if err == nil {
				l.SetUnlinkOnClose(false)
				err = l.Close()
			}
			return err
		},
		"a device": func(path string) error { return os.Symlink("/dev/zero", path) },
		"a link to a pipe": func(path string) error {
			return errors.Join(syscall.Mkfifo(path+"-pipe", 0o600), os.Symlink(path+"-pipe", path))
		},
		"a folder": func(path string) error { return os.Mkdir(path, 0o700) },
	}
	for what, put := range strange {
		for _, path := range names {
			kept := filepath.Join(filepath.Dir(dir), "kept")
			if os.Rename(path, kept) != nil {
				continue // a start consumed it
			}
			must(t, put(path))
			ends(t, what+" at "+path, func() {
				reported := false
				_, err := CheckFolder(dir, options(nil), func(problem string) { reported = true })
				// A start creates these again, or does not read them: they may be missing.
				replaced := strings.Contains("LOCK high-water spare.log ballast", filepath.Base(path)) || strings.Contains(path, "OPTIONS") || strings.HasSuffix(path, ".log")
				if !reported && err == nil && !replaced && what != "a folder" {
					t.Errorf("a check says nothing of %s at %s", what, path)
				}
				if s, err := Open(dir, options(nil)); err == nil {
					_, _ = s.ReadRaw(victim, 1)
					closeStore(t, s)
				}
			})
			must(t, errors.Join(os.RemoveAll(path), os.RemoveAll(path+"-pipe")))
			must(t, os.Rename(kept, path))
		}
	}
}

func ends(t *testing.T, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s: no end", what)
	}
}

// raceFS lets another user create the folder of a copy at the last moment.
type raceFS struct {
	vfs.FS
	race func(path string)
}

func (f raceFS) Stat(name string) (vfs.FileInfo, error) {
	info, err := f.FS.Stat(name)
	f.race(name)
	return info, err
}

func (f raceFS) Link(from, to string) error {
	f.race(to)
	return f.FS.Link(from, to)
}

func (f raceFS) Unwrap() vfs.FS { return f.FS }

// TestABackupMakesItsFolder checks that a backup or a repaired copy writes nothing to a place that
// somebody else created meanwhile, and removes nothing of it.
func TestABackupMakesItsFolder(t *testing.T) {
	for what, put := range map[string]func(path string) error{
		"a folder":              func(path string) error { return os.Mkdir(path, 0o777) },
		"a link":                func(path string) error { return os.Symlink(t.TempDir(), path) },
		"a link that dangles":   func(path string) error { return os.Symlink("/nowhere/at/all", path) },
		"a file":                func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"a folder in the place": nil,
	} {
		s := realStore(t)
		to := filepath.Join(filepath.Dir(s.folder.Dir), "copy")
		raced := false
		s.folder.FS = raceFS{s.folder.FS, func(path string) {
			switch {
			case raced:
			case put == nil && strings.HasPrefix(path, to+"/"):
				raced = true
				must(t, os.Rename(to, to+"-away"))
				must(t, os.Mkdir(to, 0o777))
				must(t, os.Chmod(to, 0o777))
			case put != nil && path == filepath.Dir(to):
				raced = true
				must(t, put(to))
			}
		}}
		err := s.BackupTo(context.Background(), to)
		if !raced || fault.KindOf(err) == fault.Internal {
			t.Errorf("%s: raced %v, %v", what, raced, err)
		}
		if _, err := os.Lstat(to); err != nil {
			t.Errorf("%s was removed: %v", what, err)
		}
		if _, err := os.Stat(filepath.Join(to, disk.FormatName)); err == nil {
			t.Errorf("%s is a backup now", what)
		}
		closeStore(t, s)
	}
}
