package disk

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"inboxd/internal/base/fault"
)

const (
	// fullRetry is the interval at which a write to a full disk is retried.
	fullRetry = 100 * time.Millisecond
	// fullQuiet keeps the guard closed after the last refused write, whatever free space the disk
	// reports: a quota does not show there.
	fullQuiet = time.Second
	mib       = 1 << 20
)

// spaceSizes returns the sizes of the memtable, the reserve and the ballast for a disk of total bytes
// (0: unknown). The ballast is freed when the guard closes and has room for the flush of one
// memtable. The reserve has room for the memtables that fill until the guard has closed.
func spaceSizes(total uint64) (memtable, reserve, ballast uint64) {
	memtable = 8 * mib
	if total > 0 {
		memtable = min(max(total/16, 4*mib), 8*mib)
	}
	reserve = max(min(256*mib, total/10), 2*memtable)
	return memtable, reserve, memtable
}

// SpaceGuard refuses writes that add data while the disk is nearly full, so that reads, removals
// and the flushes of acknowledged data continue. It closes by measurement and by ENOSPC, and opens
// by itself. Any goroutine may use it.
type SpaceGuard struct {
	readFree      func() (free, total uint64, err error)
	reservedBytes uint64
	ballastBytes  uint64
	fs            vfs.FS
	ballastPath   string // of the ballast file
	log           *StoreLogger

	stopCh   chan struct{} // closed to abandon writes that wait for space
	stopOnce sync.Once

	// isOpening limits the wait of a write while the store is not open yet: a start on a full disk
	// must end with an error.
	isOpening    atomic.Bool
	isClosed     atomic.Bool
	closureCount atomic.Uint64
	freeRoom     atomic.Int64  // free bytes at the last measurement, minus what was admitted since
	totalBytes   atomic.Uint64 // 0: the file system does not report it, and only ENOSPC closes the guard
	lastFull     atomic.Int64  // Unix nanoseconds of the last ENOSPC

	mu          sync.Mutex // guards held, and serializes closing and opening
	ballastHeld bool       // the ballast file exists
}

// newSpaceGuard measures the disk before the engine opens. On a full disk it removes the ballast of
// the previous run to have space for the start.
func newSpaceGuard(f *DataFolder, o *Options) *SpaceGuard {
	g := &SpaceGuard{
		readFree: o.FreeSpace, reservedBytes: o.ReserveBytes, ballastBytes: o.BallastBytes,
		fs: f.FS, ballastPath: f.FilePath(BallastName), log: f.Log, stopCh: make(chan struct{}),
	}
	g.isOpening.Store(true)
	_ = g.fs.Remove(g.ballastPath)
	g.isClosed.Store(true)
	g.MeasureDisk()
	if g.isClosed.Load() && g.totalBytes.Load() > 0 {
		g.closureCount.Add(1)
		g.sayFull("at the start")
	}
	return g
}

func (g *SpaceGuard) sayFull(why string) {
	g.log.LogThrottled(slog.LevelWarn, "storage full: new data is refused", "why", why, "free", g.freeRoom.Load(), "reserve", g.reservedBytes)
}

// FullFault returns the error of a refused write.
func FullFault(err error) error {
	return fault.Wrap(fault.StorageFull, "The storage is full. Reading and deleting work; writing works again once space is freed", err)
}

// IsFull reports whether err means a full disk or an exhausted quota.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// AdmitBytes accounts for n more bytes, or returns StorageFull at once.
func (g *SpaceGuard) AdmitBytes(n int64) error {
	if g.isClosed.Load() {
		return FullFault(nil)
	}
	if g.totalBytes.Load() == 0 {
		return nil
	}
	if g.freeRoom.Add(-n) < int64(g.reservedBytes) {
		g.freeRoom.Add(n)
		g.closureCount.Add(1)
		g.sayFull("the remaining space is too small for this write")
		return FullFault(nil)
	}
	return nil
}

// IsFull reports whether new data are refused.
func (g *SpaceGuard) IsFull() bool { return g.isClosed.Load() }

// LastMeasured returns the last measurement of the disk, 0 if the file system does not report it. It
// also returns how often the guard closed, or refused a write that was too large for the rest.
func (g *SpaceGuard) LastMeasured() (free, total, closures uint64) {
	return uint64(max(0, g.freeRoom.Load())), g.totalBytes.Load(), g.closureCount.Load()
}

// hasRoom reports whether n more bytes would leave the reserve intact.
func (g *SpaceGuard) hasRoom(n uint64) bool {
	free, total, _ := g.LastMeasured()
	return !g.IsFull() && (total == 0 || free >= g.reservedBytes+n)
}

// NoteFull records that the disk refused a write because it is full.
func (g *SpaceGuard) NoteFull() {
	g.lastFull.Store(time.Now().UnixNano())
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refuseWrites("the disk refused a write")
}

// MeasureDisk measures the disk and closes or opens the guard.
func (g *SpaceGuard) MeasureDisk() {
	free, total, err := g.readFree()
	if err != nil {
		if !errors.Is(err, vfs.ErrUnsupported) {
			g.log.LogThrottled(slog.LevelError, "storage: free space unknown", "err", err)
		}
		free, total = 0, 0
	}
	g.freeRoom.Store(int64(min(free, 1<<62)))
	g.totalBytes.Store(total)
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.isClosed.Load() {
		if total > 0 && free < g.reservedBytes {
			g.refuseWrites("free space is below the reserve")
		}
		return
	}
	if time.Since(time.Unix(0, g.lastFull.Load())) < fullQuiet {
		return
	}
	need := g.reservedBytes + g.reservedBytes/4
	if !g.ballastHeld {
		need += g.ballastBytes
	}
	if total > 0 && free < need {
		return
	}
	g.admitWrites()
}

// refuseWrites frees the ballast. The caller holds mu.
func (g *SpaceGuard) refuseWrites(why string) {
	if !g.isClosed.Swap(true) {
		g.closureCount.Add(1)
		g.sayFull(why)
	}
	if g.ballastHeld {
		g.ballastHeld = false
		if err := g.fs.Remove(g.ballastPath); err != nil {
			g.log.LogThrottled(slog.LevelError, "storage: ballast not removed", "err", err)
		}
	}
}

// admitWrites recreates the ballast first: without space for it the guard stays closed. Any other error
// with it must not refuse messages on a disk that has space. The caller holds mu.
func (g *SpaceGuard) admitWrites() {
	if !g.ballastHeld {
		err := g.createBallast()
		if err != nil {
			_ = g.fs.Remove(g.ballastPath)
			g.log.LogThrottled(slog.LevelWarn, "storage: ballast not created", "err", err)
		}
		if IsFull(err) {
			return
		}
		g.ballastHeld = err == nil
	}
	if g.isClosed.Swap(false) && g.closureCount.Load() > 0 {
		g.log.LogThrottled(slog.LevelWarn, "storage has space again: new data is accepted", "free", g.freeRoom.Load())
	}
}

// createBallast creates the ballast file. If the file system cannot preallocate, it writes the file.
func (g *SpaceGuard) createBallast() error {
	f, err := g.fs.Create(g.ballastPath, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	if err = f.Preallocate(0, int64(g.ballastBytes)); err != nil && !IsFull(err) {
		err = nil
		zero := make([]byte, mib)
		for n := uint64(0); n < g.ballastBytes && err == nil; n += mib {
			_, err = f.Write(zero)
		}
	}
	return errors.Join(err, f.Close())
}

// waitForSpace repeats op while the disk is full, the folder is away or no file descriptors are
// left: until op succeeds, or for about a second if brief. It does not log a full disk again.
func (g *SpaceGuard) waitForSpace(brief bool, op func() error) error {
	begun := time.Now()
	for {
		err := op()
		switch {
		case IsFull(err):
			g.NoteFull()
		case errors.Is(err, errAway):
		case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
			g.log.LogThrottled(slog.LevelError, "storage: waiting for a file descriptor", "err", err)
		default:
			return err
		}
		if (brief || g.isOpening.Load()) && time.Since(begun) > time.Second {
			return err
		}
		select {
		case <-g.stopCh:
			return err
		case <-time.After(fullRetry):
		}
	}
}

// GiveUp ends every wait for space.
func (g *SpaceGuard) GiveUp() { g.stopOnce.Do(func() { close(g.stopCh) }) }
