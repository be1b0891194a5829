package disk

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// Patience schedules the engine's compactions as the engine itself does, except that none starts
// for a while after one failed on a damaged file. The engine would pick the same compaction again
// at once, forever. The engine's own scheduler polls, but it cannot be combined with this delay, so
// Patience polls itself. Any goroutine may use it.
type Patience struct {
	pebble.CompactionScheduler
	begun time.Time
	until atomic.Int64 // nanoseconds after begun: end of the pause
	still bool         // no polling

	stop  chan struct{} // closed by Unregister, which waits for looks
	looks sync.WaitGroup
}

const (
	// compactionRest is how long compactions pause after one failed on damage.
	compactionRest = 10 * time.Second
	// compactionLook is the polling interval; the engine's own value.
	compactionLook = 100 * time.Millisecond
)

// Rest starts a pause.
func (p *Patience) Rest() { p.until.Store(int64(time.Since(p.begun) + compactionRest)) }

// NewPatience returns the scheduler of one engine. If still is set, it does not poll.
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

// look starts waiting compactions when they are allowed.
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

// patientDB is the engine as its scheduler sees it: it allows no compaction during a pause.
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
