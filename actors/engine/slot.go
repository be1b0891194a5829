package engine

import (
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"

	"inboxd/internal/base/partition"
)

// Slot is a directory's place for one entity that is, or is about to be, in memory. Every Entity
// embeds one; the directory fills it.
//
// The gate (mu, pid, posted, gone) ensures that no command is lost between an owner's stop and the
// next one's start. Every post counts itself under mu before it is sent, and an owner leaves under
// mu only after it has received every post. A poster that finds gone set looks the key up again.
type Slot struct {
	key   string
	group partition.Group // of key

	used   atomic.Int64 // Unix second of the last use
	weight atomic.Int64 // approximate bytes held

	mu     sync.Mutex // guards all below
	pid    *actor.PID
	posted atomic.Uint64 // written under mu; the owner reads it without mu
	gone   bool
}

// Key is the key of the entity in its directory.
func (s *Slot) Key() string { return s.key }

// Polled is for an entity that is also used without the directory. It returns the Unix second of
// the last such use, 0 if there was none. Any goroutine may call it.
func (s *Slot) Polled() int64 { return 0 }

// Vacant is the default: the entity is never vacant.
func (s *Slot) Vacant() bool { return false }

// Leave is the default for an entity that publishes nothing.
func (s *Slot) Leave() {}

// Unheard is the default for an entity without follow-ups.
func (s *Slot) Unheard(_, _ any) any { return nil }

func (s *Slot) slot() *Slot { return s }

// touch records a use. Loading first avoids a store to the shared cache line for each poll.
func (s *Slot) touch(now int64) {
	if s.used.Load() != now {
		s.used.Store(now)
	}
}
