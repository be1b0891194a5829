// Package persist keeps inboxes and accounts on disk, in Pebble: keys, the record codec,
// the atomic synced commit, range loads, the due index, blob files, the change journal, the
// free-space gate, and the checks of a start. It knows rows and bytes. It refuses to know
// actors, HTTP, SMTP, and what an event means.
//
// A commit that returned nil is on disk with fdatasync. What the disk leaves unknown ends
// the process; the next start reads what is really there. docs/storage-format.md describes
// the files.
package persist

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"

	"inboxd/internal/fault"
)

// Options of a store. The zero value works.
type Options struct {
	FS     vfs.FS           // nil: the real disk
	Logger *slog.Logger     // nil: slog.Default
	Now    func() time.Time // nil: time.Now

	CacheBytes    int64  // blocks and memtables; 0: 40 MiB
	MemTableBytes uint64 // 0: a sixteenth of the disk, 4 to 12 MiB
	ReserveBytes  uint64 // free space below which new data are refused; 0: see sizes
	BallastBytes  uint64 // given up when the disk is full; 0: as MemTableBytes

	// FreeSpace measures the disk; nil asks FS.
	FreeSpace func() (free, total uint64, err error)
	// Exit ends the process when the disk failed in a way that leaves open what is on it.
	// It must not return; nil: os.Exit. For tests.
	Exit func(code int)
	// Still keeps everything from running by the clock alone: the disk is measured at the
	// start only, and compactions begin with commits only. For tests on a fake clock.
	Still bool
}

func (o *Options) defaults(dir string) {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Exit == nil {
		o.Exit = os.Exit
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = 40 * mib
	}
	if o.FreeSpace == nil {
		fs := o.FS
		o.FreeSpace = func() (uint64, uint64, error) {
			u, err := fs.GetDiskUsage(dir)
			return u.AvailBytes, u.TotalBytes, err
		}
	}
}

// fit sizes what is left open to the disk.
func (o *Options) fit() {
	_, total, err := o.FreeSpace()
	if err != nil {
		total = 0
	}
	memtable, reserve, ballast := sizes(total)
	if o.MemTableBytes == 0 {
		o.MemTableBytes = memtable
	}
	if o.ReserveBytes == 0 {
		o.ReserveBytes = reserve
	}
	if o.BallastBytes == 0 {
		o.BallastBytes = ballast
	}
}

// Store is an open data folder. Its methods may be called from any goroutine; commits of
// one entity are the caller's to order.
type Store struct {
	dir    string
	fs     vfs.FS // without waiting for space
	db     *pebble.DB
	lock   io.Closer
	report *reporter
	now    func() time.Time
	gate   *gate
	spare  *spareLog

	sealing sealing

	positions positions
	previous  highWater // of the run before
	written   uint64    // commits in the high-water file; its writer's own
	bytes     atomic.Uint64
	waiting   atomic.Int64 // commits that wait for a sync
	blobs     atomic.Int64
	journal   journalSync

	// users is read-locked by every call and locked by Close.
	users  sync.RWMutex
	closed bool
	stop   chan struct{}
	tasks  sync.WaitGroup // gate, high-water and sweep; stop ends them
}

// errClosed answers calls after Close.
var errClosed = fault.New(fault.Unavailable, "The storage is shutting down, try again")

// Open takes the data folder dir, makes it when it is new, and checks that nothing of what
// was acknowledged is missing. Errors are sentences for the operator.
func Open(dir string, o Options) (*Store, error) {
	o.defaults(dir)
	lock, err := lockFolder(o.FS, dir)
	if err != nil {
		return nil, err
	}
	s := &Store{dir: dir, fs: o.FS, lock: lock, report: newReporter(&o), now: o.Now, stop: make(chan struct{})}
	s.positions.moved = make(chan struct{}, 1)
	if err := s.open(&o); err != nil {
		return nil, errors.Join(err, s.abandon())
	}
	return s, nil
}

func (s *Store) open(o *Options) (err error) {
	if err := checkFormat(s.fs, s.dir); err != nil {
		return err
	}
	if s.previous, err = s.readHighWater(); err != nil {
		return err
	}
	s.written = s.previous.commits
	o.fit()
	s.gate = &gate{
		free: o.FreeSpace, reserve: o.ReserveBytes, ballast: o.BallastBytes,
		fs: s.fs, path: s.fs.PathJoin(s.dir, nameBallast), report: s.report, stop: make(chan struct{}),
	}
	s.gate.start()
	s.spare = &spareLog{fs: s.fs, dir: s.dir, size: o.MemTableBytes, gate: s.gate, report: s.report}
	s.spare.open()
	if s.db, err = openEngine(s.fs.PathJoin(s.dir, nameEngine), s.engineOptions(o)); err != nil {
		return fmt.Errorf("the data folder %s can't be opened: %w", s.dir, err)
	}
	found, err := s.positions.load(s.db)
	if err != nil {
		return fmt.Errorf("the data folder %s can't be read: %w", s.dir, err)
	}
	if err := s.checkHighWater(found); err != nil {
		return err
	}
	files, err := s.listBlobs()
	if err != nil {
		return fmt.Errorf("the blob folder in %s can't be read: %w", s.dir, err)
	}
	s.blobs.Store(countBlobs(files))
	s.gate.opening.Store(false)
	start := s.db.NewSnapshot()
	s.tasks.Go(func() { s.sweepBlobs(start, files) })
	if !o.Still {
		s.tasks.Go(func() { s.gate.watch(s.stop) })
	}
	s.tasks.Go(func() { s.spare.keep(s.stop) })
	s.tasks.Go(func() { s.keepHighWater(s.stop) })
	return nil
}

// openEngine turns a panic of the engine, which some failed writes and damaged files cause,
// into an error.
func openEngine(dir string, o *pebble.Options) (db *pebble.DB, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case error:
			db, err = nil, r
		default:
			db, err = nil, fmt.Errorf("%v", r)
		}
	}()
	return pebble.Open(dir, o)
}

// engineOptions sets Pebble up. Its newest format marks in the log how far it was synced,
// so that a damaged log is told from one that merely ends; older formats open silently
// with lost records.
func (s *Store) engineOptions(o *Options) *pebble.Options {
	p := &pebble.Options{
		FS:                          &waitFS{s.fs, s.gate, s.spare},
		FormatMajorVersion:          pebble.FormatNewest,
		CacheSize:                   o.CacheBytes,
		MemTableSize:                o.MemTableBytes,
		MemTableStopWritesThreshold: 4,
		L0CompactionThreshold:       32,
		L0StopWritesThreshold:       64,
		LBaseMaxBytes:               int64(max(64*mib, o.MemTableBytes)),
		CompactionConcurrencyRange:  func() (int, int) { return 1, 2 },
		MaxOpenFiles:                1000,
		// Deleted mail must leave the disk without more writes to push it out.
		FlushDelayDeleteRange: 10 * time.Second,
		WALBytesPerSync:       mib / 2,
		WALMinSyncInterval:    s.gather,
		Logger:                s.report,
		EventListener:         s.report.events(),
	}
	for i := range p.Levels {
		p.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	if o.Still {
		p.Experimental.CompactionScheduler = pebble.NewConcurrencyLimitSchedulerWithNoPeriodicGrantingForTest()
	}
	p.Experimental.ValueSeparationPolicy = func() pebble.ValueSeparationPolicy {
		return pebble.ValueSeparationPolicy{
			Enabled: true, MinimumSize: 1024, MaxBlobReferenceDepth: 256,
			RewriteMinimumAge: 5 * time.Minute, TargetGarbageRatio: 0.3,
		}
	}
	return p
}

// abandon undoes an Open that failed.
func (s *Store) abandon() (err error) {
	if s.db != nil {
		err = s.db.Close()
	}
	return errors.Join(err, s.lock.Close())
}

// closePatience is how long Close lets commits wait for space on a full disk.
const closePatience = 5 * time.Second

// Close waits for the calls under way, notes how far the journal goes and gives the folder
// back. On a disk that stays full the waiting writes are given up, which ends the process:
// what they held was never acknowledged.
func (s *Store) Close() error {
	giveUp := time.AfterFunc(closePatience, s.gate.giveUp)
	defer giveUp.Stop()
	s.users.Lock()
	defer s.users.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	close(s.stop)
	s.tasks.Wait()
	s.writeHighWater()
	return errors.Join(s.db.Close(), s.lock.Close())
}

// enter begins a call, leave ends it: Close waits for those in between.
func (s *Store) enter() error {
	s.users.RLock()
	if s.closed {
		s.users.RUnlock()
		return errClosed
	}
	return nil
}

func (s *Store) leave() { s.users.RUnlock() }
