package disk

import (
	"errors"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// spareLog keeps a file of zeros, as large as a whole log, ready to become the engine's
// next log. Syncing what is written over existing bytes takes about half as long as syncing
// an append, which must put the file's new size on disk too; the engine overwrites its own
// old logs for that reason, but has none after a start. Zeros behind the last record are
// the end of the log to its reader, like the rests of an old one.
//
// It is only ever a gain: without a spare, for want of space or by an error, logs are
// appended to.
type spareLog struct {
	folder *Folder
	size   uint64
	ready  atomic.Bool
	used   chan struct{} // one place: a spare was used
	zeros  []byte        // one piece, made for the first spare; open has it, then keep's goroutine
}

const (
	spareName  = "spare.log"
	sparePiece = mib
	// sparePace is the rest after each piece that is written while mail comes in.
	sparePace = 5 * time.Millisecond
)

func newSpareLog(f *Folder, size uint64) *spareLog {
	return &spareLog{folder: f, size: size, used: make(chan struct{}, 1)}
}

// open takes over the spare of an earlier run or makes one, at once.
func (s *spareLog) open() {
	if info, err := s.folder.FS.Stat(s.path()); err == nil && uint64(info.Size()) == s.size {
		s.ready.Store(true)
		return
	}
	s.make(nil, 0)
}

func (s *spareLog) path() string { return s.folder.Path(spareName) }

// keep makes a new spare whenever one was used, until stop.
func (s *spareLog) keep(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-s.used:
			s.make(stop, sparePace)
		}
	}
}

func (s *spareLog) make(stop <-chan struct{}, pace time.Duration) {
	if !s.folder.Space.hasRoom(2 * s.size) {
		return
	}
	temp := s.path() + ".tmp"
	err := s.write(temp, stop, pace)
	if err == nil {
		err = s.folder.FS.Rename(temp, s.path())
	}
	if err == nil {
		err = SyncFolder(s.folder.FS, s.folder.Dir)
	}
	if err != nil {
		_ = s.folder.FS.Remove(temp)
		if !errors.Is(err, os.ErrClosed) {
			s.folder.Log.Seldom(slog.LevelWarn, "storage: spare log not created", "err", err)
		}
		return
	}
	s.ready.Store(true)
}

// write syncs piece by piece, so that it never stands in a commit's way for long.
func (s *spareLog) write(path string, stop <-chan struct{}, pace time.Duration) error {
	f, err := s.folder.FS.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	if s.zeros == nil {
		s.zeros = make([]byte, sparePiece)
	}
	for n := uint64(0); n < s.size && err == nil; n += sparePiece {
		clear(s.zeros) // whoever writes them may spoil them
		if _, err = f.Write(s.zeros[:min(sparePiece, s.size-n)]); err == nil && pace > 0 {
			err = f.SyncData()
		}
		select {
		case <-stop:
			err = os.ErrClosed
		case <-time.After(pace):
		}
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// become makes the spare the log of this name; nil when there is none. A crash after the
// rename leaves a log of zeros, which is empty, or none. The folder is synced before
// anything is written: the file must not come back as a spare that is also a log.
func (s *spareLog) become(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if !s.ready.Swap(false) {
		return nil, nil
	}
	if err := s.folder.FS.Rename(s.path(), name); err != nil {
		return nil, err
	}
	select {
	case s.used <- struct{}{}:
	default:
	}
	if err := SyncFolder(s.folder.FS, s.folder.Dir); err != nil {
		return nil, err
	}
	return s.folder.FS.OpenReadWrite(name, c)
}
