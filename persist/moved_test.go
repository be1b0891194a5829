package persist

import (
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"inboxd/internal/base/fault"
	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
)

// TestBatchesOfMovedGroupsAreRefused covers synced and unsynced batches: nothing of them is
// written. Due entries of moved groups are not read. Everything is back when the group returns.
func TestBatchesOfMovedGroupsAreRefused(t *testing.T) {
	o := options(vfs.NewMem())
	o.Owner = partition.NewOwner(partition.AllGroups())
	s, err := Open(folder, o)
	must(t, err)
	defer closeStore(t, s)
	stays, goes, id := "a@example.org", "b@example.org", accountID(1)
	group := partition.Of(goes).Group()
	if partition.Of(stays).Group() == group || id.HomePartition().Group() == group {
		t.Fatal("one group for all")
	}
	events := func(addr string) []inbox.PublicEvent {
		return []inbox.PublicEvent{{Account: id, Address: addr, SequenceNumber: 1, At: at(1)}}
	}
	for _, addr := range []string{stays, goes} {
		r := sent(addr, 1, at(10))
		r.PublicEvents = events(addr)
		must(t, s.CommitInbox(r))
	}
	s.owner.SetOwned(group, false)
	commits := s.ReadStats().SyncedCommits
	for name, err := range map[string]error{
		"commit": s.CommitInbox(sent(goes, 2, at(20))),
		"drop":   s.DropOutbox(events(goes)),
		"name":   s.SetSubdomain(nameIn(group), account.NameHolder{Account: id}),
		"later":  s.AppendJournal(accountIn(group), 1, events(goes), nil),
	} {
		if !fault.Is(err, fault.MovedAway) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := s.ReadStats().SyncedCommits; got != commits {
		t.Errorf("%d commits were made", got-commits)
	}
	must(t, s.CommitInbox(sent(stays, 2, at(20))))
	addresses := func() (out []string) {
		queue, _, err := s.MailQueue(inbox.QueueEntry{}, 9)
		must(t, err)
		for _, q := range queue {
			out = append(out, q.Address)
		}
		must(t, s.EachQueued(func(q inbox.QueueEntry) { out = append(out, q.Address) }))
		slices.Sort(out)
		return out
	}
	if got := addresses(); !slices.Equal(got, []string{stays, stays, stays, stays}) {
		t.Errorf("due are %v", got)
	}
	s.owner.SetOwned(group, true)
	if got := addresses(); !slices.Equal(got, []string{stays, stays, stays, stays, goes, goes}) {
		t.Errorf("due are %v", got)
	}
}

// nameIn and accountIn return a name or an account in a group.
func nameIn(g partition.Group) string {
	for name := "a"; ; name += "a" {
		if partition.Of(name).Group() == g {
			return name
		}
	}
}

func accountIn(g partition.Group) account.ID {
	for n := byte(0); ; n++ {
		for m := range 8 {
			if id := account.NewID(at(m), [10]byte{n}); id.HomePartition().Group() == g {
				return id
			}
		}
	}
}

// TestDrainWaitsForBatches checks that Drain waits for the accepted batches of its group only.
func TestDrainWaitsForBatches(t *testing.T) {
	o := options(vfs.NewMem())
	o.Owner = partition.NewOwner(partition.AllGroups())
	s, err := Open(folder, o)
	must(t, err)
	defer closeStore(t, s)
	slow, other := partition.Of("a@example.org"), partition.Of("b@example.org")
	in, out, drained := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	watch := watchBatch
	defer func() { watchBatch = watch }()
	watchBatch = func(p partition.ID, b *pebble.Batch) {
		if watch(p, b); p == slow {
			close(in)
			<-out
		}
	}
	committed := make(chan error, 1)
	go func() { committed <- s.CommitInbox(sent("a@example.org", 1, at(10))) }()
	<-in
	s.owner.SetOwned(slow.Group(), false)
	go func() { drained <- s.DrainGroup(slow.Group()) }()
	must(t, s.DrainGroup(other.Group()))
	select {
	case err := <-drained:
		t.Error("a batch is under way, and was not waited for: ", err)
		drained <- err
	case <-time.After(20 * time.Millisecond):
	}
	close(out)
	must(t, <-drained)
	must(t, <-committed)
	s.owner.SetOwned(slow.Group(), true)
	if live, err := s.InboxExists("a@example.org"); !live || err != nil {
		t.Error(live, err)
	}
}
