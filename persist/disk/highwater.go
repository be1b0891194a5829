package disk

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/zeebo/xxh3"
)

const (
	// highWaterEvery is how old the high-water file may be while commits go on. A commit after
	// a quiet time is noted at once.
	highWaterEvery = 750 * time.Millisecond
	// highWaterIdle is how old it may be in a quiet time: a crash forgets so much of what the
	// clock has seen.
	highWaterIdle = time.Minute
	// unheardBefore is how long a change may wait for its sync while others are noted.
	unheardBefore = time.Second
)

// HighWater counts the commits that are known to be on disk, and notes in a file how many
// they are: a start that finds fewer has lost some. The count may trail the disk, never lead.
type HighWater struct {
	folder   *Folder
	clock    *Clock
	previous mark // of the run before
	// unheard is when mails came of which the run before had not noted that they were on disk;
	// zero: there are none. It does not change after Begin.
	unheard struct{ from, to time.Time }

	acked atomic.Uint64
	// moved has an entry when acked moved since it was last taken out.
	moved chan struct{}
	// written is how many the file says. Only keep's goroutine has it, after it Rest's.
	written uint64
}

// mark is the content of the high-water file: what a run knew to be on disk.
type mark struct {
	commits uint64
	at      time.Time // wall time of writing, to the millisecond, or the last that was trusted
	seen    time.Time // the latest that was ever trusted; zero: as at, in a file of form 1
	// manifest is how far the engine's manifest was known to be on disk; zero in files of forms 1 and 2.
	manifest manifestEnd
}

const (
	highWaterForm  = "inboxd high-water 3\ncommits %d\ntime %d\nseen %d\nmanifest %s %d\n"
	highWaterForm2 = "inboxd high-water 2\ncommits %d\ntime %d\nseen %d\n"
	highWaterForm1 = "inboxd high-water 1\ncommits %d\ntime %d\n"
)

func (m mark) encode() []byte {
	var body []byte
	switch {
	case m.seen.IsZero():
		body = fmt.Appendf(nil, highWaterForm1, m.commits, m.at.UnixMilli())
	case m.manifest == manifestEnd{}:
		body = fmt.Appendf(nil, highWaterForm2, m.commits, m.at.UnixMilli(), m.seen.UnixMilli())
	default:
		body = fmt.Appendf(nil, highWaterForm, m.commits, m.at.UnixMilli(), m.seen.UnixMilli(), m.manifest.name, m.manifest.length)
	}
	return fmt.Appendf(body, "sum %016x\n", xxh3.Hash(body))
}

// readMark is true for what encode wrote, to the byte.
func readMark(data []byte) (m mark, ok bool) {
	var at, seen int64
	scan := func(form string, into ...any) bool {
		_, err := fmt.Sscanf(string(data), form, into...)
		return err == nil
	}
	switch {
	case scan(highWaterForm, &m.commits, &at, &seen, &m.manifest.name, &m.manifest.length), scan(highWaterForm2, &m.commits, &at, &seen):
		m.seen = time.UnixMilli(seen).UTC()
	case !scan(highWaterForm1, &m.commits, &at):
		return m, false
	}
	m.at = time.UnixMilli(at).UTC()
	return m, bytes.Equal(m.encode(), data)
}

// readHighWater begins with no mark when there is no file, as on a first start and after an
// operator took it away to go on with what is left.
func readHighWater(f *Folder, now func() time.Time) (*HighWater, error) {
	h := &HighWater{folder: f, clock: &Clock{now: now, log: f.Log}, moved: make(chan struct{}, 1)}
	data, err := ReadFile(f.FS, f.Path(HighWaterName))
	if errors.Is(err, os.ErrNotExist) {
		return h, nil
	}
	if errors.As(err, new(Unfit)) {
		return h, err
	}
	previous, ok := readMark(data)
	if err == nil && !ok {
		err = errors.New("its content is not what was written")
	}
	if err != nil {
		return h, LostEnd{fmt.Errorf("the file %s in the data folder %s is damaged (remove it to start without its check): %w", HighWaterName, f.Dir, err)}
	}
	h.previous, h.written = previous, previous.commits
	h.clock.trusted = reading{previous.at, time.Now()}
	h.clock.observe(previous.at)
	h.clock.observe(previous.seen)
	return h, nil
}

// LostEnd is why the journal can't be trusted to have all that was on disk. What it has can be read.
type LostEnd struct{ Err error }

func (l LostEnd) Error() string { return l.Err.Error() }

// Unwrap gives the cause.
func (l LostEnd) Unwrap() error { return l.Err }

// Begin takes the number of commits that a start found, and refuses a journal that has lost
// its end.
func (h *HighWater) Begin(found uint64) error {
	h.acked.Store(found)
	if found > h.previous.commits && h.previous.commits > 0 {
		h.unheard.from, h.unheard.to = h.previous.at.Add(-unheardBefore), h.clock.now()
	}
	if found >= h.previous.commits {
		return nil
	}
	advice := "Restore a backup"
	if found > 0 {
		advice += ", or remove the file " + HighWaterName + " to continue with the remaining data"
	}
	return LostEnd{fmt.Errorf("the data folder %s has lost data: its journal ends at commit %d, but commit %d was on disk at %s. %s",
		h.folder.Dir, found, h.previous.commits, h.previous.at.Format(time.RFC3339), advice)}
}

// Unheard is when changes were decided that a crash kept, though nobody may have heard of them;
// zero times when there are none.
func (h *HighWater) Unheard() (from, to time.Time) { return h.unheard.from, h.unheard.to }

// Clock tells whether the wall clock may be believed.
func (h *HighWater) Clock() *Clock { return h.clock }

// Count is how many commits are on disk, of all runs.
func (h *HighWater) Count() uint64 { return h.acked.Load() }

// Ack counts a commit that is on disk.
func (h *HighWater) Ack() {
	h.acked.Add(1)
	select {
	case h.moved <- struct{}{}:
	default:
	}
}

// keep writes the file while commits come, and now and then while none do, until stop; Rest
// writes the last one. While commits are under way that don't get on, the file keeps saying when
// the last one did: what came since may be on disk without anybody having heard of it.
func (h *HighWater) keep(stop <-chan struct{}, busy func() bool) {
	for {
		for h.acked.Load() != h.written {
			h.write()
			select {
			case <-stop:
				return
			case <-time.After(highWaterEvery):
			}
		}
		var idle <-chan time.Time
		if !h.folder.still {
			idle = time.After(highWaterIdle)
		}
		select {
		case <-stop:
			return
		case <-h.moved:
		case <-idle:
			if !busy() {
				h.write()
			}
		}
	}
}

// write only logs a failure: the file detects a loss, it does not prevent one. Another's folder
// on the path is left alone.
func (h *HighWater) write() {
	if h.folder.Ours() != nil {
		return
	}
	acked := h.acked.Load()
	at, seen, _ := h.clock.read()
	manifest := h.previous.manifest
	if end := h.folder.manifest.Load(); end != nil {
		manifest = *end
	}
	if err := WriteFile(h.folder.FS, h.folder.Dir, HighWaterName, mark{acked, at, seen, manifest}.encode()); err != nil {
		h.folder.Log.Seldom(slog.LevelError, "storage: high-water file not written", "err", err)
		return
	}
	h.written = acked
}
