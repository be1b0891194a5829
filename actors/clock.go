package actors

import (
	"sync/atomic"
	"time"
)

// coarseClock is the Unix second, moved on by the sweep: uses are noted a million times a
// second and need no finer time.
type coarseClock struct{ sec atomic.Int64 }

func (c *coarseClock) set(t time.Time) { c.sec.Store(t.Unix()) }
func (c *coarseClock) unix() int64     { return c.sec.Load() }
