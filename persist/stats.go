package persist

import (
	"time"

	"inboxd/internal/meter"
	"inboxd/persist/disk"
)

// Stats is a picture of the store for metrics. Counts are since Open unless they say what
// is there now.
type Stats struct {
	Commits       uint64        // synced commits on disk, of all runs
	CommitBytes   uint64        // bytes in synced batches
	CommitSeconds meter.Reading // seconds of synced commits, of this run
	Blobs         int64         // blob files now

	DamagedItems int // messages and inboxes, found since the start
	DamagedFiles int // found since the start

	DiskFree  uint64 // bytes; 0 when the file system can't tell
	DiskTotal uint64
	Full      bool   // new data are refused now
	FullCount uint64 // times that began

	WALBytes       uint64 // live bytes in the log now
	MemTableBytes  uint64 // now
	TableBytes     uint64 // in tables now
	ValueBytes     uint64 // in the engine's value files now
	L0Sublevels    int32  // now; writes stop at 48
	CompactionDebt uint64 // estimated bytes to compact now
	Flushes        int64
	Compactions    int64
	FailedCompacts int64
	CacheHits      int64
	CacheMisses    int64
}

// Full reports whether new data are refused now: for want of space, by a disk that does not
// answer, or because the folder is gone from its path (ADR 0042).
func (e *engine) Full() bool { return e.folder.Refuses() }

// Writable returns nil when a commit that adds bytes was made lately or could be made now, else
// the fault it would answer. It may take two seconds.
func (e *engine) Writable() error {
	if err := e.during(func() error { return nil }); err != nil {
		return err
	}
	if e.folder.Space.Full() {
		return disk.FullFault(nil)
	}
	if err := e.folder.Ours(); err != nil {
		return err
	}
	return e.folder.Pulse.Ready()
}

// ClockTrusted reports whether the wall clock may remove mail (ADR 0043).
func (e *engine) ClockTrusted() bool { return e.folder.Commits.Clock().Trusted() }

// Unheard is when changes were decided that a crash kept, though nobody may have heard of them;
// zero times when there are none (ADR 0044).
func (e *engine) Unheard() (from, to time.Time) { return e.folder.Commits.Unheard() }

// ClockSeen reads the clock and returns the latest reading that was ever trusted (ADR 0057).
func (e *engine) ClockSeen() time.Time { return e.folder.Commits.Clock().Seen() }

// Stats takes the picture; after Close it knows less.
func (s *Store) Stats() Stats {
	st := Stats{Commits: s.folder.Commits.Count(), CommitBytes: s.bytes.Load(), CommitSeconds: s.commitSeconds.Read(), Blobs: s.blobs.count.Load(), Full: s.folder.Space.Full(),
		DamagedItems: s.damage.count(), DamagedFiles: s.folder.Damage.Files()}
	st.DiskFree, st.DiskTotal, st.FullCount = s.folder.Space.Measured()
	_ = s.during(func() error {
		m := s.db.Metrics()
		st.WALBytes, st.MemTableBytes = m.WAL.Size, m.MemTable.Size
		st.TableBytes, st.ValueBytes = m.Table.Local.LiveSize, m.BlobFiles.LiveSize
		st.L0Sublevels, st.CompactionDebt = m.Levels[0].Sublevels, m.Compact.EstimatedDebt
		st.Flushes, st.Compactions, st.FailedCompacts = m.Flush.Count, m.Compact.Count, m.Compact.FailedCount
		st.CacheHits, st.CacheMisses = m.BlockCache.Hits, m.BlockCache.Misses
		return nil
	})
	return st
}
