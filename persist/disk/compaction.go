package disk

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// CompactionScheduler schedules the engine's compactions as the engine itself does, except that
// none starts for a while after one failed on a damaged file. The engine would pick the same
// compaction again at once, forever. The engine's own scheduler polls, but it cannot be combined
// with this delay, so CompactionScheduler polls itself, while a compaction that it denied waits. Any
// goroutine may use it.
type CompactionScheduler struct {
	pebble.CompactionScheduler
	begunAt   time.Time
	restUntil atomic.Int64  // nanoseconds after begun: end of the pause
	noTimers  bool          // no polling
	wasDenied chan struct{} // a compaction was denied and waits; has room for it

	stopCh    chan struct{} // closed by Unregister, which waits for looks
	looksDone sync.WaitGroup
}

const (
	// compactionRest is how long compactions pause after one failed on damage.
	compactionRest = 10 * time.Second
	// compactionLook is the polling interval; the engine's own value.
	compactionLook = 100 * time.Millisecond
)

// BeginRest starts a pause.
func (p *CompactionScheduler) BeginRest() {
	p.restUntil.Store(int64(time.Since(p.begunAt) + compactionRest))
}

// NewCompactionScheduler returns the scheduler of one engine. If still is set, it does not poll.
func NewCompactionScheduler(still bool) *CompactionScheduler {
	return &CompactionScheduler{
		CompactionScheduler: pebble.NewConcurrencyLimitSchedulerWithNoPeriodicGrantingForTest(),
		begunAt:             time.Now(), noTimers: still, wasDenied: make(chan struct{}, 1), stopCh: make(chan struct{}),
	}
}

// Register implements pebble.CompactionScheduler.
func (p *CompactionScheduler) Register(goroutines int, db pebble.DBForCompaction) {
	db = patientDB{db, p}
	p.CompactionScheduler.Register(goroutines, db)
	if !p.noTimers {
		p.looksDone.Go(func() { p.startCompactions(db) })
	}
}

// TrySchedule implements pebble.CompactionScheduler.
func (p *CompactionScheduler) TrySchedule() (bool, pebble.CompactionGrantHandle) {
	granted, grant := p.CompactionScheduler.TrySchedule()
	if !granted {
		select {
		case p.wasDenied <- struct{}{}:
		default:
		}
	}
	return granted, grant
}

// startCompactions starts denied compactions when they are allowed. The engine asks again for a
// compaction only when its state changes.
func (p *CompactionScheduler) startCompactions(db pebble.DBForCompaction) {
	for {
		select {
		case <-p.stopCh:
			return
		case <-p.wasDenied:
		}
		for waits := true; waits; waits = p.grantWaiting(db) {
			select {
			case <-p.stopCh:
				return
			case <-time.After(compactionLook):
			}
		}
	}
}

// grantWaiting starts a waiting compaction if one is allowed, and reports whether to try again.
func (p *CompactionScheduler) grantWaiting(db pebble.DBForCompaction) bool {
	if db.GetAllowedWithoutPermission() == 0 {
		return true
	}
	if waits, _ := db.GetWaitingCompaction(); !waits {
		return false
	}
	if granted, grant := p.TrySchedule(); granted && !db.Schedule(grant) {
		grant.Done()
	}
	return true
}

// Unregister implements pebble.CompactionScheduler.
func (p *CompactionScheduler) Unregister() {
	close(p.stopCh)
	p.looksDone.Wait()
	p.CompactionScheduler.Unregister()
}

// patientDB is the engine as its scheduler sees it: it allows no compaction during a pause.
type patientDB struct {
	pebble.DBForCompaction
	compactionScheduler *CompactionScheduler
}

func (d patientDB) GetAllowedWithoutPermission() int {
	if time.Since(d.compactionScheduler.begunAt) < time.Duration(d.compactionScheduler.restUntil.Load()) {
		return 0
	}
	return d.DBForCompaction.GetAllowedWithoutPermission()
}
