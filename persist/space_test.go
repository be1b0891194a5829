package persist

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
	"inboxd/persist/disk"
)

// fakeDisk is a disk whose free space the test sets.
type fakeDisk struct{ free atomic.Uint64 }

func (d *fakeDisk) space() (uint64, uint64, error) { return d.free.Load(), 1000 * mib, nil }

func TestFullStoreReadsAndRemoves(t *testing.T) {
	fs, space := vfs.NewMem(), &fakeDisk{}
	space.free.Store(500 * mib)
	o := options(fs)
	o.FreeSpace, o.ReserveBytes, o.BallastBytes = space.space, 100*mib, 10*mib
	s, err := Open(folder, o)
	must(t, err)
	defer closeStore(t, s)
	must(t, s.CommitInbox(mail(victim, 1, "x")))
	must(t, s.CommitInbox(mail(victim, 2, "x")))
	ballast := fs.PathJoin(folder, disk.BallastName)
	if _, err := fs.Stat(ballast); err != nil {
		t.Errorf("no ballast: %v", err)
	}
	space.free.Store(99 * mib)
	s.folder.SpaceGuard.MeasureDisk()
	if !s.IsFull() || !fault.Is(s.CheckWritable(), fault.StorageFull) {
		t.Fatal("new data are accepted below the reserve")
	}
	if _, err := fs.Stat(ballast); !os.IsNotExist(err) {
		t.Errorf("the ballast was kept: %v", err)
	}
	checkClosed(t, s)
	space.free.Store(135 * mib)
	s.folder.SpaceGuard.MeasureDisk()
	must(t, s.CommitInbox(mail(victim, 3, "x")))
	if st := s.ReadStats(); st.FullCount != 1 || st.DiskTotal != 1000*mib {
		t.Errorf("stats %+v", st)
	}
}

// checkClosed checks what succeeds on a full disk: only reads and removals.
func checkClosed(t *testing.T, s *Store) {
	id := accountID(1)
	for name, err := range map[string]error{
		"mail":     s.CommitInbox(mail(victim, 3, "x")),
		"creation": s.CommitInbox(&inbox.Rows{Address: "new@example.org", Profile: &inbox.Profile{CreatedAt: at(0)}}),
		"mark":     s.CommitInbox(&inbox.Rows{Address: victim, PutMessages: mail(victim, 1, "x").PutMessages}),
		"account":  s.CommitAccount(&account.Rows{ID: id, Profile: &account.Profile{ID: id}}),
		"key":      s.CommitAccount(&account.Rows{ID: id, PutKeys: []*account.APIKey{{ID: 1}}}),
		"reserve":  s.CommitAccount(&account.Rows{ID: id, PutInboxes: []account.InboxEntry{{Address: "x"}}}),
		"e-mail":   s.SetEmail("e@example.org", account.NameHolder{Account: id}),
	} {
		if !fault.Is(err, fault.StorageFull) {
			t.Errorf("%s on a full disk: %v", name, err)
		}
	}
	must(t, s.CommitInbox(&inbox.Rows{Address: victim, DropMessages: mail(victim, 1, "x").PutMessages}))
	must(t, s.CommitInbox(&inbox.Rows{Address: "gone@example.org", Profile: &inbox.Profile{DeletedAt: at(1)}}))
	must(t, s.CommitAccount(&account.Rows{ID: id, DropKeys: []*account.APIKey{{ID: 1}}}))
	must(t, s.CommitAccount(&account.Rows{ID: id, Profile: &account.Profile{ID: id}, PutInboxes: []account.InboxEntry{{Address: "x", IsLive: true}}}))
	if raw, err := s.ReadRaw(victim, 2); err != nil || string(raw) != "x" {
		t.Errorf("a read on a full disk: %q %v", raw, err)
	}
}

// TestBigMailBeforeTheReserve refuses one message that would exceed the reserve, but not small
// ones.
func TestBigMailBeforeTheReserve(t *testing.T) {
	space := &fakeDisk{}
	space.free.Store(110 * mib)
	o := options(vfs.NewMem())
	o.FreeSpace, o.ReserveBytes, o.BallastBytes = space.space, 80*mib, 1*mib
	s, err := Open(folder, o)
	must(t, err)
	defer closeStore(t, s)
	if err := s.CommitInbox(mail(victim, 1, strings.Repeat("x", 20*mib))); !fault.Is(err, fault.StorageFull) {
		t.Errorf("20 MiB into 30: %v", err)
	}
	if n := s.ReadStats().FullCount; n != 1 {
		t.Errorf("refused %d times", n)
	}
	must(t, s.CommitInbox(mail(victim, 1, "small")))
	if s.IsFull() {
		t.Error("small mail is refused too")
	}
}

// TestNoSpaceWaits makes log writes fail with ENOSPC: the commit waits, nothing fails, and it
// succeeds when there is space.
func TestNoSpaceWaits(t *testing.T) {
	mem := vfs.NewCrashableMem()
	var full atomic.Bool
	var refused atomic.Int64
	o := options(errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if full.Load() && op.Kind == errorfs.OpFileWrite {
			refused.Add(1)
			return fmt.Errorf("write %s: %w", op.Path, syscall.ENOSPC)
		}
		return nil
	})))
	s, err := Open(folder, o)
	must(t, err)
	full.Store(true)
	answered := make(chan error, 1)
	go func() { answered <- s.CommitInbox(mail(victim, 1, "x")) }()
	eventually(t, "the store is full", s.IsFull)
	eventually(t, "the write is tried again", func() bool { return refused.Load() > 2 })
	if err := s.CommitInbox(mail("other@example.org", 1, "x")); !fault.Is(err, fault.StorageFull) {
		t.Errorf("second mail: %v", err)
	}
	select {
	case err := <-answered:
		t.Fatalf("the commit ended on a full disk: %v", err)
	default:
	}
	full.Store(false)
	must(t, <-answered)
	eventually(t, "the store has space", func() bool { return !s.IsFull() })
	must(t, s.CommitInbox(mail(victim, 2, "x")))
	closeStore(t, s)
	s = open(t, mem.CrashClone(vfs.CrashCloneCfg{}))
	if raw, err := s.ReadRaw(victim, 1); err != nil || string(raw) != "x" {
		t.Errorf("the mail that waited came back as %q %v", raw, err)
	}
}

// TestNoDescriptorWaits checks that a log or table that cannot be created for lack of a descriptor
// is created once one is free.
func TestNoDescriptorWaits(t *testing.T) {
	var out atomic.Bool
	var refused atomic.Int64
	o := options(errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if out.Load() && op.Kind == errorfs.OpCreate {
			refused.Add(1)
			return fmt.Errorf("create %s: %w", op.Path, syscall.EMFILE)
		}
		return nil
	})))
	o.ExitProcess = func(int) {
		t.Error("the process would end")
		select {}
	}
	s, err := Open(folder, o)
	must(t, err)
	defer closeStore(t, s)
	must(t, s.CommitInbox(mail(victim, 1, "x")))
	out.Store(true)
	flushed := make(chan error, 1)
	go func() { flushed <- s.db.Flush() }()
	eventually(t, "it is tried again", func() bool { return refused.Load() > 2 })
	if raw, err := s.ReadRaw(victim, 1); err != nil || string(raw) != "x" {
		t.Errorf("meanwhile read as %q, %v", raw, err)
	}
	out.Store(false)
	must(t, <-flushed)
	must(t, s.CommitInbox(mail(victim, 2, "x")))
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	end := time.After(30 * time.Second)
	for !is() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("%s: not within 30 s", what)
		}
	}
}
