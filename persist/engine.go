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

// storageEngine is the open database and its folder; all tables share one engine. Any goroutine may use
// it; db does not change after open.
type storageEngine struct {
	folder              *disk.DataFolder
	db                  *pebble.DB
	positions           commitPositions
	damageLog           damagedMessages
	owner               *partition.OwnershipState
	groupGates          [partition.NumGroups]sync.RWMutex // read-locked by each batch of the group, locked by Drain
	now                 func() time.Time
	bytesSynced         atomic.Uint64           // in synced batches
	commitSeconds       meter.DurationHistogram // from the start of a batch to its fsync
	commitsWaiting      atomic.Int64            // commits that wait for an fsync
	syncsRunning        atomic.Int64            // synced commits in progress
	compactionScheduler *disk.CompactionScheduler
	readOnly            bool

	// callsMu is read-locked by every call and locked by Close. It guards closed.
	callsMu  sync.RWMutex
	isClosed bool
}

// errClosed is returned by calls after Close.
var errClosed = fault.New(fault.TemporarilyUnavailable, "The storage is shutting down, try again")

// runCall makes a call that Close waits for. Calls must not nest: an inner call would wait for
// Close, which waits for the outer call.
func (e *storageEngine) runCall(call func() error) error {
	e.callsMu.RLock()
	defer e.callsMu.RUnlock()
	if e.isClosed {
		return errClosed
	}
	return call()
}

// openDB opens the database and checks that the end of its journal is not lost.
func (e *storageEngine) openDB(o *Options) (err error) {
	f := e.folder
	e.now, e.owner = o.Now, o.Owner
	if err := e.checkManifest(); err != nil {
		return e.openError("opened", err)
	}
	if e.db, err = openPebble(f.FilePath(disk.EngineName), e.pebbleOptions(o)); err != nil {
		return e.openError("opened", err)
	}
	found, err := e.positions.loadPositions(e.db)
	if err != nil && e.readOnly && unfitError(err) == nil {
		return disk.LostEnd{Err: fmt.Errorf("the end of the journal in the data folder %s cannot be determined: %w", f.Dir, namedError(err))}
	}
	if err != nil {
		return e.openError("read", err)
	}
	return f.Commits.BeginCount(found)
}

// checkManifest verifies the manifest that the database uses, if it exists.
func (e *storageEngine) checkManifest() error {
	dir, fs := e.folder.FilePath(disk.EngineName), e.folder.EngineFS()
	if _, err := fs.Stat(dir); err != nil {
		return nil // a new folder, or one whose error open reports
	}
	db, err := pebble.Peek(dir, fs)
	if err != nil || !db.Exists {
		return err
	}
	return e.folder.CheckManifest(db.ManifestFilename)
}

// openError returns the error of a start that cannot continue.
func (e *storageEngine) openError(what string, err error) error {
	advice := ""
	if e.folder.DamageLog.FileCount() > 0 || pebble.IsCorruptionError(err) || errors.Is(err, os.ErrNotExist) {
		advice = ". Restore a backup of the folder"
	}
	if errors.As(err, new(disk.LostTable)) {
		advice += ", or copy what can be read with inboxd check --repair"
	}
	if f := (*fault.Error)(nil); errors.As(err, &f) && f.Err != nil {
		err = f.Err // the fault's text is for readers, not for the operator
	}
	if denied := unfitError(err); denied != nil {
		err, advice = denied, "" // without the engine's text
	}
	return fmt.Errorf("the data folder %s can't be %s: %w%s", e.folder.Dir, what, namedError(err), advice)
}

// unfitError returns the reason in err why a folder cannot be examined; nil if err has none.
func unfitError(err error) error {
	if u := (disk.UnusableFolder{}); errors.As(err, &u) {
		return u
	}
	return nil
}

// abandonOpen undoes a failed Open.
func (e *storageEngine) abandonOpen() (err error) {
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

// pebbleOptions configures Pebble. Its newest format records in the log how far it was synced, which
// distinguishes a damaged log from one that merely ends. With older formats, Pebble opens silently
// with lost records.
func (e *storageEngine) pebbleOptions(o *Options) *pebble.Options {
	p := &pebble.Options{
		FS:                          e.folder.EngineFS(),
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
		WALMinSyncInterval:    e.syncPause,
		Logger:                e.folder.Log,
		EventListener:         e.eventListener(),
	}
	for i := range p.Levels {
		p.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	e.compactionScheduler = disk.NewCompactionScheduler(o.DisableTimers)
	p.Experimental.CompactionScheduler = e.compactionScheduler
	p.Experimental.ValueSeparationPolicy = e.valueSeparation
	return p
}

// noteFailed records that background work failed.
func (e *storageEngine) noteFailed(err error) {
	e.folder.Log.LogThrottled(slog.LevelError, "storage: background work failed, will be retried", "err", namedError(err))
	if e.folder.DamageLog.FileCount() > 0 {
		e.compactionScheduler.BeginRest()
	}
}

// valueSeparation configures value separation. The rewrite of a damaged value file fails and would
// start again at once, forever. So no rewrite starts while a file is damaged.
func (e *storageEngine) valueSeparation() pebble.ValueSeparationPolicy {
	garbage := 0.3
	if e.folder.DamageLog.FileCount() > 0 {
		garbage = 1 // never
	}
	return pebble.ValueSeparationPolicy{
		Enabled: true, MinimumSize: 1024, MaxBlobReferenceDepth: 256,
		RewriteMinimumAge: 5 * time.Minute, TargetGarbageRatio: garbage,
	}
}

// eventListener handles Pebble's background events.
func (e *storageEngine) eventListener() *pebble.EventListener {
	f, log := e.folder, e.folder.Log
	return &pebble.EventListener{
		BackgroundError: e.noteFailed,
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			f.DamageLog.NoteFile(info.Path, errors.New(info.Details.Error()))
		},
		BlobFileRewriteBegin: func(info pebble.BlobFileRewriteInfo) {
			f.NoteRewrite(f.FS.PathJoin(f.FilePath(disk.EngineName), info.Input.DiskFileNum.String()+".blob"))
		},
		WriteStallBegin: func(info pebble.WriteStallBeginInfo) {
			log.LogThrottled(slog.LevelWarn, "storage: writes are waiting for background work", "reason", info.Reason)
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

// syncPause is how long Pebble waits after an fsync.
func (e *storageEngine) syncPause() time.Duration {
	if e.commitsWaiting.Load() < gatherFrom {
		return 0
	}
	return gatherFor
}
