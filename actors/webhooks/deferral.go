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
		group, _ := s.callScheduler.Deferrals(s.Now(), groupMost)
		s.deferralRunning = len(group) > 0
		s.mu.Unlock()
		s.wakeLoop() // some may have returned to their destinations
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
func (s *Supervisor) deferGroup(group []*scheduler.Deferral[deliveryKey]) bool {
	var failed atomic.Bool
	var left sync.WaitGroup
	for _, d := range group {
		if _, held := s.groupWork.BeginWork(d.Key.groupOf()); !held {
			s.mu.Lock()
			s.callScheduler.EntryDeferred(s.Now(), d, time.Time{}) // Lose makes the scheduler drop it
			s.mu.Unlock()
			continue
		}
		left.Add(1)
		done := func(at time.Time, err error) {
			defer left.Done()
			defer s.groupWork.EndWork(d.Key.groupOf())
			s.mu.Lock()
			defer s.mu.Unlock()
			if err != nil {
				failed.Store(true)
				s.callScheduler.NotDeferred(s.Now(), d, storePause)
				return
			}
			s.callScheduler.EntryDeferred(s.Now(), d, at)
		}
		del, err := s.Store.FindDelivery(d.Key.accountID, d.Key.id)
		switch {
		case err != nil:
			s.Logger.Error("webhook delivery could not be read", "account", d.Key.accountID, "delivery", d.Key.id, "err", err)
			done(time.Time{}, err)
		case del == nil || del.State != webhook.StateRetrying:
			s.resultQueue <- callResult{d.Key.accountID, dueOf(d.Key, d.At).MoveTo(time.Time{}), done}
		case s.isEarly(del):
			s.resultQueue <- callResult{d.Key.accountID, del.PutChange(d.At, false), done}
		default:
			del.RecordAttempt(del.URL, webhook.DeliveryAttempt{At: s.Now(), ReceiverResponse: webhook.ReceiverResponse{Error: errNotTried}}, s.RetrySchedule)
			s.forgetContent(del)
			s.resultQueue <- callResult{d.Key.accountID, del.PutChange(d.At, false), done}
		}
	}
	left.Wait()
	s.wakeLoop()
	return !failed.Load()
}
