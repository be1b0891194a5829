package engine

import (
	"sync"

	"github.com/zeebo/xxh3"
)

// Locks are locks by key, for what must be exact per key and has no owner. Two keys may
// share a lock: who holds one takes no other of the same Locks.
type Locks [64]sync.Mutex

// Of returns the lock of a key.
func (l *Locks) Of(key string) *sync.Mutex { return &l[xxh3.HashString(key)%uint64(len(l))] }
