package webhooks

import (
	"sync"
	"sync/atomic"
	"time"

	"inboxd/internal/core/scheduler"
	"inboxd/internal/core/webhook"
)

// errNotTried is the recorded error of a skipped attempt.
const errNotTried = "This attempt was skipped: the receiver has not responded recently and too many deliveries are waiting for it"

// deferAll records a skipped attempt for deliveries that exceed the limit of a silent receiver,
// until none is left. So a dead receiver costs bounded memory, however many events it subscribed
// to, and a delivery hardly outlives its schedule.
func (s *Supervisor) deferAll() {
	for {
		s.mu.Lock()
		group, _ := s.line.Deferrals(s.Now(), groupMost)
		s.deferring = len(group) > 0
		s.mu.Unlock()
		s.nudge() // some may have returned to their lanes
		if len(group) == 0 || s.ctx.Err() != nil {
			return
		}
		if !s.deferGroup(group) {
			select {
			case <-time.After(storePause):
			case <-s.ctx.Done():
			}
		}
	}
}

// deferGroup reports whether all were read and committed; the others stay in the index.
func (s *Supervisor) deferGroup(group []*scheduler.Deferral[key]) bool {
	var failed atomic.Bool
	var left sync.WaitGroup
	for _, d := range group {
		if _, held := s.terms.Begin(d.Key.group()); !held {
			s.mu.Lock()
			s.line.Deferred(s.Now(), d, time.Time{}) // Lose makes the scheduler drop it
			s.mu.Unlock()
			continue
		}
		left.Add(1)
		done := func(at time.Time, err error) {
			defer left.Done()
			defer s.terms.End(d.Key.group())
			s.mu.Lock()
			defer s.mu.Unlock()
			if err != nil {
				failed.Store(true)
				s.line.NotDeferred(s.Now(), d, storePause)
				return
			}
			s.line.Deferred(s.Now(), d, at)
		}
		del, err := s.Store.Delivery(d.Key.account, d.Key.id)
		switch {
		case err != nil:
			s.Logger.Error("webhook delivery could not be read", "account", d.Key.account, "delivery", d.Key.id, "err", err)
			done(time.Time{}, err)
		case del == nil || del.State != webhook.Retrying:
			s.results <- result{d.Key.account, dueOf(d.Key, d.At).Move(time.Time{}), done}
		case s.isEarly(del):
			s.results <- result{d.Key.account, del.Put(d.At, false), done}
		default:
			del.Tried(del.URL, webhook.Call{At: s.Now(), Answer: webhook.Answer{Error: errNotTried}}, s.Schedule)
			s.forget(del)
			s.results <- result{d.Key.account, del.Put(d.At, false), done}
		}
	}
	left.Wait()
	s.nudge()
	return !failed.Load()
}
