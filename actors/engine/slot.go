package engine

import (
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"

	"inboxd/internal/base/partition"
)

// EntitySlot is a directory's place for one entity that is, or is about to be, in memory. Every Entity
// embeds one; the directory fills it.
//
// The gate (mu, pid, posted, gone) ensures that no command is lost between an owner's stop and the
// next one's start. Every post counts itself under mu before it is sent, and an owner leaves under
// mu only after it has received every post. A poster that finds gone set looks the key up again.
type EntitySlot struct {
	key   string
	group partition.Group // of key

	lastUsed    atomic.Int64 // Unix second of the last use
	weightBytes atomic.Int64 // approximate bytes held

	mu          sync.Mutex // guards all below
	pid         *actor.PID
	postedCount atomic.Uint64 // written under mu; the owner reads it without mu
	isEvicted   bool
}

// Key is the key of the entity in its directory.
func (s *EntitySlot) Key() string { return s.key }

// LastPolledUnix is for an entity that is also used without the directory. It returns the Unix
// second of the last such use, 0 if there was none. Any goroutine may call it.
func (s *EntitySlot) LastPolledUnix() int64 { return 0 }

// IsVacant is the default: the entity is never vacant.
func (s *EntitySlot) IsVacant() bool { return false }

// OnUnload is the default for an entity that publishes nothing.
func (s *EntitySlot) OnUnload() {}

// FollowUpCommand is the default for an entity without follow-ups.
func (s *EntitySlot) FollowUpCommand(_, _ any) any { return nil }

func (s *EntitySlot) slot() *EntitySlot { return s }

// noteUse records a use. Loading first avoids a store to the shared cache line for each poll.
func (s *EntitySlot) noteUse(now int64) {
	if s.lastUsed.Load() != now {
		s.lastUsed.Store(now)
	}
}
