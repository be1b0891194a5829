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

// Clock decides whether messages may be removed by the wall clock, because a removal by a wrong
// clock cannot be undone. A clock is in doubt if it is more than clockJump ahead of its last
// trusted reading, in this run or since the previous one. The doubt ends when the clock is correct
// again, or when it has advanced evenly for clockConfirm within one run.
//
// The last trusted reading is stored in the high-water file and does not advance during a doubt. If
// the process dies, the next run inherits the doubt and starts the hour again. Any goroutine may
// use it; mu guards the readings.
type Clock struct {
	now func() time.Time
	log *Logger

	mu      sync.Mutex
	trusted reading   // zero: none yet
	seen    time.Time // latest reading that was ever trusted, cut to milliseconds; never goes back
	doubted reading   // first reading of the doubt; zero if not in doubt
}

// reading is the wall clock together with the monotonic clock.
type reading struct{ wall, mono time.Time }

// drift is how far the wall clock got ahead of the monotonic one between r and later.
func (r reading) drift(later reading) time.Duration {
	return later.wall.Sub(r.wall) - later.mono.Sub(r.mono)
}

// Trusted reads the clock and reports whether messages may be removed by it.
func (c *Clock) Trusted() bool {
	_, _, trusted := c.read()
	return trusted
}

// Seen reads the clock and returns the latest reading that was ever trusted. A clock that went back
// or is in doubt does not change it.
func (c *Clock) Seen() time.Time {
	_, seen, _ := c.read()
	return seen
}

// read reads the clock and returns the last trusted reading and the latest reading that was ever
// trusted.
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

// observe records a trusted reading. The caller holds mu or is the only user of c.
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
