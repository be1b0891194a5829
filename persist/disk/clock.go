package disk

import (
	"sync"
	"time"
)

const (
	// clockJump is how far the clock may run ahead of what passed since it was last trusted.
	clockJump = 24 * time.Hour
	// clockConfirm is how long, within one run, a clock that jumped must go on evenly.
	clockConfirm = time.Hour
)

// Clock judges whether the wall clock may remove mail, for a removal by a wrong one can't be
// undone. A clock that is more than clockJump ahead of its last trusted reading, in this run or
// since the one before, is in doubt. The doubt ends when the clock is back, or when it went on
// evenly for clockConfirm in one run. The last trusted reading is on disk, in the high-water
// file, and stands still while there is a doubt: a run that dies leaves the doubt to the next,
// which begins the hour anew. Any goroutine may use it; mu guards the readings.
type Clock struct {
	now func() time.Time
	log *Logger

	mu      sync.Mutex
	trusted reading   // zero: none yet
	seen    time.Time // the latest that was ever trusted, to the millisecond; never goes back
	doubted reading   // the first of the doubt; zero: no doubt
}

// reading is the wall clock at a moment of the monotonic clock.
type reading struct{ wall, mono time.Time }

// drift is how far the wall clock ran ahead of the monotonic one from r to a later reading.
func (r reading) drift(later reading) time.Duration {
	return later.wall.Sub(r.wall) - later.mono.Sub(r.mono)
}

// Trusted reads the clock, and reports whether it may remove mail.
func (c *Clock) Trusted() bool {
	_, _, trusted := c.read()
	return trusted
}

// Seen reads the clock, and returns the latest reading that was ever trusted: a clock that went
// back does not take it along, and one in doubt does not move it.
func (c *Clock) Seen() time.Time {
	_, seen, _ := c.read()
	return seen
}

// read reads the clock, and returns the last reading that is trusted and the latest that ever was.
func (c *Clock) read() (last, seen time.Time, trusted bool) {
	now := reading{c.now().Round(0), time.Now()}
	c.mu.Lock()
	defer c.mu.Unlock()
	if trusted = c.believe(now); trusted {
		c.trusted, c.doubted = now, reading{}
		c.observe(now.wall)
	}
	return c.trusted.wall, c.seen, trusted
}

// observe notes a trusted reading. The caller holds mu, or has c alone.
func (c *Clock) observe(wall time.Time) {
	if wall = wall.UTC().Truncate(time.Millisecond); wall.After(c.seen) {
		c.seen = wall
	}
}

// believe judges a reading. The caller holds mu.
func (c *Clock) believe(now reading) bool {
	doubt := !c.doubted.wall.IsZero()
	switch {
	case c.trusted.wall.IsZero():
		return true
	case c.trusted.drift(now) <= clockJump:
		if doubt {
			c.log.out.Warn("the clock is correct again: messages expire from disk as before")
		}
		return true
	case !doubt, c.doubted.drift(now).Abs() > clockJump:
		c.doubted = now
		c.log.out.Warn("the clock is more than a day ahead of its last reading: nothing expires from disk for an hour",
			"last", c.trusted.wall, "now", now.wall)
		return false
	case now.mono.Sub(c.doubted.mono) < clockConfirm:
		return false
	}
	c.log.out.Warn("the clock is accepted: it advanced evenly for an hour")
	return true
}
