package persist

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"inboxd/internal/account"
	"inboxd/internal/inbox"
	"inboxd/internal/webhook"
	"inboxd/persist/disk"
)

// fillFolder makes what the golden folders hold: of everything that is due something, and
// events that are in the outbox, in the journal, and in both, as a crash leaves them.
func fillFolder(t testing.TB, s *Store) {
	for i, addr := range folderInboxes {
		r := sent(addr, 1, at(100-i))
		r.DueTo, r.Profile.DueAt = at(50-i), at(50-i)
		must(t, s.CommitInbox(r))
		if i < 3 {
			must(t, s.AppendJournal(accountID(1), uint64(i+1), r.Public, deliveriesOf(accountID(1), i+1, i+1)))
		}
		if i < 2 {
			must(t, s.DropOutbox(r.Public))
		}
	}
	must(t, s.CommitAccount(&account.Rows{ID: accountID(1), Profile: &account.Profile{ID: accountID(1), Email: "ada@example.com", CreatedAt: at(0)}}))
	must(t, s.AppendJournal(accountID(2), 1, nil, deliveriesOf(accountID(2), 1, 9)))
	must(t, s.SyncJournal(accountID(2)))
}

var folderInboxes = []string{"a@example.org", "b@example.org", "c@example.org", "d@example.org"}

// goldenFolder copies a folder of an earlier format into memory.
func goldenFolder(t testing.TB, format int, mem *vfs.MemFS) {
	t.Helper()
	found, err := vfs.Clone(vfs.Default, mem, filepath.Join("testdata", "folders", fmt.Sprint("format-", format)), folder, vfs.CloneSync)
	if err != nil || !found {
		t.Fatal("no golden folder: ", err)
	}
	must(t, disk.SyncFolder(mem, "/"))
}

// TestGoldenFolders: what each format wrote is read whole.
func TestGoldenFolders(t *testing.T) {
	if *update {
		mem := vfs.NewMem()
		o := options(mem)
		o.Still, o.BallastBytes, o.ReserveBytes = true, 1, 1
		s, err := Open(folder, o)
		must(t, err)
		fillFolder(t, s)
		must(t, s.Close())
		dir := filepath.Join("testdata", "folders", "format-2")
		must(t, os.RemoveAll(dir))
		_, err = vfs.Clone(mem, vfs.Default, folder, dir)
		must(t, err)
	}
	for format := 1; format <= 2; format++ {
		mem := vfs.NewMem()
		goldenFolder(t, format, mem)
		for range 2 {
			s, err := Open(folder, options(mem))
			must(t, err)
			if err := checkFolder(s, format > 1); err != nil {
				t.Errorf("format %d: %v", format, err)
			}
			closeStore(t, s)
		}
	}
}

// checkFolder compares a store with what fillFolder made. Until format 1 an event in outbox and
// journal was known by the journal's newest entries: carried over, it is in the journal alone.
func checkFolder(s *Store, both bool) error {
	due, next, err := s.DueInboxes(at(48), 10)
	if want := []string{"d@example.org", "c@example.org"}; err != nil || !reflect.DeepEqual(addressesOf(due), want) || !next.Equal(at(49)) {
		return fmt.Errorf("due %v, then %v, %v", due, next, err)
	}
	queue, more, err := s.MailQueue(inbox.QueueEntry{At: at(98), Address: "c@example.org", ID: 1}, 10)
	if err != nil || more || len(queue) != 2 || queue[0].Address != "b@example.org" || !queue[1].At.Equal(at(100)) || queue[1].Domains[0] != "far.test" {
		return fmt.Errorf("queue %v, %v, %v", queue, more, err)
	}
	calls, more, err := s.DueDeliveries(webhook.Due{}, 3)
	if err != nil || !more || len(calls) != 3 || calls[0].ID != 9 || calls[0].Account != accountID(2) || calls[0].Webhook != 2 || calls[2].ID != 5 {
		return fmt.Errorf("due deliveries %v, %v, %v", calls, more, err)
	}
	if calls, _, err = s.DueDeliveries(webhook.Due{}, 30); err != nil || len(calls) != 7 {
		return fmt.Errorf("due deliveries %v, %v", calls, err)
	}
	waiting := folderInboxes[3:]
	if both {
		waiting = folderInboxes[2:]
	}
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
	for _, k := range []kind{kindUngrouped, kindMailUngrouped, kindDeliveryUngrouped} {
		if rows, err := list(s.engine, ofKind(k), 1, func(key, _ []byte) (string, error) { return fmt.Sprintf("%x", key), nil }); len(rows) > 0 || err != nil {
			return fmt.Errorf("left of kind %d: %v, %v", k, rows, err)
		}
	}
	format, err := disk.ReadFile(s.folder.FS, s.folder.Path(disk.FormatName))
	if string(format) != "inboxd store 2\n" {
		return fmt.Errorf("FORMAT is %q, %v", format, err)
	}
	return nil
}

// everyWrite has the disk copied before every write, as a kill would leave it then, and every other
// time as a power loss would.
type everyWrite struct {
	mem   *vfs.MemFS
	rng   *rand.Rand
	kills bool // every time as a kill

	mu     sync.Mutex
	copies []*vfs.MemFS
}

func (e *everyWrite) String() string { return "every write" }

func (e *everyWrite) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	percent := 100 // Pebble's own start does not survive that half of its names are kept
	if !e.kills {
		percent *= len(e.copies) % 2
	}
	e.copies = append(e.copies, e.mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: e.rng}))
	return nil
}

// TestKilledCarryOver: a folder whose carry-over was killed at any write is carried over by the
// next start.
func TestKilledCarryOver(t *testing.T) {
	step := carryStep
	carryStep = 2
	defer func() { carryStep = step }()
	mem := vfs.NewCrashableMem()
	goldenFolder(t, 1, mem)
	writes := &everyWrite{mem: mem, rng: rand.New(rand.NewPCG(1, 1))}
	s, err := Open(folder, options(errorfs.Wrap(mem, writes)))
	must(t, err)
	closeStore(t, s)
	old := 0
	for n, killed := range writes.copies {
		format, err := disk.ReadFile(killed, killed.PathJoin(folder, disk.FormatName))
		must(t, err)
		if strings.HasSuffix(string(format), "1\n") {
			old++
		}
		s, err := Open(folder, options(killed))
		if err == nil {
			err = checkFolder(s, false)
			closeStore(t, s)
		}
		if err != nil {
			t.Errorf("killed at write %d, when FORMAT was %q: %v", n, format, err)
		}
	}
	if old < 20 || old == len(writes.copies) {
		t.Errorf("of %d kills %d were before the end of the carry-over", len(writes.copies), old)
	}
}

// TestKilledBetweenSteps: whatever of its steps is on the disk, each entry is in one index or the
// other. The steps are of more than a block of the log, so that a kill may leave one without the next.
func TestKilledBetweenSteps(t *testing.T) {
	const n = 2048
	var rows [][]byte
	for i := range n {
		rows = append(rows, ungrouped(kindUngrouped, at(1000+i), [2]byte{byte(i), byte(i >> 4)}, fmt.Sprintf("inbox-of-the-older-folder-%d@example.org\x00", i)))
	}
	mem := vfs.NewCrashableMem()
	olderFolder(t, mem, rows)
	writes := &everyWrite{mem: mem, rng: rand.New(rand.NewPCG(1, 1)), kills: true}
	s, err := Open(folder, options(errorfs.Wrap(mem, writes)))
	must(t, err)
	closeStore(t, s)
	some := 0
	for i, killed := range writes.copies {
		db := openRows(t, killed)
		moved, kept := countRows(t, db, kindDue), countRows(t, db, kindUngrouped)
		must(t, db.Close())
		if want := n + len(folderInboxes); moved+kept != want {
			t.Errorf("killed at write %d: %d entries are left, and %d were moved, of %d", i, kept, moved, want)
		}
		if moved > 0 && kept > 0 {
			some++
		}
	}
	if some == 0 {
		t.Errorf("none of %d kills was between two steps", len(writes.copies))
	}
}

// openRows opens the rows of a folder without carrying anything over.
func openRows(t testing.TB, fs vfs.FS) *pebble.DB {
	t.Helper()
	db, err := pebble.Open(fs.PathJoin(folder, disk.EngineName), &pebble.Options{FS: fs, FormatMajorVersion: pebble.FormatNewest, Logger: silent{}})
	must(t, err)
	return db
}

func countRows(t testing.TB, db *pebble.DB, of kind) (n int) {
	t.Helper()
	must(t, scan(db, ofKind(of), func(_, _ []byte) error {
		n++
		return nil
	}))
	return n
}

// ungrouped is the key of a due entry of format 1.
func ungrouped(k kind, at time.Time, partition [2]byte, rest string) []byte {
	return append(append(appendTime([]byte{byte(k)}, at), partition[:]...), rest...)
}

// olderFolder is the golden folder of format 1 with more due entries.
func olderFolder(t testing.TB, mem *vfs.MemFS, rows [][]byte) {
	t.Helper()
	goldenFolder(t, 1, mem)
	db := openRows(t, mem)
	for _, key := range rows {
		must(t, db.Set(key, []byte{recordVersion}, pebble.NoSync))
	}
	must(t, db.Close())
}

type silent struct{}

func (silent) Infof(string, ...any)      {}
func (silent) Errorf(string, ...any)     {}
func (silent) Fatalf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }

// TestForeignEntriesAreCarriedOver: an entry under another partition than its entity's comes to
// it, where one that is there too is the same; one that names nothing is refused by a sentence.
func TestForeignEntriesAreCarriedOver(t *testing.T) {
	open := func(rows ...[]byte) (*Store, error) {
		mem := vfs.NewMem()
		olderFolder(t, mem, rows)
		return Open(folder, options(mem))
	}
	s, err := open(ungrouped(kindUngrouped, at(47), [2]byte{1, 2}, "d@example.org\x00"), ungrouped(kindUngrouped, at(47), [2]byte{0xff, 0xff}, "d@example.org\x00"))
	must(t, err)
	if err := checkFolder(s, false); err != nil {
		t.Error(err)
	}
	closeStore(t, s)
	for _, key := range [][]byte{ungrouped(kindUngrouped, at(1), [2]byte{}, ""), ungrouped(kindUngrouped, at(1), [2]byte{}, "no end"), {byte(kindMailUngrouped)}, ungrouped(kindDeliveryUngrouped, at(1), [2]byte{}, "short")} {
		if _, err := open(key); err == nil || !strings.Contains(err.Error(), "the data folder /data can't be carried over to the present format: damaged key") {
			t.Errorf("key %x: %v", key, err)
		}
	}
}

// BenchmarkCarryOver carries a million entries over.
func BenchmarkCarryOver(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		dir := filepath.Join(b.TempDir(), "data")
		s, err := Open(dir, Options{Logger: quiet})
		must(b, err)
		w := s.db.NewBatch()
		for i := range 1_000_000 {
			key := ungrouped(kindUngrouped, at(i*7919%1_000_000), [2]byte{byte(i >> 8 & 15), byte(i)}, fmt.Sprintf("inbox-%d@example.org\x00", i))
			must(b, w.Set(key, []byte{recordVersion}, nil))
			if w.Len() > mib {
				must(b, w.Commit(pebble.NoSync))
				w = s.db.NewBatch()
			}
		}
		must(b, w.Commit(pebble.Sync))
		must(b, s.Close())
		must(b, os.WriteFile(filepath.Join(dir, disk.FormatName), []byte("inboxd store 1\n"), 0o600))
		b.StartTimer()
		s, err = Open(dir, Options{Logger: quiet})
		must(b, err)
		b.StopTimer()
		due, _, err := s.DueInboxes(at(1_000_000), 1_000_001)
		if err != nil || len(due) != 1_000_000 {
			b.Fatal(len(due), err)
		}
		must(b, s.Close())
		b.StartTimer()
	}
}
