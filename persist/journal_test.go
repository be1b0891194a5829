package persist

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"inboxd/internal/base/fault"
	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
	"inboxd/internal/core/changefeed"
	"inboxd/internal/core/inbox"
	"inboxd/internal/core/webhook"
)

func event(n int) inbox.PublicEvent {
	return inbox.PublicEvent{SequenceNumber: uint64(n), EventName: "message.received", Account: accountID(1), Address: victim, MessageID: int64(n), At: at(n)}
}

// entries reads up to limit entries of all inboxes and times.
func entries(t *testing.T, s *Store, id account.ID, after uint64, limit int) []changefeed.JournalEntry {
	t.Helper()
	page, err := s.JournalPage(id, after, "", time.Time{}, changefeed.EntryLimit(limit))
	must(t, err)
	return page.Entries
}

func TestJournal(t *testing.T) {
	s := open(t, vfs.NewMem())
	id := accountID(1)
	if n, err := s.JournalEnd(id); n != 0 || err != nil {
		t.Errorf("an empty journal ends at %d, %v", n, err)
	}
	must(t, s.AppendJournal(id, 1, []inbox.PublicEvent{event(1), event(2)}, nil))
	must(t, s.AppendJournal(id, 3, []inbox.PublicEvent{event(3)}, nil))
	must(t, s.AppendJournal(accountID(2), 1, []inbox.PublicEvent{event(9)}, nil))
	all := make([]changefeed.JournalEntry, 3)
	for i := range all {
		all[i] = changefeed.JournalEntry{Seq: uint64(i + 1), PublicEvent: event(i + 1)}
	}
	for after, want := range map[uint64][]changefeed.JournalEntry{0: all[:2], 1: all[1:], 2: all[2:], 3: nil, 1 << 63: nil} {
		if got := entries(t, s, id, after, 2); !reflect.DeepEqual(got, want) {
			t.Errorf("journal after %d: %v, want %v", after, got, want)
		}
	}
	if n, err := s.JournalEnd(id); n != 3 || err != nil {
		t.Errorf("the journal ends at %d, %v", n, err)
	}
	// Trimming keeps newer entries, and always the newest one: it holds the last number.
	for before, first := range map[time.Time]uint64{at(0): 1, at(1): 1} {
		must(t, s.TrimJournal(id, before))
		if got := entries(t, s, id, 0, 1); len(got) != 1 || got[0].Seq != first {
			t.Errorf("trimmed before %v: %v", before, got)
		}
	}
	must(t, s.TrimJournal(id, at(2)))
	if got := entries(t, s, id, 0, 10); !reflect.DeepEqual(got, all[1:]) {
		t.Errorf("trimmed before the second: %v", got)
	}
	must(t, s.TrimJournal(id, at(1000)))
	if got := entries(t, s, id, 0, 10); !reflect.DeepEqual(got, all[2:]) {
		t.Errorf("trimmed whole: %v", got)
	}
	if n, _ := s.JournalEnd(id); n != 3 {
		t.Errorf("the trimmed journal ends at %d", n)
	}
	if n, _ := s.JournalEnd(accountID(2)); n != 1 {
		t.Errorf("the other journal ends at %d", n)
	}
}

// TestOutboxGuardsTheJournal crashes at every state between commit, append and drop: an event is
// always in the outbox or in the journal.
func TestOutboxGuardsTheJournal(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := open(t, fs)
	check := func(step string) {
		after := open(t, fs.CrashClone(vfs.CrashCloneCfg{}))
		out, err := after.Outbox(10)
		must(t, err)
		journal := entries(t, after, accountID(1), 0, 10)
		if len(out)+len(journal) == 0 {
			t.Errorf("%s: the event is lost", step)
		}
	}
	r := mail(victim, 1, "x")
	must(t, s.CommitInbox(r))
	check("committed")
	must(t, s.AppendJournal(accountID(1), 1, r.PublicEvents, nil))
	check("appended")
	must(t, s.DropOutbox(r.PublicEvents))
	check("dropped")
	must(t, s.CommitInbox(mail("other@example.org", 1, "x"))) // syncs everything before it
	after := open(t, fs.CrashClone(vfs.CrashCloneCfg{}))
	out, err := after.Outbox(10)
	must(t, err)
	journal := entries(t, after, accountID(1), 0, 10)
	if len(out) != 1 || out[0].Address != "other@example.org" || len(journal) != 1 {
		t.Errorf("outbox %v, journal %v", out, journal)
	}
}

// TestADroppedEventIsGone covers rows in memory and on disk, and a second drop of the same event,
// as after a crash.
func TestADroppedEventIsGone(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs)
	early, late := mail(victim, 1, "x"), mail(victim, 2, "x")
	must(t, s.CommitInbox(early))
	must(t, s.DropOutbox(early.PublicEvents))
	must(t, s.CommitInbox(late))
	must(t, s.db.Flush())
	if out, err := s.Outbox(10); err != nil || !reflect.DeepEqual(out, late.PublicEvents) {
		t.Errorf("outbox %v, %v", out, err)
	}
	for range 2 {
		must(t, s.DropOutbox(late.PublicEvents))
		must(t, s.db.Flush())
		must(t, s.db.Compact(t.Context(), []byte{byte(kindOutbox)}, []byte{byte(kindOutbox) + 1}, false))
		if out, err := s.Outbox(10); err != nil || len(out) > 0 {
			t.Errorf("outbox %v, %v", out, err)
		}
	}
}

// TestJournalPage checks that a page returns how far it read, what it omitted, and whether there is
// a gap after the reader's position.
func TestJournalPage(t *testing.T) {
	s := open(t, vfs.NewMem())
	id := accountID(1)
	all := make([]inbox.PublicEvent, 6)
	for i := range all {
		all[i] = event(i + 1)
		all[i].Address = []string{victim, "other@example.org"}[i%2]
	}
	must(t, s.AppendJournal(id, 1, all, nil))
	for _, c := range []struct {
		name    string
		after   uint64
		address string
		since   time.Time
		limit   int
		want    []uint64
		last    uint64
		more    bool
		gap     bool
	}{
		{"whole", 0, "", time.Time{}, 10, []uint64{1, 2, 3, 4, 5, 6}, 6, false, false},
		{"to its limit", 1, "", time.Time{}, 2, []uint64{2, 3}, 3, true, false},
		{"exactly the rest", 4, "", time.Time{}, 2, []uint64{5, 6}, 6, false, false},
		{"at the end", 6, "", time.Time{}, 2, nil, 6, false, false},
		{"behind the end", 60, "", time.Time{}, 2, nil, 60, false, false},
		{"one inbox passes the other's", 0, victim, time.Time{}, 10, []uint64{1, 3, 5}, 6, false, false},
		{"one inbox to its limit", 0, victim, time.Time{}, 1, []uint64{1}, 1, true, false},
		{"nobody's", 2, "nobody@example.org", time.Time{}, 1, nil, 6, false, false},
		{"what is too old is left out", 1, "", at(4), 10, []uint64{4, 5, 6}, 6, false, true},
		{"nothing is too old", 4, "", at(4), 10, []uint64{5, 6}, 6, false, false},
	} {
		page, err := s.JournalPage(id, c.after, c.address, c.since, changefeed.EntryLimit(c.limit))
		must(t, err)
		var got []uint64
		for _, e := range page.Entries {
			if got = append(got, e.Seq); e.SequenceNumber != e.Seq {
				t.Errorf("%s: number %d is event %d", c.name, e.Seq, e.SequenceNumber)
			}
		}
		if !reflect.DeepEqual(got, c.want) || page.LastPosition != c.last || page.HasMore != c.more || page.HasGap != c.gap {
			t.Errorf("%s: %v last %d more %v gap %v", c.name, got, page.LastPosition, page.HasMore, page.HasGap)
		}
	}
	must(t, s.TrimJournal(id, at(4)))
	if page, _ := s.JournalPage(id, 2, "", time.Time{}, changefeed.EntryLimit(1)); !page.HasGap || page.LastPosition != 4 {
		t.Errorf("a trimmed journal: %+v", page)
	}
	if page, _ := s.JournalPage(id, 3, "", time.Time{}, changefeed.EntryLimit(1)); page.HasGap {
		t.Errorf("right before what is kept: %+v", page)
	}
}

// TestJournalPageEndsByBytes checks that a page ends before a row that is too large, and returns
// the space it needs. A reader that continues misses nothing and reads nothing twice.
func TestJournalPageEndsByBytes(t *testing.T) {
	s := open(t, vfs.NewMem())
	id := accountID(1)
	var events []inbox.PublicEvent
	for n, size := range []int{10, 10, 5000, 10, 3000, 3000} {
		events = append(events, inbox.PublicEvent{Account: id, Address: "a@x", SequenceNumber: uint64(n + 1), At: at(n + 1), Subject: strings.Repeat("s", size)})
	}
	must(t, s.AppendJournal(id, 1, events, nil))
	var seen []uint64
	for after, bytes, reads := uint64(0), 1000, 0; ; reads++ {
		page, err := s.JournalPage(id, after, "a@x", time.Time{}, changefeed.ReadLimit{MaxEntries: 10, MaxBytes: bytes})
		must(t, err)
		for _, e := range page.Entries {
			seen = append(seen, e.Seq)
		}
		if page.RowBytes > bytes || (page.NeededBytes > 0) != page.HasMore || page.HasGap || reads > 10 {
			t.Fatalf("%+v of %d octets", page, bytes)
		}
		if !page.HasMore {
			break
		}
		after, bytes = page.LastPosition, max(1000, page.NeededBytes)
	}
	if fmt.Sprint(seen) != "[1 2 3 4 5 6]" {
		t.Errorf("%v", seen)
	}
}

// TestJournalPageIsBounded checks that an inbox without events in a long journal does not delay a
// reader.
func TestJournalPageIsBounded(t *testing.T) {
	s := open(t, vfs.NewMem())
	id := accountID(1)
	many := make([]inbox.PublicEvent, pageScan+5)
	for i := range many {
		many[i] = event(i + 1)
	}
	must(t, s.AppendJournal(id, 1, many, nil))
	page, err := s.JournalPage(id, 0, "other@example.org", time.Time{}, changefeed.EntryLimit(10))
	if err != nil || len(page.Entries) > 0 || !page.HasMore || page.LastPosition != pageScan {
		t.Errorf("%d entries, last %d, more %v, %v", len(page.Entries), page.LastPosition, page.HasMore, err)
	}
	page, _ = s.JournalPage(id, page.LastPosition, "other@example.org", time.Time{}, changefeed.EntryLimit(10))
	if page.HasMore || page.LastPosition != pageScan+5 {
		t.Errorf("then last %d, more %v", page.LastPosition, page.HasMore)
	}
}

// TestSyncedJournalSurvives checks that a number that a reader saw keeps its event after a power
// loss.
func TestSyncedJournalSurvives(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := open(t, fs)
	id := accountID(1)
	for n := uint64(1); n <= 3; n++ {
		must(t, s.AppendJournal(id, n, []inbox.PublicEvent{event(int(n))}, nil))
		must(t, s.SyncJournal(id))
		must(t, s.SyncJournal(id)) // has nothing to do
		after := open(t, fs.CrashClone(vfs.CrashCloneCfg{}))
		if got := entries(t, after, id, 0, 10); uint64(len(got)) != n {
			t.Fatalf("%d of %d entries after a power loss", len(got), n)
		}
	}
}

// TestSyncsAreAnAccounts checks that a reader of one account's journal does not wait for another
// account's appends.
func TestSyncsAreAnAccounts(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := open(t, fs)
	quiet, busy := accountID(1), accountID(2)
	must(t, s.AppendJournal(quiet, 1, []inbox.PublicEvent{event(1)}, nil))
	must(t, s.SyncJournal(quiet))
	must(t, s.AppendJournal(busy, 1, []inbox.PublicEvent{event(2)}, nil))
	must(t, s.SyncJournal(quiet))
	if got := entries(t, open(t, fs.CrashClone(vfs.CrashCloneCfg{})), busy, 0, 10); len(got) != 0 {
		t.Errorf("%d entries were synced that nobody read", len(got))
	}
	must(t, s.SyncJournal(busy))
	if got := entries(t, open(t, fs.CrashClone(vfs.CrashCloneCfg{})), busy, 0, 10); len(got) != 1 {
		t.Error("an entry was lost that was read")
	}
}

// TestPositions checks that each batch advances the position of its partition, synced or not, and
// that positions of unwritten batches are not reached.
func TestPositions(t *testing.T) {
	s := open(t, vfs.NewMem())
	id := accountID(1)
	p, before := id.HomePartition(), s.WritePosition(id.HomePartition())
	must(t, s.AppendJournal(id, 1, []inbox.PublicEvent{event(1)}, nil))
	later := s.WritePosition(p)
	must(t, s.CommitAccount(&account.Rows{ID: id, Profile: &account.Profile{ID: id, CreatedAt: at(0)}}))
	if end := s.WritePosition(p); later.N <= before.N || end.N <= later.N || end.Partition != p {
		t.Errorf("%v, %v behind an append, %v behind a commit", before, later, end)
	}
	if other := s.WritePosition(p + 1); other.N != 0 {
		t.Errorf("the neighbour is at %v", other)
	}
	must(t, s.WaitForPosition(s.WritePosition(p)))
	if err := s.WaitForPosition(partition.Position{Partition: p, N: s.WritePosition(p).N + 1}); !fault.Is(err, fault.TemporarilyUnavailable) {
		t.Errorf("what is not there yet: %v", err)
	}
}

func TestDue(t *testing.T) {
	s := open(t, vfs.NewMem())
	move := func(addr string, from, to time.Time) {
		must(t, s.CommitInbox(&inbox.Rows{Address: addr, PutMessages: mail(addr, 1, "").PutMessages, DueFrom: from, DueTo: to}))
	}
	var none time.Time
	move("a@x", none, at(30))
	move("b@x", none, at(10))
	move("c@x", none, at(20))
	move("d@x", none, at(10))
	due, next, err := s.DueInboxes(at(20), 10)
	must(t, err)
	if len(due) != 3 || due[2].Address != "c@x" || !next.Equal(at(30)) {
		t.Errorf("due %v, next %v", due, next)
	}
	if due, next, _ := s.DueInboxes(at(20), 2); len(due) != 2 || !next.Equal(at(20)) {
		t.Errorf("two of them: %v, next %v", due, next)
	}
	move("b@x", at(10), at(40))
	move("d@x", at(10), none)
	move("c@x", at(20), at(20)) // not moved
	due, next, err = s.DueInboxes(at(1000), 10)
	must(t, err)
	if want := []string{"c@x", "a@x", "b@x"}; !reflect.DeepEqual(addressesOf(due), want) || !next.IsZero() {
		t.Errorf("due %v, next %v, want %v", due, next, want)
	}
}

// TestLastEventIsNoted checks this for each inbox of an account, in order and out of order, as long
// as the entry exists.
func TestLastEventIsNoted(t *testing.T) {
	s := open(t, vfs.NewMem())
	id := accountID(1)
	of := func(n, second int, addr string) inbox.PublicEvent {
		e := event(second)
		e.SequenceNumber, e.Address = uint64(n), addr
		return e
	}
	check := func(when string, a, b, c uint64) {
		t.Helper()
		for addr, want := range map[string]uint64{"a@x": a, "b@x": b, "c@x": c} {
			if got, err := s.LastTaken(id, addr); got != want || err != nil {
				t.Errorf("%s the last event of %s is %d, %v; want %d", when, addr, got, err, want)
			}
		}
	}
	check("at first", 0, 0, 0)
	must(t, s.AppendJournal(id, 1, []inbox.PublicEvent{of(1, 1, "a@x"), of(2, 2, "a@x"), of(7, 3, "b@x"), of(3, 4, "a@x")}, nil))
	must(t, s.AppendJournal(id, 5, []inbox.PublicEvent{of(8, 5, "b@x"), of(1, 6, "c@x")}, nil))
	check("noted", 3, 8, 1)
	must(t, s.TrimJournal(id, at(4)))
	check("trimmed before it", 3, 8, 1)
	must(t, s.TrimJournal(id, at(5)))
	check("trimmed with the entry", 0, 8, 1)
	must(t, s.TrimJournal(id, at(100)))
	check("but for the newest", 0, 0, 1)
	must(t, s.CommitAccount(&account.Rows{ID: id, EraseAll: true}))
	check("with the account", 0, 0, 0)
}

// TestForgottenRowsAreNowhere checks that once the content of deleted messages is removed from
// events and deliveries, and the engine has compacted, no row of the store contains it. Due entries
// remain.
func TestForgottenRowsAreNowhere(t *testing.T) {
	const secret = "zz-secret-482913"
	s := open(t, vfs.NewMem())
	id := accountID(1)
	e := event(1)
	e.Account, e.MessageID, e.From, e.Subject, e.OTP = id, 7, secret+"@shop.test", "Code "+secret, secret
	other := e
	other.SequenceNumber, other.MessageID, other.From, other.Subject, other.OTP = e.SequenceNumber+1, 8, "kept@shop.test", "", ""
	d := webhook.Delivery{Account: id, ID: 1, Webhook: 2, Event: e.EventName, Inbox: e.Address, Body: webhook.Payload(e), At: at(1), State: webhook.StateRetrying, NextAt: at(9),
		LastAttempt: webhook.DeliveryAttempt{At: at(2), ReceiverResponse: webhook.ReceiverResponse{Status: 500, BodyExcerpt: secret}}}
	must(t, s.AppendJournal(id, 1, []inbox.PublicEvent{e, other}, []webhook.Delivery{d}))
	must(t, s.CommitDeliveries(id, []webhook.DeliveryChange{d.DueEntry().MoveTo(at(20))})) // leased
	if holding(t, s, secret) != 2 {
		t.Fatal("the secret is in no row")
	}
	must(t, s.ForgetEvents(id, []uint64{1, 99}))
	d.RedactDeleted()
	must(t, s.CommitDeliveries(id, []webhook.DeliveryChange{{Delivery: &d, ID: 1, Webhook: 2, RowOnly: true}}))
	must(t, s.db.Compact(t.Context(), []byte{0}, []byte{0xff}, false))
	if n := holding(t, s, secret); n != 0 {
		t.Errorf("%d rows hold the secret", n)
	}
	page, err := s.JournalPage(id, 0, "", time.Time{}, changefeed.EntryLimit(10))
	if err != nil || len(page.Entries) != 2 || !page.Entries[0].MessageDeleted || page.Entries[1].From != "kept@shop.test" || page.HasGap {
		t.Errorf("the journal: %+v, %v", page, err)
	}
	due, _, err := s.DueDeliveries(webhook.DueEntry{}, 10)
	if err != nil || len(due) != 1 || !due[0].At.Equal(at(20)) {
		t.Errorf("due: %v, %v", due, err)
	}
	if ids, err := s.JournalAccounts(account.ID{}, 10); len(ids) != 1 || ids[0] != id || err != nil {
		t.Errorf("accounts with events: %v, %v", ids, err)
	}
}

// holding counts the rows whose value contains text.
func holding(t *testing.T, s *Store, text string) (n int) {
	t.Helper()
	must(t, s.scanRows(keyRange{[]byte{0}, []byte{0xff}}, func(_, value []byte) error {
		if strings.Contains(string(value), text) {
			n++
		}
		return nil
	}))
	return n
}
