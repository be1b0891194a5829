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

func (p *quick) CheckURL(context.Context, string) error { return nil }

func (p *quick) PostWebhook(ctx context.Context, _ string, _ []webhook.HeaderField, _ []byte) webhook.ReceiverResponse {
	p.calls.Add(1)
	took, answer := 2*time.Millisecond, webhook.ReceiverResponse{Status: 200}
	if p.dead {
		took, answer = 10*time.Second, webhook.ReceiverResponse{Error: "no answer", Duration: 10 * time.Second}
	}
	select {
	case <-time.After(took):
	case <-ctx.Done():
	}
	return answer
}

// newSupervisor delivers to webhook 1 of someone, who owns every inbox.
func newSupervisor(store Store, poster CallPoster) *Supervisor {
	s := New(Options{
		Store: store, Poster: poster, RetrySchedule: webhook.DefaultSchedule(), Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		AccountOf: func(string) (account.ID, error) { return someone, nil }, IsMessageGone: func(string, int64) bool { return false },
	})
	s.SubscriptionCache.cachedWebhooks[someone] = []account.Webhook{{ID: 1, URL: "https://r/", EventFilter: "*"}}
	for g := range partition.Group(partition.NumGroups) {
		_ = s.AcquireGroup(g)
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
	q, now := scheduler.New(schedulerOptions), time.Now()
	id := int64(0)
	start := func(host string) (started []*scheduler.Attempt[deliveryKey]) {
		id++
		q.EntryMoved(now, entryOf(webhook.DueEntry{At: now, Account: someone, ID: id}, host))
		return q.Step(now).StartAttempts
	}
	answer := func(calls []*scheduler.Attempt[deliveryKey]) {
		for _, c := range calls {
			q.AttemptFinished(now, c, scheduler.AttemptResult{HealthState: scheduler.HealthAnswering})
		}
	}
	for i := range maxWorking + 100 {
		answer(start(fmt.Sprint("h", i)))
	}
	answer(start("good"))
	var hung []*scheduler.Attempt[deliveryKey]
	for i := range maxWorking + 100 {
		hung = append(hung, start(fmt.Sprint("h", i))...)
	}
	if len(hung) != maxWorking || len(start("good")) != 0 {
		t.Fatalf("%d calls of hosts that answered", len(hung))
	}
	for _, c := range hung {
		q.AttemptConnecting(c, 0)
	}
	now = now.Add(slowAfter)
	next := q.Step(now).StartAttempts
	if !slices.ContainsFunc(next, func(c *scheduler.Attempt[deliveryKey]) bool { return c.DestinationName == "good" }) {
		t.Errorf("who answers waits for those that hang: %d other calls began", len(next))
	}
	for _, c := range append(hung, next...) {
		q.AttemptFinished(now, c, scheduler.AttemptResult{HealthState: scheduler.HealthSilent})
	}
	if s := q.Stats(now); s.Running != 0 || s.Waiting != 0 {
		t.Errorf("left over: %+v", s)
	}
}

// TestADeadReceiverCostsLittle checks this for any number of waiting events.
func TestADeadReceiverCostsLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const events = 5 * entriesShare
		store := persisttest.OpenStore(t)
		now := time.Now()
		var all []webhook.Delivery
		for i := range events {
			all = append(all, webhook.Delivery{Account: someone, ID: int64(i + 1), Webhook: 1, EventID: fmt.Sprint("evt_", i), Event: webhook.MessageReceived, Inbox: "a@inbox.localhost",
				Body: []byte("{}"), At: now, URL: "https://r/", State: webhook.StateRetrying, NextAt: now})
		}
		if err := store.AppendJournal(someone, 1, nil, all); err != nil {
			t.Fatal(err)
		}
		poster := &quick{dead: true}
		runFor(newSupervisor(store, poster), 24*time.Hour)
		left, err := store.ListDeliveries(someone, 0, 0, 2*events)
		for _, d := range left {
			if d.State != webhook.StateFailed || d.AttemptCount != 3 {
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
	*persisttest.TestStore
	mu              sync.Mutex
	entries, bodies int
	most            int // entries; beyond it reads fail
}

func (c *countingStore) DueDeliveries(after webhook.DueEntry, limit int) ([]webhook.DueEntry, bool, error) {
	due, more, err := c.TestStore.DueDeliveries(after, limit)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries += len(due); c.most > 0 && c.entries > c.most {
		return nil, false, errors.New("the index is read over and over")
	}
	return due, more, err
}

func (c *countingStore) FindDelivery(id account.ID, n int64) (*webhook.Delivery, error) {
	c.mu.Lock()
	c.bodies++
	c.mu.Unlock()
	return c.TestStore.FindDelivery(id, n)
}

// fill writes deliveries that are due at the given times.
func (c *countingStore) fill(t testing.TB, n int, at func(i int) time.Time) {
	t.Helper()
	all := make([]webhook.Delivery, n)
	for i := range all {
		all[i] = webhook.Delivery{Account: someone, ID: int64(i + 1), Webhook: 1, State: webhook.StateRetrying, NextAt: at(i)}
	}
	if err := c.AppendJournal(someone, 1, nil, all); err != nil {
		t.Fatal(err)
	}
}

// TestAStartReadsTheIndexOnly also checks that a start reads only one page of 100,000 retries.
func TestAStartReadsTheIndexOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, now := &countingStore{TestStore: persisttest.OpenStore(t)}, time.Now()
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
				store, now := &countingStore{TestStore: persisttest.OpenStore(t), most: 20 * overdue}, time.Now()
				store.fill(t, overdue, func(i int) time.Time { return now.Add(time.Duration(i/1000)*time.Millisecond - time.Hour) })
				s := newSupervisor(store, &quick{})
				s.SubscriptionCache.cachedWebhooks[someone] = hooks
				few := schedulerOptions
				few.Window.MaxEntries, few.Window.CrowdedAbove = 4*pageSize, 2*pageSize
				s.callScheduler = scheduler.New(few)
				runFor(s, time.Hour)
				if due, _, _ := store.TestStore.DueDeliveries(webhook.DueEntry{}, 10); len(due) != 0 || store.entries > store.most {
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

func (p *echo) PostWebhook(ctx context.Context, url string, h []webhook.HeaderField, body []byte) webhook.ReceiverResponse {
	a := p.quick.PostWebhook(ctx, url, h, body)
	p.gone.Store(true)
	a.BodyExcerpt = string(body)
	return a
}

// TestGoneDuringTheCall checks that the recorded attempt contains nothing of a message that was
// deleted during the attempt.
func TestGoneDuringTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, poster := persisttest.OpenStore(t), &echo{}
		s := newSupervisor(store, poster)
		s.IsMessageGone = func(string, int64) bool { return poster.gone.Load() }
		reported := []webhook.Delivery{{
			Account: someone, ID: 1, Webhook: 1, Inbox: "a@x.test", State: webhook.StateRetrying, NextAt: time.Now(),
			Body: []byte(`{"event":"message.received","message_id":7,"subject":"Your code is 482913"}`),
		}}
		if err := store.AppendJournal(someone, 1, nil, reported); err != nil {
			t.Fatal(err)
		}
		runFor(s, time.Second)
		d, err := store.FindDelivery(someone, 1)
		if err != nil || d.State == webhook.StateRetrying || d.LastAttempt.Status != 200 || d.LastAttempt.BodyExcerpt != "" || strings.Contains(string(d.Body), "482913") {
			t.Errorf("%v: %v, %q answered %q", err, d.State, d.Body, d.LastAttempt.BodyExcerpt)
		}
	})
}

// TestALossForgetsSubscriptions checks that only the group's accounts are dropped.
func TestALossForgetsSubscriptions(t *testing.T) {
	s := newSupervisor(persisttest.OpenStore(t), &quick{})
	other := someone
	for n := byte(2); other.HomePartition().Group() == someone.HomePartition().Group(); n++ {
		other = account.NewID(time.Now(), [10]byte{n})
	}
	s.SubscriptionCache.cachedWebhooks[other] = s.SubscriptionCache.cachedWebhooks[someone]
	if err := s.SubscriptionCache.ReleaseGroup(someone.HomePartition().Group()); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[account.ID]bool{someone: false, other: true} {
		if hook, err := s.SubscriptionCache.findWebhook(id, 1); err != nil || (hook != nil) != want {
			t.Errorf("%s: %v, %v", id, hook, err)
		}
	}
}
