// Package persisttest provides a data folder in memory for tests of everything above the store. It
// is the store itself, on a file system that can lose unsynced data. A test can block, fail and
// count its commits. The package is not part of the program and does not know what rows contain.
package persisttest

import (
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"inboxd/internal/base/fault"
	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
	"inboxd/internal/core/domain"
	"inboxd/internal/core/inbox"
	"inboxd/internal/core/webhook"
	"inboxd/persist"
)

// TB is what a store needs from a test, a property test or a benchmark.
type TB interface {
	Helper()
	Fatal(...any)
	Cleanup(func())
}

// TestStore is an open store. A test sets BeforeCommit and AfterCommit while no commit is in
// progress; everything else may be used from any goroutine.
type TestStore struct {
	*persist.Store
	fs *vfs.MemFS

	// BeforeCommit runs before each commit of rows: it may block the commit, panic, or fail it.
	BeforeCommit func(rows any) error
	mu           sync.Mutex // guards BeforeCommit for SetBefore
	// AfterCommit runs after each successful commit of rows, before the commit returns. Its result is
	// returned in place of nil.
	AfterCommit func(rows any) error

	heldPartitions              sync.Map // partition.ID → *held
	isFull                      atomic.Bool
	clockAhead                  *atomic.Int64 // nanoseconds
	commitCount, accountLookups atomic.Int64
	planLookups                 atomic.Int64
}

// OpenStore creates an empty store that lives until the test ends. Nothing in it runs only by the
// clock, so that it costs nothing to let days pass in a synctest bubble.
func OpenStore(t TB) *TestStore {
	t.Helper()
	return openStore(t, vfs.NewMem(), new(atomic.Int64), nil)
}

// OpenOwned is Open on a node with this owner.
func OpenOwned(t TB, owner *partition.OwnershipState) *TestStore {
	t.Helper()
	return openStore(t, vfs.NewMem(), new(atomic.Int64), owner)
}

// OpenCrashableOwned is OpenOwned for a test that calls CrashCopy or CrashOwned. Crash opens the store
// as on a node without others.
func OpenCrashableOwned(t TB, owner *partition.OwnershipState) *TestStore {
	t.Helper()
	return openStore(t, vfs.NewCrashableMem(), new(atomic.Int64), owner)
}

// OpenCrashable is Open for a test that calls CrashCopy. Every fsync then copies the log.
func OpenCrashable(t TB) *TestStore {
	t.Helper()
	return openStore(t, vfs.NewCrashableMem(), new(atomic.Int64), nil)
}

// CrashCopy opens what a power loss at this moment would leave.
func (s *TestStore) CrashCopy(t TB) *TestStore {
	t.Helper()
	return s.CrashOwned(t, nil)
}

// CrashOwned is CrashCopy on a node with this owner.
func (s *TestStore) CrashOwned(t TB, owner *partition.OwnershipState) *TestStore {
	t.Helper()
	return openStore(t, s.fs.CrashClone(vfs.CrashCloneCfg{}), s.clockAhead, owner)
}

func openStore(t TB, fs *vfs.MemFS, ahead *atomic.Int64, owner *partition.OwnershipState) *TestStore {
	t.Helper()
	disk, err := persist.Open("data", persist.Options{
		Owner: owner, FS: fs, Logger: slog.New(slog.DiscardHandler), DisableTimers: true,
		// Rows stay in memtables: tables are expensive under the race detector.
		MemTableBytes: 64 << 20, CacheBytes: 8 << 20,
		Now:         func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) },
		ExitProcess: func(int) { panic("the store ended the process") },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := disk.Close(); err != nil {
			t.Fatal(err)
		}
	})
	return &TestStore{Store: disk, fs: fs, clockAhead: ahead}
}

// SetAhead sets the store's clock ahead of the real one until it is set again, also across crashes.
func (s *TestStore) SetAhead(d time.Duration) { s.clockAhead.Store(int64(d)) }

// heldPartition is a partition whose positions are not reached yet.
type heldPartition struct {
	releasedCh   chan struct{} // closed on release
	waitingCount atomic.Int64
}

// HoldPositions keeps positions of the partition from being reached until release is called.
func (s *TestStore) HoldPositions(p partition.ID) (release func()) {
	h := &heldPartition{releasedCh: make(chan struct{})}
	s.heldPartitions.Store(p, h)
	return func() { s.heldPartitions.Delete(p); close(h.releasedCh) }
}

// WaitingCount returns how many callers wait for positions of the partition, which must be held.
func (s *TestStore) WaitingCount(p partition.ID) int64 {
	h, _ := s.heldPartitions.Load(p)
	return h.(*heldPartition).waitingCount.Load()
}

// WaitForPosition waits while the partition is held.
func (s *TestStore) WaitForPosition(at partition.Position) error {
	if h, ok := s.heldPartitions.Load(at.Partition); ok {
		h := h.(*heldPartition)
		h.waitingCount.Add(1)
		<-h.releasedCh
	}
	return s.Store.WaitForPosition(at)
}

// SetFull makes the disk full, or gives it space again.
func (s *TestStore) SetFull(full bool) { s.isFull.Store(full) }

// IsFull returns what SetFull last set.
func (s *TestStore) IsFull() bool { return s.isFull.Load() }

// CommitCount counts the successful commits.
func (s *TestStore) CommitCount() int { return int(s.commitCount.Load()) }

// AccountLookups counts the calls of AccountOf.
func (s *TestStore) AccountLookups() int { return int(s.accountLookups.Load()) }

// PlanLookups counts the calls of PlanOf.
func (s *TestStore) PlanLookups() int { return int(s.planLookups.Load()) }

// OnceRecords counts the request records.
func (s *TestStore) OnceRecords() (n int) {
	for place := []byte(nil); ; n++ {
		next, err := s.ForgetOnce(time.Time{}, place, 1, nil) // no record is that old
		if err != nil {
			panic(fmt.Sprint("counting records of requests: ", err))
		}
		if place = next; place == nil {
			return n
		}
	}
}

// SetBefore sets BeforeCommit while commits may be in progress.
func (s *TestStore) SetBefore(before func(rows any) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.BeforeCommit = before
}

// commitRows runs BeforeCommit, the write and AfterCommit.
func (s *TestStore) commitRows(rows any, write func() error) error {
	s.mu.Lock()
	before := s.BeforeCommit
	s.mu.Unlock()
	if before != nil {
		if err := before(rows); err != nil {
			return err
		}
	}
	if err := write(); err != nil {
		return err
	}
	s.commitCount.Add(1)
	if s.AfterCommit != nil {
		return s.AfterCommit(rows)
	}
	return nil
}

// CommitInbox refuses messages while the disk is full.
func (s *TestStore) CommitInbox(r *inbox.Rows) error {
	return s.commitRows(r, func() error {
		if s.IsFull() && len(r.StoreMessages) > 0 {
			return fault.New(fault.StorageFull, "The disk is full, try again later")
		}
		return s.Store.CommitInbox(r)
	})
}

// CommitAccount runs BeforeCommit and AfterCommit around the commit.
func (s *TestStore) CommitAccount(r *account.Rows) error {
	return s.commitRows(r, func() error { return s.Store.CommitAccount(r) })
}

// CommitDomain runs BeforeCommit and AfterCommit around the commit.
func (s *TestStore) CommitDomain(r *domain.Rows) error {
	return s.commitRows(r, func() error { return s.Store.CommitDomain(r) })
}

// CommitDeliveries runs BeforeCommit and AfterCommit around the commit.
func (s *TestStore) CommitDeliveries(id account.ID, changes []webhook.DeliveryChange) error {
	return s.commitRows(changes, func() error { return s.Store.CommitDeliveries(id, changes) })
}

// SetEmail runs BeforeCommit and AfterCommit around the commit.
func (s *TestStore) SetEmail(email string, holder account.NameHolder) error {
	return s.commitRows(email, func() error { return s.Store.SetEmail(email, holder) })
}

// SetSubdomain runs BeforeCommit and AfterCommit around the commit.
func (s *TestStore) SetSubdomain(label string, holder account.NameHolder) error {
	return s.commitRows(label, func() error { return s.Store.SetSubdomain(label, holder) })
}

// PlanOf counts its calls.
func (s *TestStore) PlanOf(id account.ID) (account.PlanName, error) {
	s.planLookups.Add(1)
	return s.Store.PlanOf(id)
}

// AccountOf counts its calls.
func (s *TestStore) AccountOf(address string) (account.ID, error) {
	s.accountLookups.Add(1)
	return s.Store.AccountOf(address)
}
