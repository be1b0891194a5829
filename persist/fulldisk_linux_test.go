package persist

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/core/inbox"
)

// TestFullDisk fills a real file system under running writers.
func TestFullDisk(t *testing.T) {
	for _, size := range []string{"64m", "128m"} {
		t.Run(size, func(t *testing.T) { fullDisk(t, tmpfs(t, size)) })
	}
}

func tmpfs(t *testing.T, size string) string {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("a tmpfs can't be mounted here: %v", err)
	}
	t.Cleanup(func() { must(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	return dir
}

func fullDisk(t *testing.T, disk string) {
	var log bytes.Buffer
	o := Options{Logger: slog.New(slog.NewTextHandler(&lockedWriter{w: &log}, nil)), ExitProcess: unexpectedExit}
	s, err := Open(filepath.Join(disk, "data"), o)
	must(t, err)
	must(t, s.CommitInbox(mail("reader@example.org", 1, "read me")))
	w := newFiller(s)
	eventually(t, "mail is stored", func() bool { return w.stored.Load() > 500 })
	filler := filepath.Join(disk, "filler")
	fillUp(t, filler)
	filled := time.Now()
	// The writers may hang in the writes they had begun; new callers get an error.
	eventually(t, "mail is refused", func() bool {
		return fault.Is(s.CommitInbox(mail("probe@example.org", 1, "x")), fault.StorageFull)
	})
	if d := time.Since(filled); d > 8*time.Second { // a second at most, of a machine that does nothing else
		t.Errorf("the first refusal took %v", d)
	}
	if raw, err := s.ReadRaw("reader@example.org", 1); err != nil || string(raw) != "read me" {
		t.Errorf("a read on a full disk: %q %v", raw, err)
	}
	must(t, os.Remove(filler))
	freed, before := time.Now(), w.stored.Load()
	eventually(t, "mail is stored again", func() bool { return w.stored.Load() > before+8 })
	if d := time.Since(freed); d > 10*time.Second {
		t.Errorf("mail was refused for %v more", d)
	}
	w.end(t)
	closeStore(t, s)
	if lines := strings.Count(log.String(), "\n"); lines > 20 {
		t.Errorf("%d lines of log:\n%.2000s", lines, log.String())
	}
	s, err = Open(filepath.Join(disk, "data"), o)
	must(t, err)
	defer closeStore(t, s)
	w.verify(t, s)
}

// fillUp writes until nothing fits any more.
func fillUp(t *testing.T, path string) {
	f, err := os.Create(path)
	must(t, err)
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 64<<10))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}

// filler is eight writers that drop messages older than their last hundred.
type filler struct {
	stored  atomic.Int64
	last    [8]int64
	stop    atomic.Bool
	writers sync.WaitGroup
	failed  atomic.Pointer[error]
}

func fillerAddress(n int) string { return fmt.Sprintf("filler%d@example.org", n) }

func newFiller(s *Store) *filler {
	w := &filler{}
	for n := range w.last {
		w.writers.Go(func() {
			for !w.stop.Load() {
				id := w.last[n] + 1
				r := mail(fillerAddress(n), id, fmt.Sprintf("%02000d", id))
				if id > 100 {
					r.DropMessages = []*inbox.Message{{ID: id - 100}}
				}
				switch err := s.CommitInbox(r); {
				case err == nil:
					w.last[n] = id
					w.stored.Add(1)
				case !fault.Is(err, fault.StorageFull):
					w.failed.Store(&err)
					return
				}
			}
		})
	}
	return w
}

func (w *filler) end(t *testing.T) {
	w.stop.Store(true)
	w.writers.Wait()
	if err := w.failed.Load(); err != nil {
		t.Errorf("a writer failed: %v", *err)
	}
}

func (w *filler) verify(t *testing.T, s *Store) {
	for n, last := range w.last {
		st, err := s.LoadInbox(fillerAddress(n))
		must(t, err)
		if st.LastID != last || len(st.Messages) != int(min(last, 100)) {
			t.Errorf("inbox %d came back with %d messages up to %d, want %d up to %d", n, len(st.Messages), st.LastID, min(last, 100), last)
		}
	}
}

// TestStartOnFullDisk starts on a disk without a free byte: the ballast of the previous run is the
// space to start in.
func TestStartOnFullDisk(t *testing.T) {
	disk := tmpfs(t, "64m")
	o := Options{Logger: quiet, ExitProcess: unexpectedExit}
	s, err := Open(filepath.Join(disk, "data"), o)
	must(t, err)
	for id := int64(1); id <= 500; id++ {
		must(t, s.CommitInbox(mail(victim, id, strings.Repeat("x", 2000))))
	}
	closeStore(t, s)
	filler := filepath.Join(disk, "filler")
	fillUp(t, filler)
	s, err = Open(filepath.Join(disk, "data"), o)
	must(t, err)
	defer closeStore(t, s)
	if err := s.CommitInbox(mail(victim, 501, "x")); !fault.Is(err, fault.StorageFull) {
		t.Errorf("mail on a full disk: %v", err)
	}
	if st, err := s.LoadInbox(victim); err != nil || len(st.Messages) != 500 {
		t.Errorf("a read on a full disk: %d messages, %v", len(st.Messages), err)
	}
	must(t, s.CommitInbox(&inbox.Rows{Address: victim, DropMessages: mail(victim, 500, "").PutMessages}))
	must(t, os.Remove(filler))
	eventually(t, "the store has space", func() bool { return !s.IsFull() })
	must(t, s.CommitInbox(mail(victim, 501, "x")))
}
