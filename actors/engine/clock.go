package engine

import (
	"sync/atomic"
	"time"
)

// CoarseClock is the current Unix second, advanced by SetTime. Uses are recorded a million times a
// second and do not need a finer time.
type CoarseClock struct{ unixSeconds atomic.Int64 }

// SetTime sets the clock to t.
func (c *CoarseClock) SetTime(t time.Time) { c.unixSeconds.Store(t.Unix()) }

// Unix returns the Unix second.
func (c *CoarseClock) Unix() int64 { return c.unixSeconds.Load() }
