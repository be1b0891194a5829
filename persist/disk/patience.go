package disk

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// Patience schedules the engine's compactions as the engine itself would, but none for a while after
// one that failed while a file is damaged: the engine picks that one again at once, and would for
// ever. The engine's own scheduler looks again now and then but can't be had with another's
// patience: so the looking is here. Any goroutine may use it.
type Patience struct {
	pebble.CompactionScheduler
	begun time.Time
	until atomic.Int64 // nanoseconds after begun: the end of the rest
	still bool         // nobody looks by the clock

	stop  chan struct{} // closed by Unregister, which waits for looks
	looks sync.WaitGroup
}

const (
	// compactionRest is how long compactions rest after one that failed over damage.
	compactionRest = 10 * time.Second
	// compactionLook is how often it is seen whether one may begin; the engine's own figure.
	compactionLook = 100 * time.Millisecond
)

// Rest begins one.
func (p *Patience) Rest() { p.until.Store(int64(time.Since(p.begun) + compactionRest)) }

// NewPatience makes the scheduler of one engine. A still one does not look by the clock.
func NewPatience(still bool) *Patience {
	return &Patience{
		CompactionScheduler: pebble.NewConcurrencyLimitSchedulerWithNoPeriodicGrantingForTest(),
		begun:               time.Now(), still: still, stop: make(chan struct{}),
	}
}

// Register implements pebble.CompactionScheduler.
func (p *Patience) Register(goroutines int, db pebble.DBForCompaction) {
	db = patientDB{db, p}
	p.CompactionScheduler.Register(goroutines, db)
	if !p.still {
		p.looks.Go(func() { p.look(db) })
	}
}

// look begins compactions that wait, when they may.
func (p *Patience) look(db pebble.DBForCompaction) {
	t := time.NewTicker(compactionLook)
	defer t.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-t.C:
			if db.GetAllowedWithoutPermission() == 0 {
				continue
			}
			if waits, _ := db.GetWaitingCompaction(); !waits {
				continue
			}
			if granted, grant := p.TrySchedule(); granted && !db.Schedule(grant) {
				grant.Done()
			}
		}
	}
}

// Unregister implements pebble.CompactionScheduler.
func (p *Patience) Unregister() {
	close(p.stop)
	p.looks.Wait()
	p.CompactionScheduler.Unregister()
}

// patientDB is the engine as its scheduler sees it: it allows no compaction in a rest.
type patientDB struct {
	pebble.DBForCompaction
	patience *Patience
}

func (d patientDB) GetAllowedWithoutPermission() int {
	if time.Since(d.patience.begun) < time.Duration(d.patience.until.Load()) {
		return 0
	}
	return d.DBForCompaction.GetAllowedWithoutPermission()
}
