package disk

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"inboxd/internal/base/fault"
)

const (
	// pulseFresh is how long a synced write proves that the disk responds.
	pulseFresh = 5 * time.Second
	// pulseWait is how long the disk may take for a synced write.
	pulseWait = 2 * time.Second
)

// WriteProbe tracks whether the disk completes synced writes. Commits report theirs. Without commits it
// makes a write of its own, a probe. It makes only one at a time, so that a frozen disk blocks one
// goroutine rather than one for each caller. Any goroutine may use it: mu guards probe, everything
// else is atomic or immutable.
type WriteProbe struct {
	syncedWrite func() error // makes a synced write
	log         *StoreLogger
	begunAt     time.Time // a start writes and syncs, so it counts as a beat

	lastWrite atomic.Int64 // nanoseconds after begun: the last synced write
	isStalled atomic.Bool  // the running probe is late

	mu        sync.Mutex
	probeDone chan struct{} // closed when the running probe ends; nil if none runs
}

var errStalled = errors.New("the disk does not respond")

// NoteWrite records a synced write.
func (p *WriteProbe) NoteWrite() { p.lastWrite.Store(int64(time.Since(p.begunAt))) }

func (p *WriteProbe) sinceLastWrite() time.Duration {
	return time.Since(p.begunAt) - time.Duration(p.lastWrite.Load())
}

// IsStalled reports whether a synced write is late.
func (p *WriteProbe) IsStalled() bool { return p.isStalled.Load() }

// CheckReady returns nil if a synced write succeeded recently or succeeds now in time.
func (p *WriteProbe) CheckReady() error {
	if !p.IsStalled() {
		if p.sinceLastWrite() < pulseFresh {
			return nil
		}
		late := time.NewTimer(pulseWait)
		defer late.Stop()
		select {
		case <-p.beginProbe():
			return nil
		case <-late.C:
		}
	}
	return fault.Wrap(fault.StorageFull, "The storage does not respond. Reading works; writing works again once it responds", errStalled)
}

// beginProbe starts a probe unless one is running, and returns a channel that is closed at its end.
func (p *WriteProbe) beginProbe() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.probeDone == nil {
		p.probeDone = make(chan struct{})
		go p.runProbe(p.probeDone)
	}
	return p.probeDone
}

// runProbe makes one write. A failed write ends the process, unless the store is closed.
func (p *WriteProbe) runProbe(done chan struct{}) {
	late := time.AfterFunc(pulseWait, func() { p.noteLate(done) })
	defer late.Stop()
	err := p.syncedWrite()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isStalled.Swap(false) {
		p.log.LogThrottled(slog.LevelWarn, "storage: disk responds again")
	}
	if err == nil {
		p.NoteWrite()
	}
	p.probeDone = nil
	close(done)
}

// noteLate records that a probe is late, unless it has ended.
func (p *WriteProbe) noteLate(probe chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.probeDone == probe {
		p.isStalled.Store(true)
		p.log.LogThrottled(slog.LevelError, "storage: disk does not respond, new data is refused until it does")
	}
}
