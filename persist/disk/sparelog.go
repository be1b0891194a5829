package disk

import (
	"errors"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// spareLog prepares a file of zeros, as large as a whole log, that becomes the engine's next log.
// An fsync after overwriting existing bytes takes about half as long as one after an append, which
// must also store the new size. The engine reuses its own old logs for that reason, but has none
// after a start. A reader takes zeros after the last record for the end of the log, like the rest
// of a reused log.
//
// It is only an optimization: without a spare, because of a lack of space or an error, logs are
// appended to.
type spareLog struct {
	folder    *DataFolder
	logSize   uint64
	isReady   atomic.Bool
	spareUsed chan struct{} // buffered with one place: a spare was used
	zeroPiece []byte        // one piece, allocated for the first spare; used by open, then by keep's goroutine
}

const (
	spareName  = "spare.log"
	sparePiece = mib
	// sparePace is the pause after each piece that is written while messages arrive.
	sparePace = 5 * time.Millisecond
)

func newSpareLog(f *DataFolder, size uint64) *spareLog {
	return &spareLog{folder: f, logSize: size, spareUsed: make(chan struct{}, 1)}
}

// openSpare adopts the spare of an earlier run or creates one immediately.
func (s *spareLog) openSpare() {
	if info, err := s.folder.FS.Stat(s.sparePath()); err == nil && uint64(info.Size()) == s.logSize {
		s.isReady.Store(true)
		return
	}
	s.createSpare(nil, 0)
}

func (s *spareLog) sparePath() string { return s.folder.FilePath(spareName) }

// keepReady creates a new spare whenever one was used, until stop is closed.
func (s *spareLog) keepReady(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-s.spareUsed:
			s.createSpare(stop, sparePace)
		}
	}
}

func (s *spareLog) createSpare(stop <-chan struct{}, pace time.Duration) {
	if !s.folder.SpaceGuard.hasRoom(2 * s.logSize) {
		return
	}
	temp := s.sparePath() + ".tmp"
	err := s.writeZeros(temp, stop, pace)
	if err == nil {
		err = s.folder.FS.Rename(temp, s.sparePath())
	}
	if err == nil {
		err = SyncFolder(s.folder.FS, s.folder.Dir)
	}
	if err != nil {
		_ = s.folder.FS.Remove(temp)
		if !errors.Is(err, os.ErrClosed) {
			s.folder.Log.LogThrottled(slog.LevelWarn, "storage: spare log not created", "err", err)
		}
		return
	}
	s.isReady.Store(true)
}

// writeZeros syncs piece by piece, so that it never delays a commit for long.
func (s *spareLog) writeZeros(path string, stop <-chan struct{}, pace time.Duration) error {
	f, err := s.folder.FS.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	if s.zeroPiece == nil {
		s.zeroPiece = make([]byte, sparePiece)
	}
	for n := uint64(0); n < s.logSize && err == nil; n += sparePiece {
		clear(s.zeroPiece) // a writer may have changed them
		if _, err = f.Write(s.zeroPiece[:min(sparePiece, s.logSize-n)]); err == nil && pace > 0 {
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

// takeSpare makes the spare the log of this name; it returns nil without a spare. A crash after the
// rename leaves a log of zeros, which is empty, or no log. The folder is synced before anything is
// written: otherwise the file could reappear as a spare that is also a log.
func (s *spareLog) takeSpare(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if !s.isReady.Swap(false) {
		return nil, nil
	}
	if err := s.folder.FS.Rename(s.sparePath(), name); err != nil {
		return nil, err
	}
	select {
	case s.spareUsed <- struct{}{}:
	default:
	}
	if err := SyncFolder(s.folder.FS, s.folder.Dir); err != nil {
		return nil, err
	}
	return s.folder.FS.OpenReadWrite(name, c)
}
