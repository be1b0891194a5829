package persist

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"

	"inboxd/internal/base/fault"
	"inboxd/internal/base/meter"
	"inboxd/internal/base/partition"
	"inboxd/persist/disk"
)

// engine is the open database and its folder; all tables share one engine. Any goroutine may use
// it; db does not change after open.
type engine struct {
	folder        *disk.Folder
	db            *pebble.DB
	positions     positions
	damage        damagedMessages
	owner         *partition.Owner
	gates         [partition.Groups]sync.RWMutex // read-locked by each batch of the group, locked by Drain
	now           func() time.Time
	bytes         atomic.Uint64 // in synced batches
	commitSeconds meter.Seconds // from the start of a batch to its fsync
	waiting       atomic.Int64  // commits that wait for an fsync
	busy          atomic.Int64  // synced commits in progress
	patience      *disk.Patience
	readOnly      bool

	// users is read-locked by every call and locked by Close. It guards closed.
	users  sync.RWMutex
	closed bool
}

// errClosed is returned by calls after Close.
var errClosed = fault.New(fault.Unavailable, "The storage is shutting down, try again")

// during makes a call that Close waits for. Calls must not nest: an inner call would wait for
// Close, which waits for the outer call.
func (e *engine) during(call func() error) error {
	e.users.RLock()
	defer e.users.RUnlock()
	if e.closed {
		return errClosed
	}
	return call()
}

// open opens the database and checks that the end of its journal is not lost.
func (e *engine) open(o *Options) (err error) {
	f := e.folder
	e.now, e.owner = o.Now, o.Owner
	if err := e.checkManifest(); err != nil {
		return e.refused("opened", err)
	}
	if e.db, err = openPebble(f.Path(disk.EngineName), e.options(o)); err != nil {
		return e.refused("opened", err)
	}
	found, err := e.positions.load(e.db)
	if err != nil && e.readOnly && unfit(err) == nil {
		return disk.LostEnd{Err: fmt.Errorf("the end of the journal in the data folder %s cannot be determined: %w", f.Dir, named(err))}
	}
	if err != nil {
		return e.refused("read", err)
	}
	return f.Commits.Begin(found)
}

// checkManifest verifies the manifest that the database uses, if it exists.
func (e *engine) checkManifest() error {
	dir, fs := e.folder.Path(disk.EngineName), e.folder.Engine()
	if _, err := fs.Stat(dir); err != nil {
		return nil // a new folder, or one whose error open reports
	}
	db, err := pebble.Peek(dir, fs)
	if err != nil || !db.Exists {
		return err
	}
	return e.folder.CheckManifest(db.ManifestFilename)
}

// refused returns the error of a start that cannot continue.
func (e *engine) refused(what string, err error) error {
	advice := ""
	if e.folder.Damage.Files() > 0 || pebble.IsCorruptionError(err) || errors.Is(err, os.ErrNotExist) {
		advice = ". Restore a backup of the folder"
	}
	if errors.As(err, new(disk.LostTable)) {
		advice += ", or copy what can be read with inboxd check --repair"
	}
	if f := (*fault.Error)(nil); errors.As(err, &f) && f.Err != nil {
		err = f.Err // the fault's text is for readers, not for the operator
	}
	if denied := unfit(err); denied != nil {
		err, advice = denied, "" // without the engine's text
	}
	return fmt.Errorf("the data folder %s can't be %s: %w%s", e.folder.Dir, what, named(err), advice)
}

// unfit returns the reason in err why a folder cannot be examined; nil if err has none.
func unfit(err error) error {
	if u := (disk.Unfit{}); errors.As(err, &u) {
		return u
	}
	return nil
}

// abandon undoes a failed Open.
func (e *engine) abandon() (err error) {
	if e.db != nil {
		err = e.db.Close()
	}
	return errors.Join(err, e.folder.Close())
}

// openPebble converts a panic of Pebble into an error. Some failed writes and damaged files cause
// such panics.
func openPebble(dir string, o *pebble.Options) (db *pebble.DB, err error) {
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

const mib = 1 << 20

// options configures Pebble. Its newest format records in the log how far it was synced, which
// distinguishes a damaged log from one that merely ends. With older formats, Pebble opens silently
// with lost records.
func (e *engine) options(o *Options) *pebble.Options {
	p := &pebble.Options{
		FS:                          e.folder.Engine(),
		FormatMajorVersion:          pebble.FormatNewest,
		ReadOnly:                    e.readOnly,
		DisableConsistencyCheck:     e.readOnly, // checkManifest has verified it; the rest is read anyway
		CacheSize:                   o.CacheBytes,
		MemTableSize:                o.MemTableBytes,
		MemTableStopWritesThreshold: 4,
		L0CompactionThreshold:       32,
		L0StopWritesThreshold:       64,
		LBaseMaxBytes:               int64(max(64*mib, o.MemTableBytes)),
		CompactionConcurrencyRange:  func() (int, int) { return 1, 2 },
		MaxOpenFiles:                1000,
		// Deleted messages must leave the disk without further writes that push them out.
		FlushDelayDeleteRange: 10 * time.Second,
		WALBytesPerSync:       mib / 2,
		WALMinSyncInterval:    e.gather,
		Logger:                e.folder.Log,
		EventListener:         e.events(),
	}
	for i := range p.Levels {
		p.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	e.patience = disk.NewPatience(o.Still)
	p.Experimental.CompactionScheduler = e.patience
	p.Experimental.ValueSeparationPolicy = e.separation
	return p
}

// failed records that background work failed.
func (e *engine) failed(err error) {
	e.folder.Log.Seldom(slog.LevelError, "storage: background work failed, will be retried", "err", named(err))
	if e.folder.Damage.Files() > 0 {
		e.patience.Rest()
	}
}

// separation configures value separation. The rewrite of a damaged value file fails and would start
// again at once, forever. So no rewrite starts while a file is damaged.
func (e *engine) separation() pebble.ValueSeparationPolicy {
	garbage := 0.3
	if e.folder.Damage.Files() > 0 {
		garbage = 1 // never
	}
	return pebble.ValueSeparationPolicy{
		Enabled: true, MinimumSize: 1024, MaxBlobReferenceDepth: 256,
		RewriteMinimumAge: 5 * time.Minute, TargetGarbageRatio: garbage,
	}
}

// events handles Pebble's background events.
func (e *engine) events() *pebble.EventListener {
	f, log := e.folder, e.folder.Log
	return &pebble.EventListener{
		BackgroundError: e.failed,
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			f.Damage.File(info.Path, errors.New(info.Details.Error()))
		},
		BlobFileRewriteBegin: func(info pebble.BlobFileRewriteInfo) {
			f.Rewrites(f.FS.PathJoin(f.Path(disk.EngineName), info.Input.DiskFileNum.String()+".blob"))
		},
		WriteStallBegin: func(info pebble.WriteStallBeginInfo) {
			log.Seldom(slog.LevelWarn, "storage: writes are waiting for background work", "reason", info.Reason)
		},
	}
}

// An fsync costs the cores as much as a commit. While at least gatherFrom commits wait for one,
// those that arrive within gatherFor share the next (group commit). That delays each a little but
// completes all of them sooner. A few writers never wait for others.
const (
	gatherFrom = 16
	gatherFor  = time.Millisecond
)

// gather is how long Pebble waits after an fsync.
func (e *engine) gather() time.Duration {
	if e.waiting.Load() < gatherFrom {
		return 0
	}
	return gatherFor
}
