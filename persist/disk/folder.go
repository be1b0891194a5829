// Package disk is the data folder as files: whose it is and of which format, how far it was
// known to be written, the space that is kept free in it, the file that becomes the next log,
// and the file system under the engine, which waits for space instead of failing. It knows
// files and bytes, and refuses to know rows.
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

// Options of a data folder and of the engine in it. The zero value works.
type Options struct {
	FS     vfs.FS           // nil: the real disk
	Logger *slog.Logger     // nil: slog.Default
	Now    func() time.Time // nil: time.Now
	Owner  *partition.Owner // whose rows the engine keeps; nil: everybody's

	CacheBytes    int64  // blocks and memtables; 0: 40 MiB
	MemTableBytes uint64 // also the size of a log; 0: a sixteenth of the disk, 4 to 8 MiB
	ReserveBytes  uint64 // free space below which new data are refused; 0: see sizes
	BallastBytes  uint64 // given up when the disk is full; 0: as MemTableBytes

	// FreeSpace measures the disk; nil asks FS.
	FreeSpace func() (free, total uint64, err error)
	// Exit ends the process when the disk failed in a way that leaves open what is on it.
	// It must not return; nil: os.Exit. For tests.
	Exit func(code int)
	// Still keeps everything from running by the clock alone: the disk is measured at the
	// start only, compactions begin with commits only, and there is no spare log. For tests on
	// a fake clock.
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

// fit sizes what is left open to the disk.
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

// Folder is a data folder that this process has. Any goroutine may use it: only away,
// ours and manifest change once the engine is open.
type Folder struct {
	Dir     string
	FS      vfs.FS // without waiting for space
	Log     *Logger
	Space   *SpaceGuard
	Commits *HighWater
	Pulse   *Pulse
	Damage  *Damage

	opened time.Time
	// witnesses are what is on its path as long as the folder is. Work adds to them, when the engine's
	// compactions may look for the folder already: knowing guards them.
	witnesses []witness
	knowing   sync.RWMutex
	away      atomic.Bool  // the folder is not on its path; Ours sets it
	ours      atomic.Int64 // nanoseconds after opened: when it was last seen on its path
	spare     *spareLog
	late      removals
	// missing are the paths of files that are not there, and that the engine is shown: value files, and what
	// a folder that is opened to read has lost. It does not change once the engine is open.
	missing []string
	// broken are the errors of opening tables that are missing or cut off, where the folder is opened to read. It
	// does not change once the engine is open.
	broken map[string]error
	// manifest is how far the engine's manifest is on disk; nil: none was written yet.
	manifest atomic.Pointer[manifestEnd]
	// rewriting is the value file that is being rewritten, or was last.
	rewriting atomic.Pointer[string]

	lock  io.Closer
	still bool
	// reading is set where nothing is written: what is damaged is told of where it is read, and the rest is read.
	reading bool
	above   int64          // see Above; as Open found it
	stop    chan struct{}  // closed by Rest
	tasks   sync.WaitGroup // what Work started; stop ends them
}

// Open takes the folder dir, makes it when it is new, and checks its format. It fills in the
// sizes that o leaves open. Errors are sentences for the operator.
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

// take locks the folder and reads what its own files say. The folder is there with the error, for
// unlock.
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

// Unfit is why a folder can't be looked at, however whole it may be: it is none, another process
// has it, or its format is another one.
type Unfit struct{ Err error }

func (u Unfit) Error() string { return u.Err.Error() }

// Unwrap gives the cause.
func (u Unfit) Unwrap() error { return u.Err }

// OpenToRead takes a folder for somebody who reads it and writes nothing. Errors are sentences for
// the operator; those that are not Unfit tell of damage, and with a LostEnd there is a folder too.
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

// Engine is the file system under the engine.
func (f *Folder) Engine() vfs.FS { return &waitFS{FS: f.FS, folder: f, space: f.Space, spare: f.spare} }

// Path is where the file of this name lies.
func (f *Folder) Path(name string) string { return f.FS.PathJoin(f.Dir, name) }

// Work is for when the engine is open: writes may wait for space from now on, and the
// background work begins. sync makes a synced write; busy tells whether commits are under way.
func (f *Folder) Work(sync func() error, busy func() bool) {
	for _, name := range []string{EngineName, BlobsName} {
		_ = f.know(f.Path(name)) // one that is gone already can't witness
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

// Refuses reports whether new data are refused now: for want of space, because the disk does
// not answer, or because the folder is not on its path.
func (f *Folder) Refuses() bool { return f.Space.Full() || f.Pulse.Stalled() || f.away.Load() }

// Rest ends the background work and notes how many commits there are. No commit may come
// after it.
func (f *Folder) Rest() {
	close(f.stop)
	f.tasks.Wait()
	f.Commits.write()
}

// Close gives the folder back.
func (f *Folder) Close() error { return f.lock.Close() }
