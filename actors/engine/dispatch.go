package engine

import "inboxd/internal/base/stackpool"

const (
	// idleOwners bounds the idle goroutines, and so the stacks that are kept.
	idleOwners = 64
	// ownerThroughput is how many messages an owner handles before others run.
	ownerThroughput = 300
)

// ownerDispatcher runs the owners on long-lived goroutines: a commit's call depth would make a new
// goroutine copy its stack several times.
type ownerDispatcher struct{ *stackpool.Pool }

// Schedule implements actor.Dispatcher.
func (d ownerDispatcher) Schedule(run func()) { d.Go(run) }

// Throughput implements actor.Dispatcher.
func (d ownerDispatcher) Throughput() int { return ownerThroughput }
