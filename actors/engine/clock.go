package engine

import (
	"sync/atomic"
	"time"
)

// Clock is the Unix second, moved on by Tick: uses are noted a million times a second and
// need no finer time.
type Clock struct{ sec atomic.Int64 }

// Set moves the clock.
func (c *Clock) Set(t time.Time) { c.sec.Store(t.Unix()) }

// Unix reads it.
func (c *Clock) Unix() int64 { return c.sec.Load() }
