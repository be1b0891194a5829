package actors

import (
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"

	"inboxd/internal/inbox"
)

// slot is a directory's place for one entity that is, or is about to be, in memory.
//
// The gate (mu, pid, box, posted, gone) is how no command is ever lost between an owner's stop
// and the next one's start: every post counts itself under mu before it is sent, and an
// owner leaves under mu only when it has seen every post. A poster that finds gone set
// looks the key up again.
type slot struct {
	key string

	view   atomic.Pointer[inbox.View] // of an inbox; nil until loaded, or when nobody lives there
	used   atomic.Int64               // Unix second of the last use
	weight atomic.Int64               // approximate bytes held

	mu     sync.Mutex
	pid    *actor.PID
	box    *mailbox      // of pid
	posted atomic.Uint64 // written under mu; the owner reads it without
	gone   bool
}

// touch notes a use. The load spares the shared cache line a store per poll.
func (s *slot) touch(now int64) {
	if s.used.Load() != now {
		s.used.Store(now)
	}
}

// lastUse is when the inbox was used last, by polls that were answered without asking for
// its slot too.
func (s *slot) lastUse() int64 {
	if v := s.view.Load(); v != nil {
		if at := v.PolledAt(); at > s.used.Load() {
			s.used.Store(at)
		}
	}
	return s.used.Load()
}

// publish shows v, and then ends the view before it and wakes whoever waits on it.
func (s *slot) publish(v *inbox.View) {
	if old := s.view.Swap(v); old != nil {
		old.Supersede()
	}
}

// mailbox makes the mailbox of the slot's owner; under the gate.
func (s *slot) mailbox() actor.Mailbox {
	s.box = newMailbox()
	return s.box
}
