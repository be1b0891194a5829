package engine

import "inboxd/internal/base/stackpool"

const (
	// idleOwners bounds the goroutines that wait for an owner to run, and so the stacks
	// that are kept.
	idleOwners = 64
	// ownerThroughput is how many messages an owner takes before it lets others run.
	ownerThroughput = 300
)

// dispatcher runs the owners on goroutines that stay: the depth of a commit would have a new
// one copy its stack several times over.
type dispatcher struct{ *stackpool.Pool }

// Schedule implements actor.Dispatcher.
func (d dispatcher) Schedule(run func()) { d.Go(run) }

// Throughput implements actor.Dispatcher.
func (d dispatcher) Throughput() int { return ownerThroughput }
