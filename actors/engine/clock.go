package engine

import (
	"sync/atomic"
	"time"
)

// Clock is the current Unix second, advanced by Set. Uses are recorded a million times a second and
// do not need a finer time.
type Clock struct{ sec atomic.Int64 }

// Set sets the clock to t.
func (c *Clock) Set(t time.Time) { c.sec.Store(t.Unix()) }

// Unix returns the Unix second.
func (c *Clock) Unix() int64 { return c.sec.Load() }
