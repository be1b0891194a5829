package persist

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
	"inboxd/internal/testutil/iterations"
	"inboxd/persist/disk"
)

// nth makes write operation number n fail, and with sticky also every later one.
type nth struct {
	n      int64
	sticky bool
	count  atomic.Int64
	failed atomic.Int64
}

func (f *nth) String() string { return "nth" }

func (f *nth) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite || op.Kind == errorfs.OpFileClose {
		return nil
	}
	if c := f.count.Add(1) - 1; c == f.n || f.sticky && c > f.n {
		f.failed.Add(1)
		return fmt.Errorf("injected: %w", syscall.EIO)
	}
	return nil
}

// acks is what was acknowledged in a failing run.
type acks struct {
	mu       sync.Mutex
	messages []int64
	dropped  []int64
	account  bool
}

func (a *acks) note(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
}

// TestEveryFailedWrite makes each write, sync, creation and renaming of a whole run fail, once or
// from there on. The run must end with a clean error, an exit, or successfully. What was
// acknowledged must be there afterwards.
func TestEveryFailedWrite(t *testing.T) {
	for range iterations.GroupedRuns(t, "FAILURE_LOOPS", 2, 2) {
		for _, sticky := range []bool{false, true} {
			failEach(t, sticky)
		}
	}
}

// failEach makes the first operation of a run fail, then the second of another run, until a run has
// fewer operations.
func failEach(t *testing.T, sticky bool) {
	for n := int64(0); ; n++ {
		f := &nth{n: n, sticky: sticky}
		if err := failingRun(f); err != nil {
			t.Fatalf("operation %d fails (sticky %v): %v", n, sticky, err)
		}
		if f.failed.Load() > 0 {
			continue
		}
		if n < 50 {
			t.Fatalf("only %d operations were seen", n)
		}
		return
	}
}

// failingRun uses a store on a disk with fault f until the run ends in some way.
func failingRun(f *nth) error {
	mem := vfs.NewCrashableMem()
	exited, done := make(chan struct{}), make(chan error, 1)
	var once sync.Once
	var log bytes.Buffer
	o := options(errorfs.Wrap(mem, f))
	o.Logger = slog.New(slog.NewTextHandler(&lockedWriter{w: &log}, nil))
	o.ExitProcess = func(int) {
		once.Do(func() { close(exited) })
		select {} // the process is gone
	}
	reported := &acks{}
	go func() { done <- use(o, reported) }()
	select {
	case <-exited:
	case err := <-done:
		if err != nil && !strings.Contains(err.Error(), "injected") {
			return fmt.Errorf("unclear error: %w", err)
		}
	}
	reported.mu.Lock()
	defer reported.mu.Unlock()
	return reported.verify(mem.CrashClone(vfs.CrashCloneCfg{}))
}

type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

const victim = "victim@example.org"

// use is a short run of a store with everything in it. It continues after errors of commits, as
// actors do, and returns the first error.
func use(o Options, reported *acks) (first error) {
	note := func(err error, ack func()) {
		if err == nil {
			reported.note(ack)
		} else if first == nil {
			first = err
		}
	}
	s, err := Open(folder, o)
	if err != nil {
		return err
	}
	for _, id := range append(firstIDs(14), 26) { // 13 and 26 have their own files, and 26 is kept
		note(s.CommitInbox(mail(victim, id, body(victim, id))), func() { reported.messages = append(reported.messages, id) })
		if id == 5 {
			note(s.db.Flush(), func() {})
		}
	}
	gone := []*inbox.Message{{ID: 13}, {ID: 12}}
	note(s.CommitInbox(&inbox.Rows{Address: victim, DropMessages: gone}), func() { reported.dropped = []int64{12, 13} })
	note(s.CommitAccount(&account.Rows{ID: accountID(1), Profile: &account.Profile{ID: accountID(1), Email: "e", CreatedAt: at(0)}}), func() { reported.account = true })
	note(s.AppendJournal(accountID(1), 1, mail(victim, 1, "").PublicEvents, nil), func() {})
	note(s.db.Flush(), func() {})
	note(s.Close(), func() {})
	return first
}

// firstIDs returns the ids from 1 to last.
func firstIDs(last int64) (ids []int64) {
	for id := range last {
		ids = append(ids, id+1)
	}
	return ids
}

// verify opens what is left on a healthy disk.
func (a *acks) verify(fs vfs.FS) error {
	s, err := Open(folder, options(fs))
	if err != nil {
		return fmt.Errorf("the next start: %w", err)
	}
	defer s.Close()
	left, err := s.LoadInbox(victim)
	if err != nil {
		return err
	}
	for _, id := range append(firstIDs(15), 26) { // acknowledged or not, nothing is half there
		kept := slices.ContainsFunc(left.Messages, func(m *inbox.Message) bool { return m.ID == id })
		if err := checkWhole(s, victim, id, kept); err != nil {
			return err
		}
	}
	for _, id := range a.messages {
		there := true
		for _, gone := range []int64{12, 13} {
			// A drop that was not acknowledged may have happened.
			there = there && id != gone
		}
		if there || a.dropped != nil {
			if err := checkWhole(s, victim, id, there); err != nil {
				return err
			}
		}
	}
	st, err := s.LoadAccount(accountID(1))
	if err != nil || a.account && st.Email != "e" {
		return fmt.Errorf("the account came back as %+v, %v", st, err)
	}
	return nil
}

// TestLogFailureExits checks that a failed sync ends the process with one clear line, and that the
// commit is not acknowledged.
func TestLogFailureExits(t *testing.T) {
	mem := vfs.NewCrashableMem()
	var armed atomic.Bool
	broken := errorfs.InjectorFunc(func(op errorfs.Op) error {
		if armed.Load() && strings.HasSuffix(op.Path, ".log") && op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
			return syscall.EIO
		}
		return nil
	})
	var log bytes.Buffer
	exited, answered := make(chan int, 8), make(chan error, 1)
	o := options(errorfs.Wrap(mem, broken))
	o.Logger = slog.New(slog.NewTextHandler(&lockedWriter{w: &log}, nil))
	o.ExitProcess = func(code int) { exited <- code; select {} }
	s, err := Open(folder, o)
	must(t, err)
	armed.Store(true)
	go func() { answered <- s.CommitInbox(mail(victim, 1, "x")) }()
	select {
	case code := <-exited:
		if code != 1 || !strings.Contains(log.String(), "storage failed, exiting") {
			t.Errorf("exit code %d, log %q", code, log.String())
		}
	case err := <-answered:
		t.Errorf("the commit answered %v", err)
	}
}

// TestBitFlips flips single bits in every kind of file of a cleanly closed store. The next start is
// refused, or each item is correct or an error.
func TestBitFlips(t *testing.T) {
	mem := vfs.NewCrashableMem()
	s := open(t, mem)
	for id := int64(1); id <= 30; id++ {
		must(t, s.CommitInbox(mail(victim, id, body(victim, id))))
		if id == 15 {
			must(t, s.db.Flush())
		}
	}
	closeStore(t, s)
	paths := dataFiles(t, mem)
	refused, failed, same := 0, 0, 0
	for n := range iterations.Times(t, "FLIPS", 20*len(paths)) {
		rng := rand.New(rand.NewPCG(1, n))
		fs := mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rng})
		path := paths[n%uint64(len(paths))]
		data, err := fs.UnsafeGetFileDataBuffer(path)
		must(t, err)
		bit := rng.IntN(8 * len(data))
		data[bit/8] ^= 1 << (bit % 8)
		outcome, err := readAll(fs)
		switch {
		case err != nil:
			t.Fatalf("bit %d of %s: silent: %v", bit, path, err)
		case outcome == "refused":
			refused++
		case outcome == "error":
			failed++
		default:
			same++
		}
	}
	t.Logf("%d starts refused, %d with errors of items, %d without effect", refused, failed, same)
	if refused == 0 || failed == 0 {
		t.Error("flips had no effect: the test does not reach the data")
	}
}

// dataFiles lists every file whose content matters.
func dataFiles(t *testing.T, fs *vfs.MemFS) (paths []string) {
	for _, dir := range []string{folder, fs.PathJoin(folder, disk.EngineName), fs.PathJoin(folder, disk.BlobsName)} {
		names, err := fs.List(dir)
		must(t, err)
		for _, name := range names {
			path := fs.PathJoin(dir, name)
			if fi, err := fs.Stat(path); err == nil && !fi.IsDir() && fi.Size() > 0 && !strings.HasPrefix(name, "OPTIONS") {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// readAll opens the store and compares every item; an error means unreported damage.
func readAll(fs vfs.FS) (outcome string, silent error) {
	exited := make(chan struct{}, 8)
	o := options(fs)
	o.ExitProcess = func(int) { exited <- struct{}{}; select {} }
	type result struct {
		outcome string
		silent  error
	}
	done := make(chan result, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				done <- result{"refused", nil}
			}
		}()
		s, err := Open(folder, o)
		if err != nil {
			done <- result{"refused", nil}
			return
		}
		outcome, silent := compareAll(s)
		_ = s.Close()
		done <- result{outcome, silent}
	}()
	select {
	case r := <-done:
		return r.outcome, r.silent
	case <-exited:
		return "refused", nil
	}
}

func compareAll(s *Store) (outcome string, silent error) {
	outcome = "same"
	st, err := s.LoadInbox(victim)
	if err != nil {
		outcome = "error"
	} else if len(st.Messages) != 30 || st.LastID != 30 {
		return "", fmt.Errorf("%d messages of 30", len(st.Messages))
	}
	for id := int64(1); id <= 30; id++ {
		want := mail(victim, id, body(victim, id))
		c, err := s.ReadContent(victim, id)
		raw, err2 := s.ReadRaw(victim, id)
		switch {
		case err != nil || err2 != nil:
			outcome = "error"
		case !reflect.DeepEqual(c, want.StoreMessages[0].Content) || string(raw) != string(want.StoreMessages[0].Raw):
			return "", fmt.Errorf("message %d differs", id)
		case st != nil && st.Messages[id-1].ID == id && st.Messages[id-1].IsDamaged:
			outcome = "error"
		case st != nil && !reflect.DeepEqual(st.Messages[id-1], want.PutMessages[0]):
			return "", fmt.Errorf("row %d differs", id)
		}
	}
	return outcome, nil
}

// TestLostJournalIsRefused removes the end of the log after a clean close.
func TestLostJournalIsRefused(t *testing.T) {
	for name, harm := range map[string]func(fs *vfs.MemFS, log string){
		"cut":     func(fs *vfs.MemFS, log string) { cut(fs, log, 2) },
		"emptied": func(fs *vfs.MemFS, log string) { cut(fs, log, 0) },
		"removed": func(fs *vfs.MemFS, log string) { _ = fs.Remove(log) },
	} {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewMem()
			s := open(t, fs)
			for id := int64(1); id <= 10; id++ {
				must(t, s.CommitInbox(mail(victim, id, "x")))
			}
			// The flush records the engine's sequence number in the manifest: the check must not
			// rely on it.
			must(t, s.db.Flush())
			for id := int64(11); id <= 20; id++ {
				must(t, s.CommitInbox(mail(victim, id, "x")))
			}
			closeStore(t, s)
			harm(fs, newestLog(t, fs))
			for range 2 { // the refused start must not make the next one succeed
				_, err := Open(folder, options(fs))
				if err == nil || !strings.Contains(err.Error(), "has lost data: its journal ends at commit") {
					t.Fatalf("a start without the end of its log: %v", err)
				}
			}
			must(t, fs.Remove(fs.PathJoin(folder, disk.HighWaterName)))
			s = open(t, fs)
			if !s.ClockTrusted() {
				t.Error("the clock is in doubt without a file")
			}
		})
	}
}

// TestNothingIsLeft checks that no error advises to continue with the remaining data if nothing
// remains.
func TestNothingIsLeft(t *testing.T) {
	fs := vfs.NewMem()
	s := open(t, fs)
	must(t, s.CommitInbox(mail(victim, 1, "x")))
	closeStore(t, s)
	must(t, fs.Remove(newestLog(t, fs)))
	if _, err := Open(folder, options(fs)); err == nil || !strings.HasSuffix(err.Error(), ". Restore a backup") {
		t.Errorf("a start without its only log: %v", err)
	}
}

func newestLog(t *testing.T, fs vfs.FS) (newest string) {
	names, err := fs.List(fs.PathJoin(folder, disk.EngineName))
	must(t, err)
	for _, name := range names {
		if strings.HasSuffix(name, ".log") && name > newest {
			newest = name
		}
	}
	return fs.PathJoin(folder, disk.EngineName, newest)
}

// cut keeps the first n-th part of a file, nothing if n is 0. A log that was a spare ends with
// zeros.
func cut(fs vfs.FS, path string, n int) {
	data, err := disk.ReadFile(fs, path)
	if err != nil {
		panic(err)
	}
	data = bytes.TrimRight(data, "\x00")
	keep := 0
	if n > 0 {
		keep = len(data) / n
	}
	if err := rewrite(fs, path, data[:keep]); err != nil {
		panic(err)
	}
}

func TestHighWaterFile(t *testing.T) {
	fs := vfs.NewMem()
	o := options(fs)
	o.Now = func() time.Time { return at(77) }
	s, err := Open(folder, o)
	must(t, err)
	must(t, s.CommitInbox(mail(victim, 1, "x")))
	closeStore(t, s)
	path := fs.PathJoin(folder, disk.HighWaterName)
	data, err := disk.ReadFile(fs, path)
	must(t, err)
	if noted := fmt.Sprintf("commits 1\ntime %d\n", at(77).UnixMilli()); !strings.Contains(string(data), noted) {
		t.Errorf("noted %q, want %q in it", data, noted)
	}
	for i := range data {
		bad := bytes.Clone(data)
		bad[i] ^= 1
		must(t, rewrite(fs, path, bad))
		if _, err := Open(folder, options(fs)); err == nil {
			t.Fatalf("high-water file %q was believed", bad)
		}
	}
}
