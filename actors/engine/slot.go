package engine

import (
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"

	"inboxd/internal/base/partition"
)

// Slot is a directory's place for one entity that is, or is about to be, in memory. Every
// Entity embeds one; the directory fills it.
//
// The gate (mu, pid, posted, gone) is how no command is ever lost between an owner's stop
// and the next one's start: every post counts itself under mu before it is sent, and an
// owner leaves under mu only when it has seen every post. A poster that finds gone set
// looks the key up again.
type Slot struct {
	key   string
	group partition.Group // of key

	used   atomic.Int64 // Unix second of the last use
	weight atomic.Int64 // approximate bytes held

	mu     sync.Mutex // guards all below
	pid    *actor.PID
	posted atomic.Uint64 // written under mu; the owner reads it without
	gone   bool
}

// Key is what the directory finds the entity by.
func (s *Slot) Key() string { return s.key }

// Polled is for an entity that is also used without asking the directory for it: the Unix
// second of the last such use, 0 for none. Any goroutine may call it.
func (s *Slot) Polled() int64 { return 0 }

// Vacant is for an entity that may come to nothing.
func (s *Slot) Vacant() bool { return false }

// Leave is for an entity that shows something.
func (s *Slot) Leave() {}

// Unheard is for an entity to which it is all the same who hears its answers.
func (s *Slot) Unheard(_, _ any) any { return nil }

func (s *Slot) slot() *Slot { return s }

// touch notes a use. The load spares the shared cache line a store per poll.
func (s *Slot) touch(now int64) {
	if s.used.Load() != now {
		s.used.Store(now)
	}
}
