package mixed

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"inboxd/bench/drive"
)

// ledger records, for each message by its code, whether it was begun and accepted and how many
// events came, and which sends were accepted. Safe for concurrent use.
type ledger struct {
	entries []entry

	mu    sync.Mutex
	sends []int64 // numbers of those that were accepted
}

type entry struct {
	agent    atomic.Int32 // 1 and up; 0: never begun
	taken    atomic.Bool  // its 250 was read
	events   atomic.Int32 // that were received
	finalDot atomic.Int64 // UnixNano
}

func newLedger() *ledger { return &ledger{entries: make([]entry, drive.Codes)} }

// of is the entry of a code; nil for an invalid one.
func (l *ledger) of(code string) *entry {
	n, err := strconv.Atoi(code)
	if n -= drive.Codes / 9; err != nil || n < 0 || n >= len(l.entries) {
		return nil
	}
	return &l.entries[n]
}

// begin is called right before the final dot.
func (l *ledger) begin(code string, agent int) {
	e := l.of(code)
	e.finalDot.Store(time.Now().UnixNano())
	e.agent.Store(int32(agent) + 1)
}

func (l *ledger) accepted(code string) { l.of(code).taken.Store(true) }

// agentOf is the agent that a code was sent to; -1 for none.
func (l *ledger) agentOf(code string) int {
	e := l.of(code)
	if e == nil {
		return -1
	}
	return int(e.agent.Load()) - 1
}

// addEvent notes an event with a code that was sent, and returns how long it came after the final
// dot, and whether it was the first.
func (l *ledger) addEvent(code string, at time.Time) (after time.Duration, first bool) {
	e := l.of(code)
	return at.Sub(time.Unix(0, e.finalDot.Load())), e.events.Add(1) == 1
}

func (l *ledger) sent(n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sends = append(l.sends, n)
}

// count returns how many messages were accepted, how many of these have an event, and how many of
// all have more than one.
func (l *ledger) count() (taken, withEvent, twice int64) {
	for i := range l.entries {
		e := &l.entries[i]
		n := e.events.Load()
		if n > 1 {
			twice++
		}
		if e.taken.Load() {
			if taken++; n > 0 {
				withEvent++
			}
		}
	}
	return taken, withEvent, twice
}
