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
	// highWaterEvery is the maximum age of the high-water file while commits continue. A commit
	// after an idle period is recorded at once.
	highWaterEvery = 750 * time.Millisecond
	// highWaterIdle is the maximum age during an idle period. A crash loses that much of the
	// clock's readings.
	highWaterIdle = time.Minute
	// unacknowledgedBefore is how long a change may wait for its fsync while others are recorded.
	unacknowledgedBefore = time.Second
)

// HighWater counts the commits that are known to be durable, and records the number in a file. A
// start that finds fewer commits has lost some. The count may lag behind the disk but is never
// ahead of it.
type HighWater struct {
	folder       *DataFolder
	clock        *TrustedClock
	previousMark highWaterMark // of the previous run
	// unacknowledged is the period of messages that the previous run did not record as durable;
	// zero if it is empty. It does not change after BeginCount.
	unacknowledged struct{ from, to time.Time }

	acked atomic.Uint64
	// ackedChanged has an entry if acked changed since the entry was last taken.
	ackedChanged chan struct{}
	// writtenCount is the number in the file. Only keep's goroutine uses it, and afterwards Rest's.
	writtenCount uint64
}

// highWaterMark is the content of the high-water file: what a run knew to be durable.
type highWaterMark struct {
	commitCount   uint64
	at            time.Time // wall time of writing in milliseconds, or the last trusted reading
	latestTrusted time.Time // latest trusted reading ever; zero in files of form 1, where at stands for it
	// manifestEnd is how far the engine's manifest was known to be durable; zero in files of forms 1
	// and 2.
	manifestEnd manifestEnd
}

const (
	highWaterForm  = "inboxd high-water 3\ncommits %d\ntime %d\nseen %d\nmanifest %s %d\n"
	highWaterForm2 = "inboxd high-water 2\ncommits %d\ntime %d\nseen %d\n"
	highWaterForm1 = "inboxd high-water 1\ncommits %d\ntime %d\n"
)

func (m highWaterMark) encodeMark() []byte {
	var body []byte
	switch {
	case m.latestTrusted.IsZero():
		body = fmt.Appendf(nil, highWaterForm1, m.commitCount, m.at.UnixMilli())
	case m.manifestEnd == manifestEnd{}:
		body = fmt.Appendf(nil, highWaterForm2, m.commitCount, m.at.UnixMilli(), m.latestTrusted.UnixMilli())
	default:
		body = fmt.Appendf(nil, highWaterForm, m.commitCount, m.at.UnixMilli(), m.latestTrusted.UnixMilli(), m.manifestEnd.fileName, m.manifestEnd.length)
	}
	return fmt.Appendf(body, "sum %016x\n", xxh3.Hash(body))
}

// readMark returns true only for exactly what encode wrote.
func readMark(data []byte) (m highWaterMark, ok bool) {
	var at, seen int64
	scan := func(form string, into ...any) bool {
		_, err := fmt.Sscanf(string(data), form, into...)
		return err == nil
	}
	switch {
	case scan(highWaterForm, &m.commitCount, &at, &seen, &m.manifestEnd.fileName, &m.manifestEnd.length), scan(highWaterForm2, &m.commitCount, &at, &seen):
		m.latestTrusted = time.UnixMilli(seen).UTC()
	case !scan(highWaterForm1, &m.commitCount, &at):
		return m, false
	}
	m.at = time.UnixMilli(at).UTC()
	return m, bytes.Equal(m.encodeMark(), data)
}

// readHighWater starts without a mark if the file does not exist: at the first start, and after an
// operator removed it to continue with the remaining data.
func readHighWater(f *DataFolder, now func() time.Time) (*HighWater, error) {
	h := &HighWater{folder: f, clock: &TrustedClock{now: now, log: f.Log}, ackedChanged: make(chan struct{}, 1)}
	data, err := ReadFile(f.FS, f.FilePath(HighWaterName))
	if errors.Is(err, os.ErrNotExist) {
		return h, nil
	}
	if errors.As(err, new(UnusableFolder)) {
		return h, err
	}
	previous, ok := readMark(data)
	if err == nil && !ok {
		err = errors.New("its content is not what was written")
	}
	if err != nil {
		return h, LostEnd{fmt.Errorf("the file %s in the data folder %s is damaged (remove it to start without its check): %w", HighWaterName, f.Dir, err)}
	}
	h.previousMark, h.writtenCount = previous, previous.commitCount
	h.clock.lastTrusted = clockReading{previous.at, time.Now()}
	h.clock.noteTrusted(previous.at)
	h.clock.noteTrusted(previous.latestTrusted)
	return h, nil
}

// LostEnd means that the journal may not have everything that was durable. The rest of it can be
// read.
type LostEnd struct{ Err error }

// Error implements error.
func (l LostEnd) Error() string { return l.Err.Error() }

// Unwrap returns the cause.
func (l LostEnd) Unwrap() error { return l.Err }

// BeginCount gets the number of commits that a start found, and refuses a journal that has lost its
// end.
func (h *HighWater) BeginCount(found uint64) error {
	h.acked.Store(found)
	if found > h.previousMark.commitCount && h.previousMark.commitCount > 0 {
		h.unacknowledged.from, h.unacknowledged.to = h.previousMark.at.Add(-unacknowledgedBefore), h.clock.now()
	}
	if found >= h.previousMark.commitCount {
		return nil
	}
	advice := "Restore a backup"
	if found > 0 {
		advice += ", or remove the file " + HighWaterName + " to continue with the remaining data"
	}
	return LostEnd{fmt.Errorf("the data folder %s has lost data: its journal ends at commit %d, but commit %d was on disk at %s. %s",
		h.folder.Dir, found, h.previousMark.commitCount, h.previousMark.at.Format(time.RFC3339), advice)}
}

// UnacknowledgedPeriod returns the period of changes that a crash kept although they may be
// unacknowledged. Both times are zero if the period is empty.
func (h *HighWater) UnacknowledgedPeriod() (from, to time.Time) {
	return h.unacknowledged.from, h.unacknowledged.to
}

// Clock returns the judgement on the wall clock.
func (h *HighWater) Clock() *TrustedClock { return h.clock }

// CommitCount returns the number of durable commits of all runs.
func (h *HighWater) CommitCount() uint64 { return h.acked.Load() }

// Ack counts a durable commit.
func (h *HighWater) Ack() {
	h.acked.Add(1)
	select {
	case h.ackedChanged <- struct{}{}:
	default:
	}
}

// runWriter writes the file while commits arrive, and periodically while none do, until stop is closed;
// Rest writes it last. While commits in progress are stuck, the file keeps the time of the last
// finished one: later changes may be durable but unacknowledged.
func (h *HighWater) runWriter(stop <-chan struct{}, busy func() bool) {
	for {
		for h.acked.Load() != h.writtenCount {
			h.writeMark()
			select {
			case <-stop:
				return
			case <-time.After(highWaterEvery):
			}
		}
		var idle <-chan time.Time
		if !h.folder.noTimers {
			idle = time.After(highWaterIdle)
		}
		select {
		case <-stop:
			return
		case <-h.ackedChanged:
		case <-idle:
			if !busy() {
				h.writeMark()
			}
		}
	}
}

// writeMark only logs a failure: the file detects a loss, it does not prevent one. It does not write if
// another folder is at the path.
func (h *HighWater) writeMark() {
	if h.folder.CheckIdentity() != nil {
		return
	}
	acked := h.acked.Load()
	at, seen, _ := h.clock.readClock()
	manifest := h.previousMark.manifestEnd
	if end := h.folder.manifestEnd.Load(); end != nil {
		manifest = *end
	}
	if err := WriteFile(h.folder.FS, h.folder.Dir, HighWaterName, highWaterMark{acked, at, seen, manifest}.encodeMark()); err != nil {
		h.folder.Log.LogThrottled(slog.LevelError, "storage: high-water file not written", "err", err)
		return
	}
	h.writtenCount = acked
}
