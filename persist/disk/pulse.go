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
	// pulseFresh is how long a synced write proves that the next will do.
	pulseFresh = 5 * time.Second
	// pulseWait is how long the disk may take for one.
	pulseWait = 2 * time.Second
	// pulseLook is how often the watch sees whether commits get on.
	pulseLook = 250 * time.Millisecond
)

// Pulse knows whether the disk takes synced writes. Commits tell it; when they don't, it makes a
// write of its own, one at a time however many ask, so that a frozen disk holds one goroutine
// and not one for each question. Any goroutine may use it: mu guards probe, all else is atomic
// or never changes.
type Pulse struct {
	sync  func() error // makes a synced write
	log   *Logger
	begun time.Time // a start writes and syncs

	last    atomic.Int64 // nanoseconds after begun: the last synced write
	stalled atomic.Bool  // the probe under way is late

	mu    sync.Mutex
	probe chan struct{} // closed when the probe under way ends; nil: none is
}

var errStalled = errors.New("the disk does not respond")

// Beat notes a synced write.
func (p *Pulse) Beat() { p.last.Store(int64(time.Since(p.begun))) }

func (p *Pulse) age() time.Duration { return time.Since(p.begun) - time.Duration(p.last.Load()) }

// Stalled reports whether a synced write is late.
func (p *Pulse) Stalled() bool { return p.stalled.Load() }

// Ready returns nil when a synced write was made lately or is made now, in time.
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

// try begins a probe unless one is under way, and returns what tells its end.
func (p *Pulse) try() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.probe == nil {
		p.probe = make(chan struct{})
		go p.run(p.probe)
	}
	return p.probe
}

// run makes one write. A write that fails ends the process, unless the store is closed.
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

// late notes that a probe is late, unless it has ended.
func (p *Pulse) late(probe chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.probe == probe {
		p.stalled.Store(true)
		p.log.Seldom(slog.LevelError, "storage: disk does not respond, new data is refused until it does")
	}
}

// watch looks whether the folder is ours, and makes a write when there are commits under way
// that don't get on, until stop.
func (f *Folder) watch(stop <-chan struct{}, busy func() bool) {
	t := time.NewTicker(pulseLook)
	defer t.Stop()
	for {
		select {
		case <-stop:
			return
		case <-t.C:
			_ = f.Ours() // it notes the answer
			if busy() && f.Pulse.age() > pulseWait/2 {
				f.Pulse.try()
			}
		}
	}
}
