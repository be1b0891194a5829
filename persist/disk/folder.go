// Package disk manages the files of a data folder: its lock, its format, the high-water mark of
// durable commits, the reserved free space and the spare log. It also provides the file system
// under the engine, which waits for space instead of failing. It knows files and bytes. It does not
// know rows.
package disk

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"inboxd/internal/base/partition"
)

// Options are the settings of a data folder and its engine. The zero value works.
type Options struct {
	FS     vfs.FS                    // nil: the real disk
	Logger *slog.Logger              // nil: slog.Default
	Now    func() time.Time          // nil: time.Now
	Owner  *partition.OwnershipState // whose rows the engine serves; nil: all

	CacheBytes    int64  // blocks and memtables; 0: 40 MiB
	MemTableBytes uint64 // also the size of a log; 0: a sixteenth of the disk, 4 to 8 MiB
	ReserveBytes  uint64 // free space in bytes below which new data are refused; 0: see sizes
	BallastBytes  uint64 // freed when the disk is full, in bytes; 0: as MemTableBytes

	// FreeSpace measures the disk; nil asks FS.
	FreeSpace func() (free, total uint64, err error)
	// ExitProcess ends the process if the disk failed and the outcome on disk is ambiguous. It must not
	// return; nil: os.Exit. For tests.
	ExitProcess func(code int)
	// DisableTimers disables everything that runs only by the clock: the disk is measured only at the
	// start, compactions start only with commits, and no spare log is made. For tests with a fake
	// clock.
	DisableTimers bool
}

func (o *Options) setDefaults(dir string) {
	if o.FS == nil {
		o.FS = RealFS
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.ExitProcess == nil {
		o.ExitProcess = os.Exit
	}
	if o.FreeSpace == nil {
		fs := o.FS
		o.FreeSpace = func() (uint64, uint64, error) {
			u, err := fs.GetDiskUsage(dir)
			return u.AvailBytes, u.TotalBytes, err
		}
	}
	o.Logger = cmp.Or(o.Logger, slog.Default())
	o.CacheBytes = cmp.Or(o.CacheBytes, 40*mib)
}

// fitSizes sizes the unset options by the size of the disk.
func (o *Options) fitSizes() {
	_, total, err := o.FreeSpace()
	if err != nil {
		total = 0
	}
	memtable, reserve, ballast := spaceSizes(total)
	o.MemTableBytes = cmp.Or(o.MemTableBytes, memtable)
	o.ReserveBytes = cmp.Or(o.ReserveBytes, reserve)
	o.BallastBytes = cmp.Or(o.BallastBytes, ballast)
}

// DataFolder is a data folder that this process has locked. Any goroutine may use it: only away, ours
// and manifest change once the engine is open.
type DataFolder struct {
	Dir        string
	FS         vfs.FS // does not wait for space
	Log        *StoreLogger
	SpaceGuard *SpaceGuard
	Commits    *HighWater
	WriteProbe *WriteProbe
	DamageLog  *DamageLog

	openedAt time.Time
	// witnesses are files that are at their path as long as the folder is. Work adds to them while
	// the engine's compactions may already check the folder, so knowing guards them.
	witnesses        []pathWitness
	witnessMu        sync.RWMutex
	isAway           atomic.Bool  // the folder is not at its path; CheckIdentity sets it
	lastSeenAt       atomic.Int64 // nanoseconds after opened: when the folder was last found at its path
	spareLog         *spareLog
	deferredRemovals deferredRemovals
	// missingFiles are the paths of missing files that the engine is shown anyway: value files, and
	// files that a folder opened for reading has lost. It does not change once the engine is open.
	missingFiles []string
	// tableErrors are the errors of opening missing or truncated tables in a folder opened for reading.
	// It does not change once the engine is open.
	tableErrors map[string]error
	// manifestEnd is how far the engine's manifest is durable; nil: none was written yet.
	manifestEnd atomic.Pointer[manifestEnd]
	// rewritingFile is the value file that is being rewritten, or was rewritten last.
	rewritingFile atomic.Pointer[string]

	lookIsDue atomic.Bool   // a commit began since the last look of watchDisk
	lookSoon  chan struct{} // lookIsDue was set; has room for it

	folderLock io.Closer
	noTimers   bool
	// isReadOnly means that nothing is written: damage is reported by its reader, and the rest is
	// read.
	isReadOnly bool
	minimumID  int64          // see MinimumID; as Open found it
	stopCh     chan struct{}  // closed by Rest
	tasksDone  sync.WaitGroup // started by StartWork, ended by stop
}

// OpenFolder locks the folder dir, creates it if it is new, and checks its format. It sets the
// sizes that o leaves unset. Errors are sentences for the operator.
func OpenFolder(dir string, o *Options) (*DataFolder, error) {
	o.setDefaults(dir)
	f, err := takeFolder(dir, o, lockFolder)
	if err == nil {
		err = f.checkDatabase()
	}
	if err == nil {
		err = f.raiseMinimumID(o.Now())
	}
	if err != nil {
		return nil, errors.Join(err, f.releaseLock())
	}
	o.fitSizes()
	f.SpaceGuard = newSpaceGuard(f, o)
	if f.spareLog = newSpareLog(f, o.MemTableBytes); !o.DisableTimers {
		f.spareLog.openSpare()
	}
	return f, nil
}

// takeFolder locks the folder and reads its own files. It returns the folder also with an error, so
// that the caller can unlock it.
func takeFolder(dir string, o *Options, lock func(fs vfs.FS, dir string) (io.Closer, error)) (f *DataFolder, err error) {
	f = &DataFolder{
		Dir: dir, FS: o.FS, noTimers: o.DisableTimers, stopCh: make(chan struct{}), lookSoon: make(chan struct{}, 1), openedAt: time.Now(),
		Log: &StoreLogger{slogOut: o.Logger, now: o.Now, exitProcess: o.ExitProcess, lastLines: map[string]*skippedLines{}},
	}
	f.DamageLog = &DamageLog{log: f.Log, damagedFiles: map[string]struct{}{}}
	f.WriteProbe = &WriteProbe{log: f.Log, begunAt: time.Now()}
	f.lastSeenAt.Store(beforeAll)
	if f.folderLock, err = lock(o.FS, dir); err != nil {
		return f, UnusableFolder{err}
	}
	known := f.FilePath(lockName)
	if f.folderLock == (noLock{}) {
		known = dir
	}
	if err = f.addWitness(known); err == nil {
		err = checkFormat(f.FS, f.Dir)
	}
	if err == nil {
		f.Commits, err = readHighWater(f, o.Now)
	}
	return f, err
}

func (f *DataFolder) releaseLock() error {
	if f.folderLock == nil {
		return nil
	}
	return f.folderLock.Close()
}

// UnusableFolder is the reason why a folder cannot be examined, even if it is intact: it is not a data
// folder, another process has locked it, or its format is unsupported.
type UnusableFolder struct{ Err error }

// Error implements error.
func (u UnusableFolder) Error() string { return u.Err.Error() }

// Unwrap returns the cause.
func (u UnusableFolder) Unwrap() error { return u.Err }

// OpenToRead locks a folder for reading; it writes nothing. Errors are sentences for the operator.
// Errors other than UnusableFolder report damage; with a LostEnd the folder is returned, too.
func OpenToRead(dir string, o *Options) (*DataFolder, error) {
	o.setDefaults(dir)
	_, format := o.FS.Stat(o.FS.PathJoin(dir, FormatName))
	_, engine := o.FS.Stat(o.FS.PathJoin(dir, EngineName))
	if err := AccessDenied(dir, format); errors.As(err, new(UnusableFolder)) {
		return nil, err
	}
	if format != nil && engine != nil {
		return nil, UnusableFolder{fmt.Errorf("%s is not a data folder of inboxd: %w", dir, format)}
	}
	f, err := takeFolder(dir, o, lockToRead)
	if err == nil {
		err = f.standIn(f.checkDatabase())
	}
	if err != nil && !errors.As(err, new(LostEnd)) {
		return nil, errors.Join(err, f.releaseLock())
	}
	f.isReadOnly, f.tableErrors = true, map[string]error{}
	f.SpaceGuard = &SpaceGuard{readFree: o.FreeSpace, fs: f.FS, log: f.Log, stopCh: make(chan struct{})}
	f.SpaceGuard.isOpening.Store(true)
	f.spareLog = newSpareLog(f, 0)
	return f, err
}

// EngineFS returns the file system for the engine.
func (f *DataFolder) EngineFS() vfs.FS {
	return &waitFS{FS: f.FS, folder: f, spaceGuard: f.SpaceGuard, spareLog: f.spareLog}
}

// FilePath returns the path of the file with this name.
func (f *DataFolder) FilePath(name string) string { return f.FS.PathJoin(f.Dir, name) }

// StartWork is called when the engine is open. From now on writes may wait for space, and the
// background work runs. sync makes a synced write; busy reports whether commits are in progress.
func (f *DataFolder) StartWork(sync func() error, busy func() bool) {
	for _, name := range []string{EngineName, BlobsName} {
		_ = f.addWitness(f.FilePath(name)) // a missing one cannot be a witness
	}
	f.WriteProbe.syncedWrite = sync
	f.SpaceGuard.isOpening.Store(false)
	f.deferredRemovals.carryOut(f.FS, f.Log)
	if !f.noTimers {
		f.tasksDone.Go(func() { f.spareLog.keepReady(f.stopCh) })
		f.tasksDone.Go(func() { f.watchDisk(busy) })
	}
	f.tasksDone.Go(func() { f.Commits.runWriter(f.stopCh, busy) })
}

const (
	// activeLook is the time from a commit to the next look at the disk.
	activeLook = 50 * time.Millisecond
	// idleLook is the time between looks while nothing is written.
	idleLook = time.Second
)

// BeginCommit returns nil, or the fault of a commit that adds this many bytes.
func (f *DataFolder) BeginCommit(adds int64) error {
	if !f.lookIsDue.Load() && !f.lookIsDue.Swap(true) {
		f.lookSoon <- struct{}{}
	}
	if adds > 0 {
		if err := f.SpaceGuard.AdmitBytes(adds); err != nil {
			return err
		}
	}
	return f.CheckIdentityCached()
}

// watchDisk looks at the disk until StopWork: it measures the space, checks that the folder is in
// its place, and starts a probe if commits in progress are stuck. An idle server hardly wakes for it.
func (f *DataFolder) watchDisk(busy func() bool) {
	next := time.NewTimer(idleLook)
	defer next.Stop()
	for {
		select {
		case <-f.stopCh:
			return
		case <-f.lookSoon:
			next.Reset(activeLook)
			continue
		case <-next.C:
		}
		f.lookIsDue.Store(false)
		f.SpaceGuard.MeasureDisk()
		_ = f.CheckIdentity() // it stores the result
		if busy() && f.WriteProbe.sinceLastWrite() > pulseWait/2 {
			f.WriteProbe.beginProbe()
		}
		if busy() || f.RefusesWrites() {
			next.Reset(activeLook)
		} else {
			next.Reset(idleLook)
		}
	}
}

// RefusesWrites reports whether new data are refused now: because space is short, the disk does not
// respond, or the folder is not at its path.
func (f *DataFolder) RefusesWrites() bool {
	return f.SpaceGuard.IsFull() || f.WriteProbe.IsStalled() || f.isAway.Load()
}

// StopWork ends the background work and records the number of commits. No commit may follow it.
func (f *DataFolder) StopWork() {
	close(f.stopCh)
	f.tasksDone.Wait()
	f.Commits.writeMark()
}

// Close releases the folder.
func (f *DataFolder) Close() error { return f.folderLock.Close() }
