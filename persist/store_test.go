package persist

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/message"
	"inboxd/persist/disk"
)

const folder = "/data"

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// options are those of a test store: small, silent, and an exit of the process is a failure.
func options(fs vfs.FS) Options {
	return Options{FS: fs, Logger: quiet, MemTableBytes: 256 << 10, CacheBytes: 1 << 20, ExitProcess: unexpectedExit}
}

func unexpectedExit(int) {
	fmt.Fprintf(os.Stderr, "the store ended the process:\n%s", debug.Stack())
	os.Exit(1)
}

func open(t testing.TB, fs vfs.FS) *Store {
	t.Helper()
	s, err := Open(folder, options(fs))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeStore(t, s) })
	return s
}

func closeStore(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// rewrite replaces the content of a file.
func rewrite(fs vfs.FS, path string, data []byte) error {
	return disk.WriteFile(fs, fs.PathDir(path), fs.PathBase(path), data)
}

func must(t interface {
	Helper()
	Fatal(...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// at is a time n milliseconds after a fixed one.
func at(n int) time.Time { return time.UnixMilli(1_795_000_000_000 + int64(n)).UTC() }

func accountID(n byte) account.ID { return account.NewID(at(0), [10]byte{n}) }

// mail makes the rows of one received message as the rules make them.
func mail(addr string, id int64, raw string) *inbox.Rows {
	m := &inbox.Message{
		ID: id, Direction: inbox.In, ReceivedAt: at(int(id)), ExpiresAt: at(int(id) + 1000),
		From: message.Mailbox{Email: "a@example.org", Name: "A"}, EnvelopeTo: addr, Subject: fmt.Sprint("mail ", id), Size: int64(len(raw)),
	}
	c := &inbox.Content{Doc: message.ParsedMessage{Subject: m.Subject, From: m.From, Text: "text of " + raw[:min(len(raw), 40)]}}
	return &inbox.Rows{
		Address:       addr,
		Profile:       &inbox.Profile{Address: addr, Account: accountID(1), RetentionHours: 1, CreatedAt: at(0), LastID: id, LastEvent: uint64(id), DueAt: at(1001)},
		PutMessages:   []*inbox.Message{m},
		StoreMessages: []inbox.StoredMessage{{ID: id, Content: c, Raw: []byte(raw)}},
		PublicEvents:  []inbox.PublicEvent{{SequenceNumber: uint64(id), EventName: "message.received", Account: accountID(1), Address: addr, MessageID: id, At: m.ReceivedAt}},
	}
}

func TestEmptyStoreKnowsNothing(t *testing.T) {
	s := open(t, vfs.NewMem())
	st, err := s.LoadInbox("nobody@example.org")
	must(t, err)
	if st.Address != "nobody@example.org" || st.Messages != nil || st.IsLive() {
		t.Errorf("an unknown inbox loads as %+v", st)
	}
	c, err := s.ReadContent("nobody@example.org", 1)
	raw, err2 := s.ReadRaw("nobody@example.org", 1)
	if c != nil || err != nil || raw != nil || err2 != nil {
		t.Errorf("unknown message: %v %v, %v %v", c, err, raw, err2)
	}
	acc, err := s.LoadAccount(accountID(9))
	must(t, err)
	if acc.ResetTokens == nil || !acc.CreatedAt.IsZero() {
		t.Errorf("an unknown account loads as %+v", acc)
	}
	if got, err := s.AccountByEmail("x@example.org"); got != (account.NameHolder{}) || err != nil {
		t.Errorf("unknown e-mail: %v %v", got, err)
	}
	if !s.ClockTrusted() || s.IsFull() || s.CheckWritable() != nil {
		t.Errorf("first start: clock trusted %v, full %v, writable %v", s.ClockTrusted(), s.IsFull(), s.CheckWritable())
	}
}

func TestSecondOpenIsRefused(t *testing.T) {
	for name, fs := range map[string]vfs.FS{"memory": vfs.NewMem(), "disk": vfs.Default} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			s, err := Open(dir, options(fs))
			must(t, err)
			_, err = Open(dir, options(fs))
			if want := "the data folder " + dir + " is in use by another inboxd. Stop it, or choose another folder with --data"; err == nil || err.Error() != want {
				t.Errorf("second open: %v, want %q", err, want)
			}
			closeStore(t, s)
			s, err = Open(dir, options(fs))
			must(t, err)
			closeStore(t, s)
		})
	}
}

// TestSecondProcessIsRefused runs this test binary again on the same folder: the lock between
// processes differs from the one within a process.
func TestSecondProcessIsRefused(t *testing.T) {
	if dir := os.Getenv("PERSIST_SECOND"); dir != "" {
		_, err := Open(dir, options(vfs.Default))
		fmt.Println(err)
		return
	}
	dir := filepath.Join(t.TempDir(), "data")
	s, err := Open(dir, options(vfs.Default))
	must(t, err)
	defer closeStore(t, s)
	cmd := exec.Command(os.Args[0], "-test.run=^TestSecondProcessIsRefused$")
	cmd.Env = append(os.Environ(), "PERSIST_SECOND="+dir)
	out, _ := cmd.CombinedOutput()
	if !strings.Contains(string(out), "is in use by another inboxd") {
		t.Errorf("the second process said %q", out)
	}
}

func TestFolderIsPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "data")
	s, err := Open(dir, options(vfs.Default))
	must(t, err)
	defer closeStore(t, s)
	fi, err := os.Stat(dir)
	must(t, err)
	if fi.Mode().Perm() != 0o700 {
		t.Errorf("the data folder has mode %v", fi.Mode())
	}
}

func TestFormatFile(t *testing.T) {
	for content, want := range map[string]string{
		"inboxd store 3\n": "has format 3; this inboxd reads format 2: use a newer inboxd",
		"inboxd store 1\n": "has format 1; this inboxd reads format 2: use an older inboxd",
		"junk":             "is damaged",
		"":                 "is damaged",
	} {
		fs := vfs.NewMem()
		closeStore(t, open(t, fs))
		must(t, disk.WriteFile(fs, folder, disk.FormatName, []byte(content)))
		if _, err := Open(folder, options(fs)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("FORMAT %q: %v, want %q", content, err, want)
		}
	}
	fs := vfs.NewMem()
	closeStore(t, open(t, fs))
	must(t, fs.Remove(fs.PathJoin(folder, disk.FormatName)))
	if _, err := Open(folder, options(fs)); err == nil || !strings.Contains(err.Error(), "no file FORMAT") {
		t.Errorf("FORMAT missing: %v", err)
	}
}

func TestUnusableFolder(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "data"), nil, 0o600))
	_, err := Open(filepath.Join(dir, "data"), options(vfs.Default))
	if err == nil || !strings.Contains(err.Error(), "cannot be created") {
		t.Errorf("a file in the folder's place: %v", err)
	}
}

func TestCallsAfterCloseAreRefused(t *testing.T) {
	s := open(t, vfs.NewMem())
	closeStore(t, s)
	if err := s.CommitInbox(mail("a@example.org", 1, "x")); !fault.Is(err, fault.TemporarilyUnavailable) {
		t.Errorf("commit after close: %v", err)
	}
	if _, err := s.LoadInbox("a@example.org"); !fault.Is(err, fault.TemporarilyUnavailable) {
		t.Errorf("load after close: %v", err)
	}
	if err := s.CheckWritable(); !fault.Is(err, fault.TemporarilyUnavailable) {
		t.Errorf("writable after close: %v", err)
	}
	_ = s.ReadStats()
}

// TestValuesLeaveTheTables checks that the engine stores values over 1 KB outside its tables. If it
// silently ignored that option, every compaction would rewrite all messages.
func TestValuesLeaveTheTables(t *testing.T) {
	s := open(t, vfs.NewMem())
	random := rand.NewChaCha8([32]byte{})
	for id := int64(1); id <= 200; id++ {
		raw := make([]byte, 2048) // does not compress
		_, _ = random.Read(raw)
		must(t, s.CommitInbox(mail("a@example.org", id, fmt.Sprintf("mail %d%s", id, raw))))
	}
	must(t, s.db.Flush())
	if st := s.ReadStats(); st.ValueBytes < 100<<10 || st.ValueBytes < st.TableBytes {
		t.Errorf("%d bytes in value files, %d in tables", st.ValueBytes, st.TableBytes)
	}
	raw, err := s.ReadRaw("a@example.org", 7)
	if err != nil || !bytes.HasPrefix(raw, []byte("mail 7")) {
		t.Errorf("bytes of message 7: %.20q %v", raw, err)
	}
}

// TestDropTouchesNothingElse drops a run that is long enough for a range tombstone, and a few
// single messages, out of the middle.
func TestDropTouchesNothingElse(t *testing.T) {
	s := open(t, vfs.NewMem())
	var gone []*inbox.Message
	for id := int64(1); id <= 60; id++ {
		must(t, s.CommitInbox(mail(victim, id, body(victim, id))))
		if id >= 5 && id < 5+2*rangeOver || id == 50 || id == 52 {
			gone = append(gone, &inbox.Message{ID: id})
		}
	}
	must(t, s.CommitInbox(&inbox.Rows{Address: victim, DropMessages: gone}))
	st, err := s.LoadInbox(victim)
	must(t, err)
	if len(st.Messages) != 60-len(gone) {
		t.Errorf("%d messages are left of 60 less %d", len(st.Messages), len(gone))
	}
	for id := int64(1); id <= 60; id++ {
		there := !slices.ContainsFunc(gone, func(m *inbox.Message) bool { return m.ID == id })
		must(t, checkWhole(s, victim, id, there))
	}
}
