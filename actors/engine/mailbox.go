package engine

import (
	"sync"

	"github.com/asynkron/protoactor-go/actor"
)

// mailbox holds what was posted to one owner and runs it, one message at a time, on a worker
// or on the goroutine of a poster that would only wait for the answer: then nobody is woken
// for the message and nobody for its answer (ADR 0031). It knows nothing of requests but
// whether their poster takes a turn.
//
// Whoever sets running runs the owner, and nobody else does, until it finds both queues
// empty under mu or hands the rest to a worker. So no message is left behind: one that is
// posted while the owner runs is seen, and one that is posted otherwise starts a run.
type mailbox struct {
	invoker    actor.MessageInvoker
	dispatcher actor.Dispatcher
	work       func() // run by a worker

	mu           sync.Mutex
	system, user queue
	running      bool
	suspended    bool // by the supervision: only system messages are handled
}

var _ actor.Mailbox = (*mailbox)(nil)

func newMailbox() *mailbox {
	m := &mailbox{}
	m.work = func() { m.run(m.dispatcher.Throughput()) }
	return m
}

// RegisterHandlers implements actor.Mailbox.
func (m *mailbox) RegisterHandlers(i actor.MessageInvoker, d actor.Dispatcher) {
	m.invoker, m.dispatcher = i, d
}

// Start implements actor.Mailbox.
func (m *mailbox) Start() {}

// UserMessageCount implements actor.Mailbox.
func (m *mailbox) UserMessageCount() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.user.len()
}

// PostUserMessage implements actor.Mailbox. A request whose poster takes a turn starts no
// worker.
func (m *mailbox) PostUserMessage(msg any) {
	r, ok := msg.(*request)
	m.post(&m.user, msg, !ok || !r.turn)
}

// PostSystemMessage implements actor.Mailbox.
func (m *mailbox) PostSystemMessage(msg any) { m.post(&m.system, msg, true) }

func (m *mailbox) post(q *queue, msg any, start bool) {
	m.mu.Lock()
	q.push(msg)
	start = start && !m.running
	m.running = m.running || start
	m.mu.Unlock()
	if start {
		m.dispatcher.Schedule(m.work)
	}
}

// turn runs the owner for one message of users, here and now, unless it runs already: then
// that run sees whatever was posted. What is left after one message is a worker's.
func (m *mailbox) turn() {
	m.mu.Lock()
	mine := !m.running
	m.running = true
	m.mu.Unlock()
	if mine {
		m.run(1)
	}
}

// run handles messages until there are none, or most of users: then a worker goes on.
func (m *mailbox) run(most int) {
	for {
		switch msg, next := m.next(most > 0); next {
		case stepSystem:
			m.handle(m.invoker.InvokeSystemMessage, msg)
		case stepUser:
			most--
			m.handle(m.invoker.InvokeUserMessage, msg)
		case stepAside:
			m.dispatcher.Schedule(m.work)
			return
		default:
			return
		}
	}
}

// step is what a run does next.
type step uint8

const (
	stepEnd    step = iota // nothing to handle: the run is over
	stepSystem             // handle a message of the engine
	stepUser               // handle one of users
	stepAside              // leave those of users to a worker, which is running from now on
)

// next takes the message to handle; of users only if any is left to this run.
func (m *mailbox) next(user bool) (any, step) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.system.len() > 0 {
		switch msg := m.system.pop(); msg.(type) {
		case *actor.SuspendMailbox:
			m.suspended = true
		case *actor.ResumeMailbox:
			m.suspended = false
		default:
			return msg, stepSystem
		}
	}
	switch {
	case m.user.len() == 0 || m.suspended:
		m.running = false
		return nil, stepEnd
	case !user:
		return nil, stepAside
	}
	return m.user.pop(), stepUser
}

// handle contains a panic of the owner: its supervisor decides what becomes of it.
func (m *mailbox) handle(invoke func(any), msg any) {
	defer func() {
		if p := recover(); p != nil {
			m.invoker.EscalateFailure(p, msg)
		}
	}()
	invoke(msg)
}

// queue is first in, first out. Empty, it keeps room for a few.
type queue struct {
	list []any // list[head:] waits
	head int
}

const queueKept = 64

func (q *queue) len() int { return len(q.list) - q.head }

func (q *queue) push(msg any) {
	if len(q.list) == cap(q.list) && q.head > len(q.list)/2 {
		n := copy(q.list, q.list[q.head:])
		clear(q.list[n:])
		q.list, q.head = q.list[:n], 0
	}
	q.list = append(q.list, msg)
}

func (q *queue) pop() any {
	msg := q.list[q.head]
	q.list[q.head] = nil
	switch q.head++; {
	case q.head < len(q.list):
	case cap(q.list) > queueKept:
		*q = queue{}
	default:
		q.list, q.head = q.list[:0], 0
	}
	return msg
}
