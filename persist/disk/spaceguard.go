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
	lookEvery = 50 * time.Millisecond
	// fullRetry is the interval at which a write to a full disk is retried.
	fullRetry = 100 * time.Millisecond
	// fullQuiet keeps the guard closed after the last refused write, whatever free space the disk
	// reports: a quota does not show there.
	fullQuiet = time.Second
	mib       = 1 << 20
)

// sizes returns the sizes of the memtable, the reserve and the ballast for a disk of total bytes
// (0: unknown). The ballast is freed when the guard closes and has room for the flush of one
// memtable. The reserve has room for the memtables that fill until the guard has closed.
func sizes(total uint64) (memtable, reserve, ballast uint64) {
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
	free    func() (free, total uint64, err error)
	reserve uint64
	ballast uint64
	fs      vfs.FS
	path    string // of the ballast file
	log     *Logger

	stop     chan struct{} // closed to abandon writes that wait for space
	stopOnce sync.Once

	// opening limits the wait of a write while the store is not open yet: a start on a full disk
	// must end with an error.
	opening  atomic.Bool
	closed   atomic.Bool
	closures atomic.Uint64
	room     atomic.Int64  // free bytes at the last measurement, minus what was admitted since
	total    atomic.Uint64 // 0: the file system does not report it, and only ENOSPC closes the guard
	lastFull atomic.Int64  // Unix nanoseconds of the last ENOSPC

	mu   sync.Mutex // guards held, and serializes closing and opening
	held bool       // the ballast file exists
}

// newSpaceGuard measures the disk before the engine opens. On a full disk it removes the ballast of
// the previous run to have space for the start.
func newSpaceGuard(f *Folder, o *Options) *SpaceGuard {
	g := &SpaceGuard{
		free: o.FreeSpace, reserve: o.ReserveBytes, ballast: o.BallastBytes,
		fs: f.FS, path: f.Path(BallastName), log: f.Log, stop: make(chan struct{}),
	}
	g.opening.Store(true)
	_ = g.fs.Remove(g.path)
	g.closed.Store(true)
	g.Look()
	if g.closed.Load() && g.total.Load() > 0 {
		g.closures.Add(1)
		g.sayFull("at the start")
	}
	return g
}

func (g *SpaceGuard) sayFull(why string) {
	g.log.Seldom(slog.LevelWarn, "storage full: new data is refused", "why", why, "free", g.room.Load(), "reserve", g.reserve)
}

// FullFault returns the error of a refused write.
func FullFault(err error) error {
	return fault.Wrap(fault.StorageFull, "The storage is full. Reading and deleting work; writing works again once space is freed", err)
}

// IsFull reports whether err means a full disk or an exhausted quota.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// Admit accounts for n more bytes, or returns StorageFull at once.
func (g *SpaceGuard) Admit(n int64) error {
	if g.closed.Load() {
		return FullFault(nil)
	}
	if g.total.Load() == 0 {
		return nil
	}
	if g.room.Add(-n) < int64(g.reserve) {
		g.room.Add(n)
		g.closures.Add(1)
		g.sayFull("the remaining space is too small for this write")
		return FullFault(nil)
	}
	return nil
}

// Full reports whether new data are refused.
func (g *SpaceGuard) Full() bool { return g.closed.Load() }

// Measured returns the last measurement of the disk, 0 if the file system does not report it. It
// also returns how often the guard closed, or refused a write that was too large for the rest.
func (g *SpaceGuard) Measured() (free, total, closures uint64) {
	return uint64(max(0, g.room.Load())), g.total.Load(), g.closures.Load()
}

// hasRoom reports whether n more bytes would leave the reserve intact.
func (g *SpaceGuard) hasRoom(n uint64) bool {
	free, total, _ := g.Measured()
	return !g.Full() && (total == 0 || free >= g.reserve+n)
}

// Hit records that the disk refused a write because it is full.
func (g *SpaceGuard) Hit() {
	g.lastFull.Store(time.Now().UnixNano())
	g.mu.Lock()
	defer g.mu.Unlock()
	g.close("the disk refused a write")
}

// Look measures the disk and closes or opens the guard.
func (g *SpaceGuard) Look() {
	free, total, err := g.free()
	if err != nil {
		if !errors.Is(err, vfs.ErrUnsupported) {
			g.log.Seldom(slog.LevelError, "storage: free space unknown", "err", err)
		}
		free, total = 0, 0
	}
	g.room.Store(int64(min(free, 1<<62)))
	g.total.Store(total)
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed.Load() {
		if total > 0 && free < g.reserve {
			g.close("free space is below the reserve")
		}
		return
	}
	if time.Since(time.Unix(0, g.lastFull.Load())) < fullQuiet {
		return
	}
	need := g.reserve + g.reserve/4
	if !g.held {
		need += g.ballast
	}
	if total > 0 && free < need {
		return
	}
	g.open()
}

// close frees the ballast. The caller holds mu.
func (g *SpaceGuard) close(why string) {
	if !g.closed.Swap(true) {
		g.closures.Add(1)
		g.sayFull(why)
	}
	if g.held {
		g.held = false
		if err := g.fs.Remove(g.path); err != nil {
			g.log.Seldom(slog.LevelError, "storage: ballast not removed", "err", err)
		}
	}
}

// open recreates the ballast first: without space for it the guard stays closed. Any other error
// with it must not refuse messages on a disk that has space. The caller holds mu.
func (g *SpaceGuard) open() {
	if !g.held {
		err := g.fill()
		if err != nil {
			_ = g.fs.Remove(g.path)
			g.log.Seldom(slog.LevelWarn, "storage: ballast not created", "err", err)
		}
		if IsFull(err) {
			return
		}
		g.held = err == nil
	}
	if g.closed.Swap(false) && g.closures.Load() > 0 {
		g.log.Seldom(slog.LevelWarn, "storage has space again: new data is accepted", "free", g.room.Load())
	}
}

// fill creates the ballast file. If the file system cannot preallocate, it writes the file.
func (g *SpaceGuard) fill() error {
	f, err := g.fs.Create(g.path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	if err = f.Preallocate(0, int64(g.ballast)); err != nil && !IsFull(err) {
		err = nil
		zero := make([]byte, mib)
		for n := uint64(0); n < g.ballast && err == nil; n += mib {
			_, err = f.Write(zero)
		}
	}
	return errors.Join(err, f.Close())
}

// watch measures the disk every lookEvery until stop is closed.
func (g *SpaceGuard) watch(stop <-chan struct{}) {
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	for {
		select {
		case <-stop:
			return
		case <-t.C:
			g.Look()
		}
	}
}

// wait repeats op while the disk is full, the folder is away or no file descriptors are left: until
// op succeeds, or for about a second if brief. It does not log a full disk again.
func (g *SpaceGuard) wait(brief bool, op func() error) error {
	begun := time.Now()
	for {
		err := op()
		switch {
		case IsFull(err):
			g.Hit()
		case errors.Is(err, errAway):
		case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
			g.log.Seldom(slog.LevelError, "storage: waiting for a file descriptor", "err", err)
		default:
			return err
		}
		if (brief || g.opening.Load()) && time.Since(begun) > time.Second {
			return err
		}
		select {
		case <-g.stop:
			return err
		case <-time.After(fullRetry):
		}
	}
}

// GiveUp ends every wait for space.
func (g *SpaceGuard) GiveUp() { g.stopOnce.Do(func() { close(g.stop) }) }
