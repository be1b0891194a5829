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
	FS     vfs.FS           // nil: the real disk
	Logger *slog.Logger     // nil: slog.Default
	Now    func() time.Time // nil: time.Now
	Owner  *partition.Owner // whose rows the engine serves; nil: all

	CacheBytes    int64  // blocks and memtables; 0: 40 MiB
	MemTableBytes uint64 // also the size of a log; 0: a sixteenth of the disk, 4 to 8 MiB
	ReserveBytes  uint64 // free space in bytes below which new data are refused; 0: see sizes
	BallastBytes  uint64 // freed when the disk is full, in bytes; 0: as MemTableBytes

	// FreeSpace measures the disk; nil asks FS.
	FreeSpace func() (free, total uint64, err error)
	// Exit ends the process if the disk failed and the outcome on disk is ambiguous. It must not
	// return; nil: os.Exit. For tests.
	Exit func(code int)
	// Still disables everything that runs only by the clock: the disk is measured only at the
	// start, compactions start only with commits, and no spare log is made. For tests with a fake
	// clock.
	Still bool
}

func (o *Options) defaults(dir string) {
	if o.FS == nil {
		o.FS = Real
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Exit == nil {
		o.Exit = os.Exit
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

// fit sizes the unset options by the size of the disk.
func (o *Options) fit() {
	_, total, err := o.FreeSpace()
	if err != nil {
		total = 0
	}
	memtable, reserve, ballast := sizes(total)
	o.MemTableBytes = cmp.Or(o.MemTableBytes, memtable)
	o.ReserveBytes = cmp.Or(o.ReserveBytes, reserve)
	o.BallastBytes = cmp.Or(o.BallastBytes, ballast)
}

// Folder is a data folder that this process has locked. Any goroutine may use it: only away, ours
// and manifest change once the engine is open.
type Folder struct {
	Dir     string
	FS      vfs.FS // does not wait for space
	Log     *Logger
	Space   *SpaceGuard
	Commits *HighWater
	Pulse   *Pulse
	Damage  *Damage

	opened time.Time
	// witnesses are files that are at their path as long as the folder is. Work adds to them while
	// the engine's compactions may already check the folder, so knowing guards them.
	witnesses []witness
	knowing   sync.RWMutex
	away      atomic.Bool  // the folder is not at its path; Ours sets it
	ours      atomic.Int64 // nanoseconds after opened: when the folder was last found at its path
	spare     *spareLog
	late      removals
	// missing are the paths of missing files that the engine is shown anyway: value files, and
	// files that a folder opened for reading has lost. It does not change once the engine is open.
	missing []string
	// broken are the errors of opening missing or truncated tables in a folder opened for reading.
	// It does not change once the engine is open.
	broken map[string]error
	// manifest is how far the engine's manifest is durable; nil: none was written yet.
	manifest atomic.Pointer[manifestEnd]
	// rewriting is the value file that is being rewritten, or was rewritten last.
	rewriting atomic.Pointer[string]

	lock  io.Closer
	still bool
	// reading means that nothing is written: damage is reported by its reader, and the rest is
	// read.
	reading bool
	above   int64          // see Above; as Open found it
	stop    chan struct{}  // closed by Rest
	tasks   sync.WaitGroup // started by Work, ended by stop
}

// Open locks the folder dir, creates it if it is new, and checks its format. It sets the sizes that
// o leaves unset. Errors are sentences for the operator.
func Open(dir string, o *Options) (*Folder, error) {
	o.defaults(dir)
	f, err := take(dir, o, lockFolder)
	if err == nil {
		err = f.checkDatabase()
	}
	if err == nil {
		err = f.restore(o.Now())
	}
	if err != nil {
		return nil, errors.Join(err, f.unlock())
	}
	o.fit()
	f.Space = newSpaceGuard(f, o)
	if f.spare = newSpareLog(f, o.MemTableBytes); !o.Still {
		f.spare.open()
	}
	return f, nil
}

// take locks the folder and reads its own files. It returns the folder also with an error, so that
// the caller can unlock it.
func take(dir string, o *Options, lock func(fs vfs.FS, dir string) (io.Closer, error)) (f *Folder, err error) {
	f = &Folder{
		Dir: dir, FS: o.FS, still: o.Still, stop: make(chan struct{}), opened: time.Now(),
		Log: &Logger{out: o.Logger, now: o.Now, exit: o.Exit, last: map[string]*silence{}},
	}
	f.Damage = &Damage{log: f.Log, files: map[string]struct{}{}}
	f.Pulse = &Pulse{log: f.Log, begun: time.Now()}
	f.ours.Store(never)
	if f.lock, err = lock(o.FS, dir); err != nil {
		return f, Unfit{err}
	}
	known := f.Path(lockName)
	if f.lock == (noLock{}) {
		known = dir
	}
	if err = f.know(known); err == nil {
		err = checkFormat(f.FS, f.Dir)
	}
	if err == nil {
		f.Commits, err = readHighWater(f, o.Now)
	}
	return f, err
}

func (f *Folder) unlock() error {
	if f.lock == nil {
		return nil
	}
	return f.lock.Close()
}

// Unfit is the reason why a folder cannot be examined, even if it is intact: it is not a data
// folder, another process has locked it, or its format is unsupported.
type Unfit struct{ Err error }

// Error implements error.
func (u Unfit) Error() string { return u.Err.Error() }

// Unwrap returns the cause.
func (u Unfit) Unwrap() error { return u.Err }

// OpenToRead locks a folder for reading; it writes nothing. Errors are sentences for the operator.
// Errors other than Unfit report damage; with a LostEnd the folder is returned, too.
func OpenToRead(dir string, o *Options) (*Folder, error) {
	o.defaults(dir)
	_, format := o.FS.Stat(o.FS.PathJoin(dir, FormatName))
	_, engine := o.FS.Stat(o.FS.PathJoin(dir, EngineName))
	if err := Denied(dir, format); errors.As(err, new(Unfit)) {
		return nil, err
	}
	if format != nil && engine != nil {
		return nil, Unfit{fmt.Errorf("%s is not a data folder of inboxd: %w", dir, format)}
	}
	f, err := take(dir, o, lockToRead)
	if err == nil {
		err = f.standIn(f.checkDatabase())
	}
	if err != nil && !errors.As(err, new(LostEnd)) {
		return nil, errors.Join(err, f.unlock())
	}
	f.reading, f.broken = true, map[string]error{}
	f.Space = &SpaceGuard{free: o.FreeSpace, fs: f.FS, log: f.Log, stop: make(chan struct{})}
	f.Space.opening.Store(true)
	f.spare = newSpareLog(f, 0)
	return f, err
}

// Engine returns the file system for the engine.
func (f *Folder) Engine() vfs.FS { return &waitFS{FS: f.FS, folder: f, space: f.Space, spare: f.spare} }

// Path returns the path of the file with this name.
func (f *Folder) Path(name string) string { return f.FS.PathJoin(f.Dir, name) }

// Work is called when the engine is open. From now on writes may wait for space, and the background
// work runs. sync makes a synced write; busy reports whether commits are in progress.
func (f *Folder) Work(sync func() error, busy func() bool) {
	for _, name := range []string{EngineName, BlobsName} {
		_ = f.know(f.Path(name)) // a missing one cannot be a witness
	}
	f.Pulse.sync = sync
	f.Space.opening.Store(false)
	f.late.carryOut(f.FS, f.Log)
	if !f.still {
		f.tasks.Go(func() { f.Space.watch(f.stop) })
		f.tasks.Go(func() { f.spare.keep(f.stop) })
		f.tasks.Go(func() { f.watch(f.stop, busy) })
	}
	f.tasks.Go(func() { f.Commits.keep(f.stop, busy) })
}

// Refuses reports whether new data are refused now: because space is short, the disk does not
// respond, or the folder is not at its path.
func (f *Folder) Refuses() bool { return f.Space.Full() || f.Pulse.Stalled() || f.away.Load() }

// Rest ends the background work and records the number of commits. No commit may follow it.
func (f *Folder) Rest() {
	close(f.stop)
	f.tasks.Wait()
	f.Commits.write()
}

// Close releases the folder.
func (f *Folder) Close() error { return f.lock.Close() }
