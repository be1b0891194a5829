// Package persist keeps inboxes and accounts on disk, in Pebble: keys, the record codec,
// the atomic synced commit, range loads, the due index, blob files, the change journal, the
// checks of a start. It knows rows and bytes, and leaves files to disk. It refuses to know
// actors, HTTP, SMTP, and what an event means.
//
// A commit that returned nil is on disk with fdatasync. What the disk leaves unknown ends
// the process; the next start reads what is really there. docs/storage-format.md describes
// the files.
package persist

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"

	"inboxd/internal/fault"
	"inboxd/persist/disk"
)

// Options of a store.
type Options = disk.Options

// Store is an open data folder. Its methods may be called from any goroutine; commits of
// one entity are the caller's to order.
type Store struct {
	folder *disk.Folder
	db     *pebble.DB

	sealing sealing

	positions positions
	bytes     atomic.Uint64
	waiting   atomic.Int64 // commits that wait for a sync
	blobs     atomic.Int64
	journal   journalSync

	// users is read-locked by every call and locked by Close. It guards closed.
	users  sync.RWMutex
	closed bool
	sweep  sync.WaitGroup // of blob files
}

// errClosed answers calls after Close.
var errClosed = fault.New(fault.Unavailable, "The storage is shutting down, try again")

// Open takes the data folder dir, makes it when it is new, and checks that nothing of what
// was acknowledged is missing. Errors are sentences for the operator.
func Open(dir string, o Options) (*Store, error) {
	folder, err := disk.Open(dir, &o)
	if err != nil {
		return nil, err
	}
	s := &Store{folder: folder}
	if err := s.open(&o); err != nil {
		return nil, errors.Join(err, s.abandon())
	}
	return s, nil
}

func (s *Store) open(o *Options) (err error) {
	f := s.folder
	if s.db, err = openEngine(f.Path(disk.EngineName), s.engineOptions(o)); err != nil {
		return fmt.Errorf("the data folder %s can't be opened: %w", f.Dir, err)
	}
	found, err := s.positions.load(s.db)
	if err != nil {
		return fmt.Errorf("the data folder %s can't be read: %w", f.Dir, err)
	}
	if err := f.Commits.Begin(found); err != nil {
		return err
	}
	files, err := s.listBlobs()
	if err != nil {
		return fmt.Errorf("the blob folder in %s can't be read: %w", f.Dir, err)
	}
	s.blobs.Store(countBlobs(files))
	start := s.db.NewSnapshot()
	s.sweep.Go(func() { s.sweepBlobs(start, files) })
	f.Work()
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
		FS:                          s.folder.Engine(),
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
		Logger:                s.folder.Log,
		EventListener:         events(s.folder.Log),
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

// events reports what the engine does in the background.
func events(log *disk.Logger) *pebble.EventListener {
	return &pebble.EventListener{
		BackgroundError: func(err error) {
			log.Seldom(slog.LevelError, "storage: background work failed, it will be tried again", "err", err)
		},
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			log.Seldom(slog.LevelError, "storage: corrupt data", "file", info.Path, "err", info.Details)
		},
		WriteStallBegin: func(info pebble.WriteStallBeginInfo) {
			log.Seldom(slog.LevelWarn, "storage: writes wait for background work", "reason", info.Reason)
		},
	}
}

// abandon undoes an Open that failed.
func (s *Store) abandon() (err error) {
	if s.db != nil {
		err = s.db.Close()
	}
	return errors.Join(err, s.folder.Close())
}

// closeGrace is how long Close lets commits wait for space on a full disk.
const closeGrace = 5 * time.Second

// Close waits for the calls under way, notes how far the journal goes and gives the folder
// back. On a disk that stays full the waiting writes are given up, which ends the process:
// what they held was never acknowledged.
func (s *Store) Close() error {
	giveUp := time.AfterFunc(closeGrace, s.folder.Space.GiveUp)
	defer giveUp.Stop()
	s.users.Lock()
	defer s.users.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.sweep.Wait()
	s.folder.Rest()
	return errors.Join(s.db.Close(), s.folder.Close())
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

const mib = 1 << 20
