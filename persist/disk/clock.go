package disk

import (
	"sync"
	"time"
)

const (
	// clockJump is how far the clock may be ahead of the time that passed since it was last
	// trusted.
	clockJump = 24 * time.Hour
	// clockConfirm is how long a clock that jumped must advance evenly, within one run.
	clockConfirm = time.Hour
)

// TrustedClock decides whether messages may be removed by the wall clock, because a removal by a wrong
// clock cannot be undone. A clock is in doubt if it is more than clockJump ahead of its last
// trusted reading, in this run or since the previous one. The doubt ends when the clock is correct
// again, or when it has advanced evenly for clockConfirm within one run.
//
// The last trusted reading is stored in the high-water file and does not advance during a doubt. If
// the process dies, the next run inherits the doubt and starts the hour again. Any goroutine may
// use it; mu guards the readings.
type TrustedClock struct {
	now func() time.Time
	log *StoreLogger

	mu            sync.Mutex
	lastTrusted   clockReading // zero: none yet
	latestTrusted time.Time    // latest reading that was ever trusted, cut to milliseconds; never goes back
	firstDoubted  clockReading // first reading of the doubt; zero if not in doubt
}

// clockReading is the wall clock together with the monotonic clock.
type clockReading struct{ wallTime, monotonicTime time.Time }

// driftTo is how far the wall clock got ahead of the monotonic one between r and later.
func (r clockReading) driftTo(later clockReading) time.Duration {
	return later.wallTime.Sub(r.wallTime) - later.monotonicTime.Sub(r.monotonicTime)
}

// IsTrusted reads the clock and reports whether messages may be removed by it.
func (c *TrustedClock) IsTrusted() bool {
	_, _, trusted := c.readClock()
	return trusted
}

// LatestTrusted reads the clock and returns the latest reading that was ever trusted. A clock that
// went back or is in doubt does not change it.
func (c *TrustedClock) LatestTrusted() time.Time {
	_, seen, _ := c.readClock()
	return seen
}

// readClock reads the clock and returns the last trusted reading and the latest reading that was ever
// trusted.
func (c *TrustedClock) readClock() (last, seen time.Time, trusted bool) {
	now := clockReading{c.now().Round(0), time.Now()}
	c.mu.Lock()
	defer c.mu.Unlock()
	if trusted = c.judgeReading(now); trusted {
		c.lastTrusted, c.firstDoubted = now, clockReading{}
		c.noteTrusted(now.wallTime)
	}
	return c.lastTrusted.wallTime, c.latestTrusted, trusted
}

// noteTrusted records a trusted reading. The caller holds mu or is the only user of c.
func (c *TrustedClock) noteTrusted(wall time.Time) {
	if wall = wall.UTC().Truncate(time.Millisecond); wall.After(c.latestTrusted) {
		c.latestTrusted = wall
	}
}

// judgeReading judges a reading. The caller holds mu.
func (c *TrustedClock) judgeReading(now clockReading) bool {
	doubt := !c.firstDoubted.wallTime.IsZero()
	switch {
	case c.lastTrusted.wallTime.IsZero():
		return true
	case c.lastTrusted.driftTo(now) <= clockJump:
		if doubt {
			c.log.slogOut.Warn("the clock is correct again: messages expire from disk as before")
		}
		return true
	case !doubt, c.firstDoubted.driftTo(now).Abs() > clockJump:
		c.firstDoubted = now
		c.log.slogOut.Warn("the clock is more than a day ahead of its last reading: nothing expires from disk for an hour",
			"last", c.lastTrusted.wallTime, "now", now.wallTime)
		return false
	case now.monotonicTime.Sub(c.firstDoubted.monotonicTime) < clockConfirm:
		return false
	}
	c.log.slogOut.Warn("the clock is accepted: it advanced evenly for an hour")
	return true
}
