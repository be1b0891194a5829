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

// Store is an open store. A test sets Before and After while no commit is in progress; everything
// else may be used from any goroutine.
type Store struct {
	*persist.Store
	fs *vfs.MemFS

	// Before runs before each commit of rows: it may block the commit, panic, or fail it.
	Before func(rows any) error
	mu     sync.Mutex // guards Before for SetBefore
	// After runs after each successful commit of rows, before the commit returns. Its result is
	// returned in place of nil.
	After func(rows any) error

	held                    sync.Map // partition.ID → *held
	full                    atomic.Bool
	ahead                   *atomic.Int64 // nanoseconds
	commits, accountLookups atomic.Int64
	planLookups             atomic.Int64
}

// Open creates an empty store that lives until the test ends. Nothing in it runs only by the clock,
// so that it costs nothing to let days pass in a synctest bubble.
func Open(t TB) *Store {
	t.Helper()
	return open(t, vfs.NewMem(), new(atomic.Int64), nil)
}

// OpenOwned is Open on a node with this owner.
func OpenOwned(t TB, owner *partition.Owner) *Store {
	t.Helper()
	return open(t, vfs.NewMem(), new(atomic.Int64), owner)
}

// OpenCrashableOwned is OpenOwned for a test that calls Crash or CrashOwned. Crash opens the store
// as on a node without others.
func OpenCrashableOwned(t TB, owner *partition.Owner) *Store {
	t.Helper()
	return open(t, vfs.NewCrashableMem(), new(atomic.Int64), owner)
}

// OpenCrashable is Open for a test that calls Crash. Every fsync then copies the log.
func OpenCrashable(t TB) *Store {
	t.Helper()
	return open(t, vfs.NewCrashableMem(), new(atomic.Int64), nil)
}

// Crash opens what a power loss at this moment would leave.
func (s *Store) Crash(t TB) *Store {
	t.Helper()
	return s.CrashOwned(t, nil)
}

// CrashOwned is Crash on a node with this owner.
func (s *Store) CrashOwned(t TB, owner *partition.Owner) *Store {
	t.Helper()
	return open(t, s.fs.CrashClone(vfs.CrashCloneCfg{}), s.ahead, owner)
}

func open(t TB, fs *vfs.MemFS, ahead *atomic.Int64, owner *partition.Owner) *Store {
	t.Helper()
	disk, err := persist.Open("data", persist.Options{
		Owner: owner, FS: fs, Logger: slog.New(slog.DiscardHandler), Still: true,
		// Rows stay in memtables: tables are expensive under the race detector.
		MemTableBytes: 64 << 20, CacheBytes: 8 << 20,
		Now:  func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) },
		Exit: func(int) { panic("the store ended the process") },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := disk.Close(); err != nil {
			t.Fatal(err)
		}
	})
	return &Store{Store: disk, fs: fs, ahead: ahead}
}

// SetAhead sets the store's clock ahead of the real one until it is set again, also across crashes.
func (s *Store) SetAhead(d time.Duration) { s.ahead.Store(int64(d)) }

// held is a partition whose positions are not reached yet.
type held struct {
	over    chan struct{} // closed on release
	waiting atomic.Int64
}

// Hold keeps positions of the partition from being reached until release is called.
func (s *Store) Hold(p partition.ID) (release func()) {
	h := &held{over: make(chan struct{})}
	s.held.Store(p, h)
	return func() { s.held.Delete(p); close(h.over) }
}

// Awaited returns how many callers wait for positions of the partition, which must be held.
func (s *Store) Awaited(p partition.ID) int64 {
	h, _ := s.held.Load(p)
	return h.(*held).waiting.Load()
}

// Reached waits while the partition is held.
func (s *Store) Reached(at partition.Position) error {
	if h, ok := s.held.Load(at.Partition); ok {
		h := h.(*held)
		h.waiting.Add(1)
		<-h.over
	}
	return s.Store.Reached(at)
}

// SetFull makes the disk full, or gives it space again.
func (s *Store) SetFull(full bool) { s.full.Store(full) }

// Full returns what SetFull last set.
func (s *Store) Full() bool { return s.full.Load() }

// Commits counts the successful commits.
func (s *Store) Commits() int { return int(s.commits.Load()) }

// AccountLookups counts the calls of AccountOf.
func (s *Store) AccountLookups() int { return int(s.accountLookups.Load()) }

// PlanLookups counts the calls of PlanOf.
func (s *Store) PlanLookups() int { return int(s.planLookups.Load()) }

// OnceRecords counts the request records.
func (s *Store) OnceRecords() (n int) {
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

// SetBefore sets Before while commits may be in progress.
func (s *Store) SetBefore(before func(rows any) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Before = before
}

// commit runs Before, the write and After.
func (s *Store) commit(rows any, write func() error) error {
	s.mu.Lock()
	before := s.Before
	s.mu.Unlock()
	if before != nil {
		if err := before(rows); err != nil {
			return err
		}
	}
	if err := write(); err != nil {
		return err
	}
	s.commits.Add(1)
	if s.After != nil {
		return s.After(rows)
	}
	return nil
}

// CommitInbox refuses messages while the disk is full.
func (s *Store) CommitInbox(r *inbox.Rows) error {
	return s.commit(r, func() error {
		if s.Full() && len(r.Store) > 0 {
			return fault.New(fault.StorageFull, "The disk is full, try again later")
		}
		return s.Store.CommitInbox(r)
	})
}

// CommitAccount runs Before and After around the commit.
func (s *Store) CommitAccount(r *account.Rows) error {
	return s.commit(r, func() error { return s.Store.CommitAccount(r) })
}

// CommitDomain runs Before and After around the commit.
func (s *Store) CommitDomain(r *domain.Rows) error {
	return s.commit(r, func() error { return s.Store.CommitDomain(r) })
}

// CommitDeliveries runs Before and After around the commit.
func (s *Store) CommitDeliveries(id account.ID, changes []webhook.Change) error {
	return s.commit(changes, func() error { return s.Store.CommitDeliveries(id, changes) })
}

// SetEmail runs Before and After around the commit.
func (s *Store) SetEmail(email string, holder account.Holding) error {
	return s.commit(email, func() error { return s.Store.SetEmail(email, holder) })
}

// SetSubdomain runs Before and After around the commit.
func (s *Store) SetSubdomain(label string, holder account.Holding) error {
	return s.commit(label, func() error { return s.Store.SetSubdomain(label, holder) })
}

// PlanOf counts its calls.
func (s *Store) PlanOf(id account.ID) (account.PlanName, error) {
	s.planLookups.Add(1)
	return s.Store.PlanOf(id)
}

// AccountOf counts its calls.
func (s *Store) AccountOf(address string) (account.ID, error) {
	s.accountLookups.Add(1)
	return s.Store.AccountOf(address)
}
