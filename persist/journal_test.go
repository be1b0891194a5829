package persist

import (
	"reflect"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"inboxd/internal/inbox"
)

func event(n int) inbox.Public {
	return inbox.Public{Number: uint64(n), Name: "message.received", Account: accountID(1), Address: victim, MessageID: int64(n), At: at(n)}
}

func TestJournal(t *testing.T) {
	s := open(t, vfs.NewMem())
	id := accountID(1)
	if n, err := s.JournalEnd(id); n != 0 || err != nil {
		t.Errorf("an empty journal ends at %d, %v", n, err)
	}
	must(t, s.AppendJournal(id, 1, []inbox.Public{event(1), event(2)}))
	must(t, s.AppendJournal(id, 3, []inbox.Public{event(3)}))
	must(t, s.AppendJournal(accountID(2), 1, []inbox.Public{event(9)}))
	all := []Entry{{1, event(1)}, {2, event(2)}, {3, event(3)}}
	for after, want := range map[uint64][]Entry{0: all[:2], 1: all[1:], 2: all[2:], 3: nil, 1 << 63: nil} {
		if got, err := s.Journal(id, after, 2); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("journal after %d: %v %v, want %v", after, got, err, want)
		}
	}
	if n, err := s.JournalEnd(id); n != 3 || err != nil {
		t.Errorf("the journal ends at %d, %v", n, err)
	}
	// Trimming keeps what is not older, and the newest entry always: it carries the count.
	for before, first := range map[time.Time]uint64{at(0): 1, at(1): 1} {
		must(t, s.TrimJournal(id, before))
		if got, _ := s.Journal(id, 0, 1); len(got) != 1 || got[0].Seq != first {
			t.Errorf("trimmed before %v: %v", before, got)
		}
	}
	must(t, s.TrimJournal(id, at(2)))
	if got, _ := s.Journal(id, 0, 10); !reflect.DeepEqual(got, all[1:]) {
		t.Errorf("trimmed before the second: %v", got)
	}
	must(t, s.TrimJournal(id, at(1000)))
	if got, _ := s.Journal(id, 0, 10); !reflect.DeepEqual(got, all[2:]) {
		t.Errorf("trimmed whole: %v", got)
	}
	if n, _ := s.JournalEnd(id); n != 3 {
		t.Errorf("the trimmed journal ends at %d", n)
	}
	if n, _ := s.JournalEnd(accountID(2)); n != 1 {
		t.Errorf("the other journal ends at %d", n)
	}
}

// TestOutboxGuardsTheJournal crashes at every state between commit, append and drop: an
// event is in the outbox or in the journal, never in neither.
func TestOutboxGuardsTheJournal(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s := open(t, fs)
	check := func(step string) {
		after := open(t, fs.CrashClone(vfs.CrashCloneCfg{}))
		out, err := after.Outbox(10)
		must(t, err)
		journal, err := after.Journal(accountID(1), 0, 10)
		must(t, err)
		if len(out)+len(journal) == 0 {
			t.Errorf("%s: the event is lost", step)
		}
	}
	r := mail(victim, 1, "x")
	must(t, s.CommitInbox(r))
	check("committed")
	must(t, s.AppendJournal(accountID(1), 1, r.Public))
	check("appended")
	must(t, s.DropOutbox(r.Public))
	check("dropped")
	must(t, s.CommitInbox(mail("other@example.org", 1, "x"))) // syncs what is before it
	after := open(t, fs.CrashClone(vfs.CrashCloneCfg{}))
	out, err := after.Outbox(10)
	must(t, err)
	journal, err := after.Journal(accountID(1), 0, 10)
	must(t, err)
	if len(out) != 1 || out[0].Address != "other@example.org" || len(journal) != 1 {
		t.Errorf("outbox %v, journal %v", out, journal)
	}
}

func TestDue(t *testing.T) {
	s := open(t, vfs.NewMem())
	move := func(addr string, from, to time.Time) {
		must(t, s.CommitInbox(&inbox.Rows{Address: addr, Put: mail(addr, 1, "").Put, DueFrom: from, DueTo: to}))
	}
	var none time.Time
	move("a@x", none, at(30))
	move("b@x", none, at(10))
	move("c@x", none, at(20))
	move("d@x", none, at(10))
	due, next, err := s.Due(at(20), 10)
	must(t, err)
	if len(due) != 3 || !due[0].At.Equal(at(10)) || due[2] != (Due{at(20), "c@x"}) || !next.Equal(at(30)) {
		t.Errorf("due %v, next %v", due, next)
	}
	if due, next, _ := s.Due(at(20), 2); len(due) != 2 || !next.Equal(at(20)) {
		t.Errorf("two of them: %v, next %v", due, next)
	}
	move("b@x", at(10), at(40))
	move("d@x", at(10), none)
	move("c@x", at(20), at(20)) // not moved
	due, next, err = s.Due(at(1000), 10)
	must(t, err)
	if want := []Due{{at(20), "c@x"}, {at(30), "a@x"}, {at(40), "b@x"}}; !reflect.DeepEqual(due, want) || !next.IsZero() {
		t.Errorf("due %v, next %v, want %v", due, next, want)
	}
}
