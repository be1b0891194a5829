package persist

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
	"inboxd/internal/core/webhook"
)

// fillFolder creates the content of the golden folders: every kind of due entry, and events that
// are in the outbox, in the journal, and in both, as a crash leaves them.
func fillFolder(t testing.TB, s *Store) {
	for i, addr := range folderInboxes {
		r := sent(addr, 1, at(100-i))
		r.DueTo, r.Profile.DueAt = at(50-i), at(50-i)
		must(t, s.CommitInbox(r))
		if i < 3 {
			must(t, s.AppendJournal(accountID(1), uint64(i+1), r.PublicEvents, deliveriesOf(accountID(1), i+1, i+1)))
		}
		if i < 2 {
			must(t, s.DropOutbox(r.PublicEvents))
		}
	}
	must(t, s.CommitAccount(&account.Rows{ID: accountID(1), Profile: &account.Profile{ID: accountID(1), Email: "ada@example.com", CreatedAt: at(0)}}))
	must(t, s.AppendJournal(accountID(2), 1, nil, deliveriesOf(accountID(2), 1, 9)))
	must(t, s.SyncJournal(accountID(2)))
}

var folderInboxes = []string{"a@example.org", "b@example.org", "c@example.org", "d@example.org"}

// TestGoldenFolder reads all of a data folder that an earlier build of this format wrote.
func TestGoldenFolder(t *testing.T) {
	dir := filepath.Join("testdata", "folders", "format-2")
	if *update {
		mem := vfs.NewMem()
		o := options(mem)
		o.DisableTimers, o.BallastBytes, o.ReserveBytes = true, 1, 1
		s, err := Open(folder, o)
		must(t, err)
		fillFolder(t, s)
		must(t, s.Close())
		must(t, os.RemoveAll(dir))
		_, err = vfs.Clone(mem, vfs.Default, folder, dir)
		must(t, err)
	}
	mem := vfs.NewMem()
	if found, err := vfs.Clone(vfs.Default, mem, dir, folder, vfs.CloneSync); err != nil || !found {
		t.Fatal("no golden folder: ", err)
	}
	for range 2 {
		s, err := Open(folder, options(mem))
		must(t, err)
		if err := checkFolder(s); err != nil {
			t.Error(err)
		}
		closeStore(t, s)
	}
}

// checkFolder compares a store with what fillFolder created.
func checkFolder(s *Store) error {
	due, next, err := s.DueInboxes(at(48), 10)
	if want := []string{"d@example.org", "c@example.org"}; err != nil || !reflect.DeepEqual(addressesOf(due), want) || !next.Equal(at(49)) {
		return fmt.Errorf("due %v, then %v, %v", due, next, err)
	}
	queue, more, err := s.MailQueue(inbox.QueueEntry{At: at(98), Address: "c@example.org", ID: 1}, 10)
	if err != nil || more || len(queue) != 2 || queue[0].Address != "b@example.org" || !queue[1].At.Equal(at(100)) || queue[1].WaitingDomains[0] != "far.test" {
		return fmt.Errorf("queue %v, %v, %v", queue, more, err)
	}
	calls, more, err := s.DueDeliveries(webhook.DueEntry{}, 3)
	if err != nil || !more || len(calls) != 3 || calls[0].ID != 9 || calls[0].Account != accountID(2) || calls[0].Webhook != 2 || calls[2].ID != 5 {
		return fmt.Errorf("due deliveries %v, %v, %v", calls, more, err)
	}
	if calls, _, err = s.DueDeliveries(webhook.DueEntry{}, 30); err != nil || len(calls) != 7 {
		return fmt.Errorf("due deliveries %v, %v", calls, err)
	}
	waiting := folderInboxes[2:]
	out, err := s.Outbox(10)
	for i := range out {
		if err == nil && out[i].Address != waiting[i] {
			err = fmt.Errorf("unexpected")
		}
	}
	if err != nil || len(out) != len(waiting) {
		return fmt.Errorf("outbox %v, %v", out, err)
	}
	if end, err := s.JournalEnd(accountID(1)); end != 3 || err != nil {
		return fmt.Errorf("the journal ends at %d, %v", end, err)
	}
	return nil
}
