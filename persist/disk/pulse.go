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
	// pulseLook is how often watch checks that commits make progress.
	pulseLook = 250 * time.Millisecond
)

// Pulse tracks whether the disk completes synced writes. Commits report theirs. Without commits it
// makes a write of its own, a probe. It makes only one at a time, so that a frozen disk blocks one
// goroutine rather than one for each caller. Any goroutine may use it: mu guards probe, everything
// else is atomic or immutable.
type Pulse struct {
	sync  func() error // makes a synced write
	log   *Logger
	begun time.Time // a start writes and syncs, so it counts as a beat

	last    atomic.Int64 // nanoseconds after begun: the last synced write
	stalled atomic.Bool  // the running probe is late

	mu    sync.Mutex
	probe chan struct{} // closed when the running probe ends; nil if none runs
}

var errStalled = errors.New("the disk does not respond")

// Beat records a synced write.
func (p *Pulse) Beat() { p.last.Store(int64(time.Since(p.begun))) }

func (p *Pulse) age() time.Duration { return time.Since(p.begun) - time.Duration(p.last.Load()) }

// Stalled reports whether a synced write is late.
func (p *Pulse) Stalled() bool { return p.stalled.Load() }

// Ready returns nil if a synced write succeeded recently or succeeds now in time.
func (p *Pulse) Ready() error {
	if !p.Stalled() {
		if p.age() < pulseFresh {
			return nil
		}
		late := time.NewTimer(pulseWait)
		defer late.Stop()
		select {
		case <-p.try():
			return nil
		case <-late.C:
		}
	}
	return fault.Wrap(fault.StorageFull, "The storage does not respond. Reading works; writing works again once it responds", errStalled)
}

// try starts a probe unless one is running, and returns a channel that is closed at its end.
func (p *Pulse) try() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.probe == nil {
		p.probe = make(chan struct{})
		go p.run(p.probe)
	}
	return p.probe
}

// run makes one write. A failed write ends the process, unless the store is closed.
func (p *Pulse) run(done chan struct{}) {
	late := time.AfterFunc(pulseWait, func() { p.late(done) })
	defer late.Stop()
	err := p.sync()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stalled.Swap(false) {
		p.log.Seldom(slog.LevelWarn, "storage: disk responds again")
	}
	if err == nil {
		p.Beat()
	}
	p.probe = nil
	close(done)
}

// late records that a probe is late, unless it has ended.
func (p *Pulse) late(probe chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.probe == probe {
		p.stalled.Store(true)
		p.log.Seldom(slog.LevelError, "storage: disk does not respond, new data is refused until it does")
	}
}

// watch checks that the folder is ours, and starts a probe if commits in progress are stuck, until
// stop is closed.
func (f *Folder) watch(stop <-chan struct{}, busy func() bool) {
	t := time.NewTicker(pulseLook)
	defer t.Stop()
	for {
		select {
		case <-stop:
			return
		case <-t.C:
			_ = f.Ours() // it stores the result
			if busy() && f.Pulse.age() > pulseWait/2 {
				f.Pulse.try()
			}
		}
	}
}
