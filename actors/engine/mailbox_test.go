package engine

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
)

// fakeOwner is what a mailbox runs. It would notice two runs at once.
type fakeOwner struct {
	t       *testing.T
	running atomic.Bool
	each    func(msg any)
	handled []any // of users
	failed  []any
}

func (o *fakeOwner) InvokeUserMessage(msg any) {
	if o.running.Swap(true) {
		o.t.Error("two goroutines run the owner")
	}
	defer o.running.Store(false)
	o.handled = append(o.handled, msg)
	if o.each != nil {
		o.each(msg)
	}
}

func (o *fakeOwner) InvokeSystemMessage(msg any) { o.InvokeUserMessage(msg) }
func (o *fakeOwner) EscalateFailure(_, msg any)  { o.failed = append(o.failed, msg) }

// later keeps what a worker would do.
type later struct{ work []func() }

func (l *later) Schedule(f func())  { l.work = append(l.work, f) }
func (l *later) Throughput() int    { return 2 }
func (l *later) next() (run func()) { run, l.work = l.work[0], l.work[1:]; return run }

func newFakeMailbox(t *testing.T) (*mailbox, *fakeOwner, *later) {
	m, o, l := newMailbox(), &fakeOwner{t: t}, &later{}
	m.RegisterHandlers(o, l)
	return m, o, l
}

func turning(name string) *request { return &request{cmd: name, turn: true} }

// TestTurn holds that a poster that takes a turn has its message handled without a worker,
// and never does the work of others.
func TestTurn(t *testing.T) {
	m, o, l := newFakeMailbox(t)
	mine := turning("mine")
	m.PostUserMessage(mine)
	if len(l.work) != 0 || len(o.handled) != 0 {
		t.Fatalf("%d workers, handled %v", len(l.work), o.handled)
	}
	// Whatever comes meanwhile, without end, is not for this goroutine.
	o.each = func(any) {
		if len(o.handled) < 20 {
			m.PostUserMessage("other's")
		}
	}
	m.turn()
	if !slices.Equal(o.handled, []any{mine}) || len(l.work) != 1 {
		t.Fatalf("handled %v, %d workers", o.handled, len(l.work))
	}
	m.turn() // while a worker has the owner
	if len(o.handled) != 1 {
		t.Fatalf("handled %v beside a worker", o.handled)
	}
	for n := 1; len(l.work) > 0; n++ { // each worker takes its share and leaves the rest to another
		l.next()()
		if want := min(1+2*n, 20); len(o.handled) != want {
			t.Fatalf("handled %d after %d workers, want %d", len(o.handled), n, want)
		}
	}
	if n := m.UserMessageCount(); n != 0 || len(o.handled) != 20 {
		t.Errorf("%d left, handled %v", n, o.handled)
	}
	o.each = nil
	again := turning("again")
	m.PostUserMessage(again)
	m.turn()
	if o.handled[20] != again || len(l.work) != 0 {
		t.Errorf("handled %v, %d workers", o.handled[20:], len(l.work))
	}
}

// TestMailboxOfSuspendedOwner holds what the engine's supervision relies on.
func TestMailboxOfSuspendedOwner(t *testing.T) {
	m, o, l := newFakeMailbox(t)
	o.each = func(msg any) {
		if msg == "bad" {
			m.PostSystemMessage(&actor.SuspendMailbox{})
			panic("bad")
		}
	}
	m.PostUserMessage("bad")
	m.PostUserMessage("next")
	m.PostSystemMessage("started")
	l.next()()
	if !slices.Equal(o.handled, []any{"started", "bad"}) || !slices.Equal(o.failed, []any{"bad"}) || len(l.work) != 0 {
		t.Fatalf("handled %v, failed %v, %d workers", o.handled, o.failed, len(l.work))
	}
	m.PostSystemMessage("restart")
	l.next()()
	m.PostUserMessage(turning("mine"))
	m.turn()
	if !slices.Equal(o.handled[2:], []any{"restart"}) {
		t.Fatalf("handled %v", o.handled[2:])
	}
	m.PostSystemMessage(&actor.ResumeMailbox{})
	l.next()()
	if len(o.handled) != 5 || o.handled[3] != "next" || m.UserMessageCount() != 0 {
		t.Errorf("handled %v", o.handled[3:])
	}
}

// TestMailboxLosesNothing posts from many goroutines, with and without turns: everything is
// handled once, each poster's messages in its order, by one goroutine at a time.
func TestMailboxLosesNothing(t *testing.T) {
	const posters, each = 8, 5000
	type numbered struct{ poster, n int }
	m, o, w := newMailbox(), &fakeOwner{t: t}, NewWorkers()
	defer w.End()
	m.RegisterHandlers(o, w)
	var all sync.WaitGroup
	all.Add(posters * each)
	var got [posters][]int
	o.each = func(msg any) {
		if r, ok := msg.(*request); ok {
			msg = r.cmd
		}
		at := msg.(numbered)
		got[at.poster] = append(got[at.poster], at.n)
		all.Done()
	}
	for p := range posters {
		go func() {
			for n := range each {
				if (p+n)%2 == 0 {
					m.PostUserMessage(&request{cmd: numbered{p, n}, turn: true})
					m.turn()
				} else {
					m.PostUserMessage(numbered{p, n})
				}
				if n%100 == 0 {
					runtime.Gosched()
				}
			}
		}()
	}
	all.Wait()
	for p := range got {
		if len(got[p]) != each || !slices.IsSorted(got[p]) {
			t.Errorf("poster %d: %d handled, in order: %v", p, len(got[p]), slices.IsSorted(got[p]))
		}
	}
}

// TestQueue holds that a queue that is never empty keeps its order and does not grow.
func TestQueue(t *testing.T) {
	var q queue
	in, out := 0, 0
	for range 1000 {
		for range 3 {
			q.push(in)
			in++
		}
		for range 3 {
			if q.len() > 2 {
				if got := q.pop(); got != out {
					t.Fatalf("got %v, want %d", got, out)
				}
				out++
			}
		}
	}
	if q.len() != in-out || cap(q.list) > 16 {
		t.Errorf("%d of %d wait in room for %d", q.len(), in-out, cap(q.list))
	}
	for range 10 * queueKept {
		q.push(in)
	}
	for q.len() > 0 {
		q.pop()
	}
	if cap(q.list) > 0 {
		t.Errorf("empty, it keeps room for %d", cap(q.list))
	}
}
