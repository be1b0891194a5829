package webhooks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
	"inboxd/internal/core/scheduler"
	"inboxd/internal/core/webhook"
	"inboxd/persist/persisttest"
)

var someone = account.NewID(time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC), [10]byte{1})

// quick is a Poster that returns after 2 ms; a dead one does not respond for 10 s.
type quick struct {
	calls atomic.Int64
	dead  bool
}

func (p *quick) Check(context.Context, string) error { return nil }

func (p *quick) Post(ctx context.Context, _ string, _ []webhook.Header, _ []byte) webhook.Answer {
	p.calls.Add(1)
	took, answer := 2*time.Millisecond, webhook.Answer{Status: 200}
	if p.dead {
		took, answer = 10*time.Second, webhook.Answer{Error: "no answer", Duration: 10 * time.Second}
	}
	select {
	case <-time.After(took):
	case <-ctx.Done():
	}
	return answer
}

// newSupervisor delivers to webhook 1 of someone, who owns every inbox.
func newSupervisor(store Store, poster Poster) *Supervisor {
	s := New(Options{
		Store: store, Poster: poster, Schedule: webhook.DefaultSchedule(), Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		AccountOf: func(string) (account.ID, error) { return someone, nil }, Gone: func(string, int64) bool { return false },
	})
	s.Subscriptions.known[someone] = []account.Webhook{{ID: 1, URL: "https://r/", Event: "*"}}
	for g := range partition.Group(partition.Groups) {
		_ = s.Gain(g)
	}
	return s
}

// runFor runs a supervisor for a time and stops it.
func runFor(s *Supervisor, long time.Duration) {
	stop := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() { s.Run(stop) })
	time.Sleep(long)
	close(stop)
	running.Wait()
}

// TestReceiversThatBeginToHangDelayOthersLittle covers receivers that all responded before.
func TestReceiversThatBeginToHangDelayOthersLittle(t *testing.T) {
	q, now := scheduler.New(rules), time.Now()
	id := int64(0)
	start := func(host string) (started []*scheduler.Attempt[key]) {
		id++
		q.Moved(now, entryOf(webhook.Due{At: now, Account: someone, ID: id}, host))
		return q.Step(now).Start
	}
	answer := func(calls []*scheduler.Attempt[key]) {
		for _, c := range calls {
			q.Finished(now, c, scheduler.Result{Temper: scheduler.Answering})
		}
	}
	for i := range working + 100 {
		answer(start(fmt.Sprint("h", i)))
	}
	answer(start("good"))
	var hung []*scheduler.Attempt[key]
	for i := range working + 100 {
		hung = append(hung, start(fmt.Sprint("h", i))...)
	}
	if len(hung) != working || len(start("good")) != 0 {
		t.Fatalf("%d calls of hosts that answered", len(hung))
	}
	for _, c := range hung {
		q.Connects(c, 0)
	}
	now = now.Add(slowAfter)
	next := q.Step(now).Start
	if !slices.ContainsFunc(next, func(c *scheduler.Attempt[key]) bool { return c.Lane == "good" }) {
		t.Errorf("who answers waits for those that hang: %d other calls began", len(next))
	}
	for _, c := range append(hung, next...) {
		q.Finished(now, c, scheduler.Result{Temper: scheduler.Silent})
	}
	if s := q.Stats(now); s.Running != 0 || s.Waiting != 0 {
		t.Errorf("left over: %+v", s)
	}
}

// TestADeadReceiverCostsLittle checks this for any number of waiting events.
func TestADeadReceiverCostsLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const events = 5 * entriesShare
		store := persisttest.Open(t)
		now := time.Now()
		var all []webhook.Delivery
		for i := range events {
			all = append(all, webhook.Delivery{Account: someone, ID: int64(i + 1), Webhook: 1, EventID: fmt.Sprint("evt_", i), Event: webhook.MessageReceived, Inbox: "a@inbox.localhost",
				Body: []byte("{}"), At: now, URL: "https://r/", State: webhook.Retrying, NextAt: now})
		}
		if err := store.AppendJournal(someone, 1, nil, all); err != nil {
			t.Fatal(err)
		}
		poster := &quick{dead: true}
		runFor(newSupervisor(store, poster), 24*time.Hour)
		left, err := store.Deliveries(someone, 0, 0, 2*events)
		for _, d := range left {
			if d.State != webhook.Failed || d.Calls != 3 {
				t.Fatalf("left: %+v", d)
			}
		}
		if len(left) > webhook.RecordsKept+trimEvery || err != nil {
			t.Errorf("%d records are kept, %v", len(left), err)
		}
		if n := poster.calls.Load(); n < entriesShare || n > 3*events {
			t.Errorf("%d calls", n)
		}
	})
}

// countingStore counts what a start reads.
type countingStore struct {
	*persisttest.Store
	mu              sync.Mutex
	entries, bodies int
	most            int // entries; beyond it reads fail
}

func (c *countingStore) DueDeliveries(after webhook.Due, limit int) ([]webhook.Due, bool, error) {
	due, more, err := c.Store.DueDeliveries(after, limit)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries += len(due); c.most > 0 && c.entries > c.most {
		return nil, false, errors.New("the index is read over and over")
	}
	return due, more, err
}

func (c *countingStore) Delivery(id account.ID, n int64) (*webhook.Delivery, error) {
	c.mu.Lock()
	c.bodies++
	c.mu.Unlock()
	return c.Store.Delivery(id, n)
}

// fill writes deliveries that are due at the given times.
func (c *countingStore) fill(t testing.TB, n int, at func(i int) time.Time) {
	t.Helper()
	all := make([]webhook.Delivery, n)
	for i := range all {
		all[i] = webhook.Delivery{Account: someone, ID: int64(i + 1), Webhook: 1, State: webhook.Retrying, NextAt: at(i)}
	}
	if err := c.AppendJournal(someone, 1, nil, all); err != nil {
		t.Fatal(err)
	}
}

// TestAStartReadsTheIndexOnly also checks that a start reads only one page of 100,000 retries.
func TestAStartReadsTheIndexOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, now := &countingStore{Store: persisttest.Open(t)}, time.Now()
		store.fill(t, 100_000, func(i int) time.Time { return now.Add(time.Minute + time.Duration(i)*time.Millisecond) })
		runFor(newSupervisor(store, &quick{}), time.Second)
		if store.bodies != 0 || store.entries > pageSize {
			t.Errorf("a start read %d deliveries and %d entries of the index", store.bodies, store.entries)
		}
	})
}

// TestManyOverdue checks that all overdue deliveries are processed, a thousand of each moment and
// more than memory holds, and that the index is not read repeatedly.
func TestManyOverdue(t *testing.T) {
	for name, hooks := range map[string][]account.Webhook{"gone": nil, "there": {{ID: 1, URL: "https://r/"}}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const overdue = 9 * pageSize
				store, now := &countingStore{Store: persisttest.Open(t), most: 20 * overdue}, time.Now()
				store.fill(t, overdue, func(i int) time.Time { return now.Add(time.Duration(i/1000)*time.Millisecond - time.Hour) })
				s := newSupervisor(store, &quick{})
				s.Subscriptions.known[someone] = hooks
				few := rules
				few.Window.All, few.Window.Room = 4*pageSize, 2*pageSize
				s.line = scheduler.New(few)
				runFor(s, time.Hour)
				if due, _, _ := store.Store.DueDeliveries(webhook.Due{}, 10); len(due) != 0 || store.entries > store.most {
					t.Errorf("%d entries read, left in the index: %v", store.entries, due)
				}
			})
		})
	}
}

// echo is a Poster whose receiver returns the body, while the message is deleted.
type echo struct {
	quick
	gone atomic.Bool
}

func (p *echo) Post(ctx context.Context, url string, h []webhook.Header, body []byte) webhook.Answer {
	a := p.quick.Post(ctx, url, h, body)
	p.gone.Store(true)
	a.Excerpt = string(body)
	return a
}

// TestGoneDuringTheCall checks that the recorded attempt contains nothing of a message that was
// deleted during the attempt.
func TestGoneDuringTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, poster := persisttest.Open(t), &echo{}
		s := newSupervisor(store, poster)
		s.Gone = func(string, int64) bool { return poster.gone.Load() }
		told := []webhook.Delivery{{
			Account: someone, ID: 1, Webhook: 1, Inbox: "a@x.test", State: webhook.Retrying, NextAt: time.Now(),
			Body: []byte(`{"event":"message.received","message_id":7,"subject":"Your code is 482913"}`),
		}}
		if err := store.AppendJournal(someone, 1, nil, told); err != nil {
			t.Fatal(err)
		}
		runFor(s, time.Second)
		d, err := store.Delivery(someone, 1)
		if err != nil || d.State == webhook.Retrying || d.Last.Status != 200 || d.Last.Excerpt != "" || strings.Contains(string(d.Body), "482913") {
			t.Errorf("%v: %v, %q answered %q", err, d.State, d.Body, d.Last.Excerpt)
		}
	})
}

// TestALossForgetsSubscriptions checks that only the group's accounts are dropped.
func TestALossForgetsSubscriptions(t *testing.T) {
	s := newSupervisor(persisttest.Open(t), &quick{})
	other := someone
	for n := byte(2); other.Partition().Group() == someone.Partition().Group(); n++ {
		other = account.NewID(time.Now(), [10]byte{n})
	}
	s.Subscriptions.known[other] = s.Subscriptions.known[someone]
	if err := s.Subscriptions.Lose(someone.Partition().Group()); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[account.ID]bool{someone: false, other: true} {
		if hook, err := s.Subscriptions.find(id, 1); err != nil || (hook != nil) != want {
			t.Errorf("%s: %v, %v", id, hook, err)
		}
	}
}
