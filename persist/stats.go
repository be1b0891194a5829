package persist

import (
	"bytes"
	"errors"
	"sync"
	"time"

	"inboxd/internal/base/meter"
	"inboxd/internal/base/partition"
	"inboxd/persist/disk"
)

// StoreStats is a snapshot of the store for metrics. Counts are since Open unless their comment says
// "now".
type StoreStats struct {
	SyncedCommits uint64                  `json:"commits"`        // synced commits on disk, of all runs
	CommitBytes   uint64                  `json:"commit_bytes"`   // bytes in synced batches
	CommitSeconds meter.HistogramSnapshot `json:"commit_seconds"` // seconds of synced commits, of this run
	BlobFiles     int64                   `json:"blobs"`          // blob files now

	DamagedItems int `json:"damaged_items"` // messages and inboxes, found since the start
	DamagedFiles int `json:"damaged_files"` // found since the start

	DiskFree  uint64 `json:"disk_free_bytes"` // bytes; 0 if the file system does not report it
	DiskTotal uint64 `json:"disk_total_bytes"`
	IsFull    bool   `json:"full"`       // new data are refused now
	FullCount uint64 `json:"full_count"` // times that IsFull began, and writes too large for the free space

	WALBytes       uint64 `json:"wal_bytes"`             // live bytes in the log now
	MemTableBytes  uint64 `json:"mem_table_bytes"`       // now
	TableBytes     uint64 `json:"table_bytes"`           // in tables now
	ValueBytes     uint64 `json:"value_bytes"`           // in the engine's value files now
	L0Sublevels    int32  `json:"l0_sublevels"`          // now; writes stop at L0StopWritesThreshold
	JournalBytes   uint64 `json:"journal_bytes"`         // in tables now, about, of the change journals
	EngineBytes    uint64 `json:"engine_bytes"`          // on disk now, without blobs
	CompactionDebt uint64 `json:"compaction_debt_bytes"` // estimated bytes to compact now
	FlushCount     int64  `json:"flushes"`
	Compactions    int64  `json:"compactions"`
	FailedCompacts int64  `json:"failed_compacts"`
	CacheHits      int64  `json:"cache_hits"`
	CacheMisses    int64  `json:"cache_misses"`
}

// IsFull reports whether new data are refused now: because space is short, the disk does not
// respond, or the folder is missing from its path (ADR 0042).
func (e *storageEngine) IsFull() bool { return e.folder.RefusesWrites() }

// CheckWritable returns nil if a commit that adds bytes succeeded recently or could succeed now.
// Otherwise it returns the fault of such a commit. It may take two seconds.
func (e *storageEngine) CheckWritable() error {
	if err := e.runCall(func() error { return nil }); err != nil {
		return err
	}
	if e.folder.SpaceGuard.IsFull() {
		return disk.FullFault(nil)
	}
	if err := e.folder.CheckIdentity(); err != nil {
		return err
	}
	return e.folder.WriteProbe.CheckReady()
}

// ClockTrusted reports whether messages may be removed by the wall clock (ADR 0043).
func (e *storageEngine) ClockTrusted() bool { return e.folder.Commits.Clock().IsTrusted() }

// UnacknowledgedPeriod returns the time range of changes that survived a crash but may be
// unacknowledged. Both times are zero if there are none (ADR 0044).
func (e *storageEngine) UnacknowledgedPeriod() (from, to time.Time) {
	return e.folder.Commits.UnacknowledgedPeriod()
}

// ClockSeen reads the clock and returns the latest reading that was ever trusted (ADR 0057).
func (e *storageEngine) ClockSeen() time.Time { return e.folder.Commits.Clock().LatestTrusted() }

// ReadStats takes the snapshot. After Close the metrics of Pebble are zero.
func (s *Store) ReadStats() StoreStats {
	st := StoreStats{SyncedCommits: s.folder.Commits.CommitCount(), CommitBytes: s.bytesSynced.Load(), CommitSeconds: s.commitSeconds.TakeSnapshot(), BlobFiles: s.blobFiles.fileCount.Load(), IsFull: s.folder.SpaceGuard.IsFull(),
		DamagedItems: s.damageLog.countDamaged(), DamagedFiles: s.folder.DamageLog.FileCount()}
	st.DiskFree, st.DiskTotal, st.FullCount = s.folder.SpaceGuard.LastMeasured()
	_ = s.runCall(func() error {
		m := s.db.Metrics()
		st.WALBytes, st.MemTableBytes = m.WAL.Size, m.MemTable.Size
		st.TableBytes, st.ValueBytes = m.Table.Local.LiveSize, m.BlobFiles.LiveSize
		st.L0Sublevels, st.CompactionDebt = m.Levels[0].Sublevels, m.Compact.EstimatedDebt
		st.EngineBytes = m.DiskSpaceUsage()
		st.JournalBytes, _ = s.db.EstimateDiskUsage(ofKind(kindJournal).from, ofKind(kindJournal).to) // read errors are reported by the readers of the rows
		st.FlushCount, st.Compactions, st.FailedCompacts = m.Flush.Count, m.Compact.Count, m.Compact.FailedCount
		st.CacheHits, st.CacheMisses = m.BlockCache.Hits, m.BlockCache.Misses
		return nil
	})
	return st
}

// FolderTotals count what the folder holds in the groups of this node.
type FolderTotals struct {
	Accounts  int64 `json:"accounts"` // without those being deleted
	Inboxes   int64 `json:"inboxes"`  // live ones
	Messages  int64 `json:"messages"` // received and sent
	BlobBytes int64 `json:"blob_bytes"`
}

func (t *FolderTotals) addTotals(o FolderTotals) {
	t.Accounts += o.Accounts
	t.Inboxes += o.Inboxes
	t.Messages += o.Messages
	t.BlobBytes += o.BlobBytes
}

// totalsCounter are counted group by group on request. No stored count can be wrong after a crash, and
// commits do not pay for counting. A call takes about countFor: it counts all of 100,000 messages,
// but about a hundredth of ten million, and returns the previous counts of the other groups.
// Frequent calls also return previous counts, so that counting takes at most 1% of the time.
type totalsCounter struct {
	mu          sync.Mutex // guards all below
	groupTotals [partition.NumGroups]FolderTotals
	nextGroup   partition.Group
	allCounted  bool                  // every group was counted once
	restUntil   time.Time             // nothing is counted before this time
	linkedFiles linkedFiles[struct{}] // files with several names, in this pass over the groups
}

const countFor = 50 * time.Millisecond

var errUncounted = errors.New("not every group was counted yet")

// FolderTotals returns the sums. It fails with errUncounted until every group was counted once.
func (s *Store) ReadTotals() (sum FolderTotals, err error) {
	s.totalsCounter.mu.Lock()
	defer s.totalsCounter.mu.Unlock()
	if err := s.countOn(time.Now()); err != nil {
		return sum, err
	}
	if !s.totalsCounter.allCounted {
		return sum, errUncounted
	}
	for g, one := range s.totalsCounter.groupTotals {
		if s.owner.OwnsGroup(partition.Group(g)) {
			sum.addTotals(one)
		}
	}
	return sum, nil
}

// countOn continues counting with the next groups for about countFor.
func (s *Store) countOn(began time.Time) error {
	if began.Before(s.totalsCounter.restUntil) {
		return nil
	}
	for n := 0; n < partition.NumGroups && time.Since(began) < countFor; n++ {
		if err := s.countNext(); err != nil {
			return err
		}
	}
	s.totalsCounter.restUntil = time.Now().Add(100 * time.Since(began))
	return nil
}

func (s *Store) countNext() error {
	t := &s.totalsCounter
	var c FolderTotals
	for _, part := range []struct {
		kind rowKind
		row  func(c *FolderTotals, key, value []byte)
	}{{kindInbox, countInbox}, {kindAccount, countAccount}, {kindBlob, s.countBlob}} {
		err := s.scanRows(partitionsOf(part.kind, t.nextGroup), func(key, value []byte) error {
			part.row(&c, key, value)
			return nil
		})
		if err != nil {
			return err
		}
	}
	t.groupTotals[t.nextGroup] = c
	t.nextGroup = (t.nextGroup + 1) % partition.NumGroups
	if t.nextGroup == 0 {
		t.allCounted, t.linkedFiles = true, nil
	}
	return nil
}

// countInbox counts a row of an inbox. After the end of the address the key of a message has an id,
// and the key of the profile has nothing. Unreadable rows are reported by the calls that need them.
func countInbox(c *FolderTotals, key, value []byte) {
	if _, id, _ := bytes.Cut(key[prefixLen:], []byte{0}); len(id) > 0 {
		c.Messages++
		return
	}
	var r profileRecord
	if decodeRecord(value, &r) == nil && r.CreatedAt != 0 && r.DeletedAt == 0 {
		c.Inboxes++
	}
}

func countAccount(c *FolderTotals, key, value []byte) {
	if len(key) > prefixLen+idLen {
		return // a session or another row of an account
	}
	var r accountRecord
	if decodeRecord(value, &r) == nil && r.CreatedAt != 0 && r.ClosingAt == 0 {
		c.Accounts++
	}
}

// countBlob counts a file that recipients share only once, at the first of its names.
func (s *Store) countBlob(c *FolderTotals, _, value []byte) {
	var r blobRecord
	if decodeRecord(value, &r) != nil {
		return
	}
	if r.IsShared {
		_, counted, keep := s.totalsCounter.linkedFiles.findLinked(s.folder.FS, s.blobFiles.filePath(r.BlobName.fileName()))
		if counted {
			return
		}
		keep(struct{}{})
	}
	c.BlobBytes += int64(r.Size)
}
