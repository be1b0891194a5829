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

// Stats is a snapshot of the store for metrics. Counts are since Open unless their comment says
// "now".
type Stats struct {
	Commits       uint64        `json:"commits"`        // synced commits on disk, of all runs
	CommitBytes   uint64        `json:"commit_bytes"`   // bytes in synced batches
	CommitSeconds meter.Reading `json:"commit_seconds"` // seconds of synced commits, of this run
	Blobs         int64         `json:"blobs"`          // blob files now

	DamagedItems int `json:"damaged_items"` // messages and inboxes, found since the start
	DamagedFiles int `json:"damaged_files"` // found since the start

	DiskFree  uint64 `json:"disk_free_bytes"` // bytes; 0 if the file system does not report it
	DiskTotal uint64 `json:"disk_total_bytes"`
	Full      bool   `json:"full"`       // new data are refused now
	FullCount uint64 `json:"full_count"` // times that Full began, and writes too large for the free space

	WALBytes       uint64 `json:"wal_bytes"`             // live bytes in the log now
	MemTableBytes  uint64 `json:"mem_table_bytes"`       // now
	TableBytes     uint64 `json:"table_bytes"`           // in tables now
	ValueBytes     uint64 `json:"value_bytes"`           // in the engine's value files now
	L0Sublevels    int32  `json:"l0_sublevels"`          // now; writes stop at L0StopWritesThreshold
	JournalBytes   uint64 `json:"journal_bytes"`         // in tables now, about, of the change journals
	EngineBytes    uint64 `json:"engine_bytes"`          // on disk now, without blobs
	CompactionDebt uint64 `json:"compaction_debt_bytes"` // estimated bytes to compact now
	Flushes        int64  `json:"flushes"`
	Compactions    int64  `json:"compactions"`
	FailedCompacts int64  `json:"failed_compacts"`
	CacheHits      int64  `json:"cache_hits"`
	CacheMisses    int64  `json:"cache_misses"`
}

// Full reports whether new data are refused now: because space is short, the disk does not
// respond, or the folder is missing from its path (ADR 0042).
func (e *engine) Full() bool { return e.folder.Refuses() }

// Writable returns nil if a commit that adds bytes succeeded recently or could succeed now.
// Otherwise it returns the fault of such a commit. It may take two seconds.
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

// ClockTrusted reports whether messages may be removed by the wall clock (ADR 0043).
func (e *engine) ClockTrusted() bool { return e.folder.Commits.Clock().Trusted() }

// Unheard returns the time range of changes that survived a crash but may be unacknowledged. Both
// times are zero if there are none (ADR 0044).
func (e *engine) Unheard() (from, to time.Time) { return e.folder.Commits.Unheard() }

// ClockSeen reads the clock and returns the latest reading that was ever trusted (ADR 0057).
func (e *engine) ClockSeen() time.Time { return e.folder.Commits.Clock().Seen() }

// Stats takes the snapshot. After Close the metrics of Pebble are zero.
func (s *Store) Stats() Stats {
	st := Stats{Commits: s.folder.Commits.Count(), CommitBytes: s.bytes.Load(), CommitSeconds: s.commitSeconds.Read(), Blobs: s.blobs.count.Load(), Full: s.folder.Space.Full(),
		DamagedItems: s.damage.count(), DamagedFiles: s.folder.Damage.Files()}
	st.DiskFree, st.DiskTotal, st.FullCount = s.folder.Space.Measured()
	_ = s.during(func() error {
		m := s.db.Metrics()
		st.WALBytes, st.MemTableBytes = m.WAL.Size, m.MemTable.Size
		st.TableBytes, st.ValueBytes = m.Table.Local.LiveSize, m.BlobFiles.LiveSize
		st.L0Sublevels, st.CompactionDebt = m.Levels[0].Sublevels, m.Compact.EstimatedDebt
		st.EngineBytes = m.DiskSpaceUsage()
		st.JournalBytes, _ = s.db.EstimateDiskUsage(ofKind(kindJournal).from, ofKind(kindJournal).to) // read errors are reported by the readers of the rows
		st.Flushes, st.Compactions, st.FailedCompacts = m.Flush.Count, m.Compact.Count, m.Compact.FailedCount
		st.CacheHits, st.CacheMisses = m.BlockCache.Hits, m.BlockCache.Misses
		return nil
	})
	return st
}

// Totals count what the folder holds in the groups of this node.
type Totals struct {
	Accounts  int64 `json:"accounts"` // without those being deleted
	Inboxes   int64 `json:"inboxes"`  // live ones
	Messages  int64 `json:"messages"` // received and sent
	BlobBytes int64 `json:"blob_bytes"`
}

func (t *Totals) add(o Totals) {
	t.Accounts += o.Accounts
	t.Inboxes += o.Inboxes
	t.Messages += o.Messages
	t.BlobBytes += o.BlobBytes
}

// totals are counted group by group on request. No stored count can be wrong after a crash, and
// commits do not pay for counting. A call takes about countFor: it counts all of 100,000 messages,
// but about a hundredth of ten million, and returns the previous counts of the other groups.
// Frequent calls also return previous counts, so that counting takes at most 1% of the time.
type totals struct {
	mu     sync.Mutex // guards all below
	groups [partition.Groups]Totals
	next   partition.Group
	turned bool             // every group was counted once
	rest   time.Time        // nothing is counted before this time
	linked linked[struct{}] // files with several names, in this pass over the groups
}

const countFor = 50 * time.Millisecond

var errUncounted = errors.New("not every group was counted yet")

// Totals returns the sums. It fails with errUncounted until every group was counted once.
func (s *Store) Totals() (sum Totals, err error) {
	s.totals.mu.Lock()
	defer s.totals.mu.Unlock()
	if err := s.countOn(time.Now()); err != nil {
		return sum, err
	}
	if !s.totals.turned {
		return sum, errUncounted
	}
	for g, one := range s.totals.groups {
		if s.owner.Owns(partition.Group(g)) {
			sum.add(one)
		}
	}
	return sum, nil
}

// countOn continues counting with the next groups for about countFor.
func (s *Store) countOn(began time.Time) error {
	if began.Before(s.totals.rest) {
		return nil
	}
	for n := 0; n < partition.Groups && time.Since(began) < countFor; n++ {
		if err := s.countNext(); err != nil {
			return err
		}
	}
	s.totals.rest = time.Now().Add(100 * time.Since(began))
	return nil
}

func (s *Store) countNext() error {
	t := &s.totals
	var c Totals
	for _, part := range []struct {
		kind kind
		row  func(c *Totals, key, value []byte)
	}{{kindInbox, countInbox}, {kindAccount, countAccount}, {kindBlob, s.countBlob}} {
		err := s.scan(partitionsOf(part.kind, t.next), func(key, value []byte) error {
			part.row(&c, key, value)
			return nil
		})
		if err != nil {
			return err
		}
	}
	t.groups[t.next] = c
	t.next = (t.next + 1) % partition.Groups
	if t.next == 0 {
		t.turned, t.linked = true, nil
	}
	return nil
}

// countInbox counts a row of an inbox. After the end of the address the key of a message has an id,
// and the key of the profile has nothing. Unreadable rows are reported by the calls that need them.
func countInbox(c *Totals, key, value []byte) {
	if _, id, _ := bytes.Cut(key[prefixLen:], []byte{0}); len(id) > 0 {
		c.Messages++
		return
	}
	var r profileRecord
	if decode(value, &r) == nil && r.CreatedAt != 0 && r.DeletedAt == 0 {
		c.Inboxes++
	}
}

func countAccount(c *Totals, key, value []byte) {
	if len(key) > prefixLen+idLen {
		return // a session or another row of an account
	}
	var r accountRecord
	if decode(value, &r) == nil && r.CreatedAt != 0 && r.ClosingAt == 0 {
		c.Accounts++
	}
}

// countBlob counts a file that recipients share only once, at the first of its names.
func (s *Store) countBlob(c *Totals, _, value []byte) {
	var r blobRecord
	if decode(value, &r) != nil {
		return
	}
	if r.Shared {
		_, counted, keep := s.totals.linked.find(s.folder.FS, s.blobs.path(r.Name.file()))
		if counted {
			return
		}
		keep(struct{}{})
	}
	c.BlobBytes += int64(r.Size)
}
