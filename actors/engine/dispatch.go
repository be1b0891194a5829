package engine

// Workers run the owners. They are goroutines that stay when their work is done: a new one
// starts on a small stack, which the depth of a commit makes it copy several times over.
type Workers struct {
	work  chan func()
	idle  chan struct{} // a place for each goroutine that may wait for work
	ended chan struct{} // closed: those that wait go
}

const (
	// idleWorkers bounds those that wait, and so the stacks that are kept.
	idleWorkers = 64
	// ownerThroughput is how many messages an owner takes before it lets others run.
	ownerThroughput = 300
)

// NewWorkers returns workers of whom none runs yet.
func NewWorkers() *Workers {
	return &Workers{work: make(chan func()), idle: make(chan struct{}, idleWorkers), ended: make(chan struct{})}
}

// Schedule implements actor.Dispatcher. It never waits.
func (w *Workers) Schedule(run func()) {
	select {
	case w.work <- run:
	default:
		go w.serve(run)
	}
}

// Throughput implements actor.Dispatcher.
func (w *Workers) Throughput() int { return ownerThroughput }

func (w *Workers) serve(run func()) {
	for {
		run()
		select {
		case w.idle <- struct{}{}:
		default:
			return
		}
		select {
		case run = <-w.work:
			<-w.idle
		case <-w.ended:
			return
		}
	}
}

// End lets those go that have no work. What is scheduled later still runs.
func (w *Workers) End() { close(w.ended) }
