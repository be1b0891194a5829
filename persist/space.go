package persist

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"inboxd/internal/fault"
)

const (
	gateTick = 50 * time.Millisecond
	// fullRetry is the step in which a write to a full disk is tried again.
	fullRetry = 100 * time.Millisecond
	// fullQuiet keeps the gate closed after the last refused write, whatever the disk says
	// of its free space: a quota is not seen there.
	fullQuiet = time.Second
	mib       = 1 << 20
)

// sizes gives the memtable, the space kept free and the ballast for a disk of total bytes
// (0: unknown). The ballast, given up when the gate closes, holds what one memtable needs
// to be flushed; the reserve holds the memtables that fill until the gate has closed.
func sizes(total uint64) (memtable, reserve, ballast uint64) {
	memtable = 8 * mib
	if total > 0 {
		memtable = min(max(total/16, 4*mib), 8*mib)
	}
	reserve = max(min(256*mib, total/10), 2*memtable)
	return memtable, reserve, memtable
}

// gate refuses what adds bytes while the disk is nearly full, so that reads, removals and
// the flushes of what was acknowledged go on. It closes by measurement and by ENOSPC, and
// opens by itself.
type gate struct {
	free     func() (free, total uint64, err error)
	reserve  uint64
	ballast  uint64
	fs       vfs.FS
	path     string // of the ballast file
	report   *reporter
	stop     chan struct{} // closed to give up writes that wait for space
	stopOnce sync.Once

	// opening bounds the wait of a write while the store is not open yet: a start on a
	// full disk must end with a sentence.
	opening  atomic.Bool
	closed   atomic.Bool
	closures atomic.Uint64
	room     atomic.Int64  // free bytes at the last look less what was admitted since
	total    atomic.Uint64 // 0: the file system can't tell, and only ENOSPC closes
	lastFull atomic.Int64  // Unix nanoseconds of the last ENOSPC

	mu   sync.Mutex // over closing, opening and the ballast file
	held bool       // the ballast file is there
}

// fullFault is what a refused write answers.
func fullFault(err error) error {
	return fault.Wrap(fault.StorageFull, "The storage is full. Reading and deleting still work; storing does again once space is freed", err)
}

// isFull recognises a full disk and an exhausted quota.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// admit lets n more bytes in, or answers StorageFull at once.
func (g *gate) admit(n int64) error {
	if g.closed.Load() {
		return fullFault(nil)
	}
	if g.total.Load() == 0 {
		return nil
	}
	if g.room.Add(-n) < int64(g.reserve) {
		g.room.Add(n)
		return fullFault(nil)
	}
	return nil
}

// hit notes that the disk refused a write for want of space.
func (g *gate) hit() {
	g.lastFull.Store(time.Now().UnixNano())
	g.mu.Lock()
	defer g.mu.Unlock()
	g.close("the disk refused a write")
}

// look measures the disk and moves the gate.
func (g *gate) look() {
	free, total, err := g.free()
	if err != nil {
		if !errors.Is(err, vfs.ErrUnsupported) {
			g.report.seldom(slog.LevelError, "storage: free space unknown", "err", err)
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

// close gives up the ballast. The caller holds mu.
func (g *gate) close(why string) {
	if !g.closed.Swap(true) {
		g.closures.Add(1)
		g.report.seldom(slog.LevelWarn, "storage full: new data are refused", "why", why, "free", g.room.Load(), "reserve", g.reserve)
	}
	if g.held {
		g.held = false
		if err := g.fs.Remove(g.path); err != nil {
			g.report.seldom(slog.LevelError, "storage: ballast not removed", "err", err)
		}
	}
}

// open takes the ballast back first: with no room for it the gate stays closed. Any other
// trouble with it must not refuse mail on a disk that has space. The caller holds mu.
func (g *gate) open() {
	if !g.held {
		err := g.fill()
		if err != nil {
			_ = g.fs.Remove(g.path)
			g.report.seldom(slog.LevelWarn, "storage: ballast not made", "err", err)
		}
		if isFull(err) {
			return
		}
		g.held = err == nil
	}
	if g.closed.Swap(false) && g.closures.Load() > 0 {
		g.report.seldom(slog.LevelWarn, "storage has space again: new data are accepted", "free", g.room.Load())
	}
}

// fill makes the ballast file. Where the file system can't preallocate, it is written.
func (g *gate) fill() error {
	f, err := g.fs.Create(g.path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	if err = f.Preallocate(0, int64(g.ballast)); err != nil && !isFull(err) {
		err = nil
		zero := make([]byte, mib)
		for n := uint64(0); n < g.ballast && err == nil; n += mib {
			_, err = f.Write(zero)
		}
	}
	return errors.Join(err, f.Close())
}

// watch runs until stop.
func (g *gate) watch(stop <-chan struct{}) {
	t := time.NewTicker(gateTick)
	defer t.Stop()
	for {
		select {
		case <-stop:
			return
		case <-t.C:
			g.look()
		}
	}
}

// insist repeats op while the disk is full or descriptors have run out: until there is
// room when patient, else for about a second. What waits here waits in silence; it has been
// said once.
func (g *gate) insist(patient bool, op func() error) error {
	begun := time.Now()
	for {
		err := op()
		switch {
		case isFull(err):
			g.hit()
		case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
			g.report.seldom(slog.LevelError, "storage: waiting for a file descriptor", "err", err)
		default:
			return err
		}
		if (!patient || g.opening.Load()) && time.Since(begun) > time.Second {
			return err
		}
		select {
		case <-g.stop:
			return err
		case <-time.After(fullRetry):
		}
	}
}

// giveUp ends every wait for space.
func (g *gate) giveUp() { g.stopOnce.Do(func() { close(g.stop) }) }

// start measures the disk before the engine opens: on a full one the ballast of the
// previous run is its room to start in.
func (g *gate) start() {
	g.opening.Store(true)
	_ = g.fs.Remove(g.path)
	g.closed.Store(true)
	g.look()
	if g.closed.Load() && g.total.Load() > 0 {
		g.closures.Add(1)
		g.report.seldom(slog.LevelWarn, "storage full: new data are refused", "why", "at the start", "free", g.room.Load(), "reserve", g.reserve)
	}
}
