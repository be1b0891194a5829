package actors

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"inboxd/internal/account"
	"inboxd/internal/inbox"
)

// retention removes messages whose time is over, from the due index in bounded steps. It
// is never what hides them: readers compare with their own clock. It wakes an inbox only
// when the index says so.
type retention struct {
	store Store
	do    func(ctx context.Context, address string, cmd inbox.Command) (inbox.Outcome, error)
	now   func() time.Time
	log   *slog.Logger

	last  time.Time // of the wall clock, at the last look
	since time.Time // of the monotonic clock, at the last look
	hold  time.Time // nothing is removed before; zero: no doubt about the clock

	forgotten []byte    // where the walk over records of requests is; nil: not under way
	walked    time.Time // when the last walk ended

	trimmed account.ID // where the walk over accounts with deliveries is
	swept   time.Time  // when the last such walk ended
}

const (
	dueBatch     = 256
	dueWorkers   = 8
	dueLook      = 30 * time.Second // new entries are at least an hour ahead
	clockJump    = 24 * time.Hour
	clockConfirm = time.Hour
)

func newRetention(s *System) *retention {
	return &retention{store: s.store, do: s.Do, now: s.now, log: s.Logger, last: s.store.LastSeen()}
}

// run looks at the index until stop is closed.
func (r *retention) run(stop <-chan struct{}) {
	for {
		wait := dueLook
		if r.trusted() {
			wait = r.step()
			if r.forgetOnce() {
				wait = min(wait, forgetRest)
			}
			if r.forgetDeliveries() {
				wait = min(wait, forgetRest)
			}
		}
		select {
		case <-stop:
			return
		case <-time.After(wait):
		}
	}
}

// trusted reports whether the wall clock may remove mail. A jump forward of more than a
// day, between two looks or since the store was last written, must still hold an hour
// later: deleting by a wrong clock can't be undone.
func (r *retention) trusted() bool {
	now, mono := r.now(), time.Now()
	elapsed := time.Duration(0)
	if !r.since.IsZero() {
		elapsed = mono.Sub(r.since)
	}
	jumped := !r.last.IsZero() && now.Sub(r.last)-elapsed > clockJump
	r.last, r.since = now, mono
	if jumped {
		r.hold = mono.Add(clockConfirm)
		r.log.Warn("the clock is more than a day ahead of the last reading; nothing expires from disk for an hour")
	}
	return !mono.Before(r.hold)
}

// step removes one batch and returns how long to wait for the next.
func (r *retention) step() time.Duration {
	due, next, err := r.store.DueInboxes(r.now(), dueBatch)
	if err != nil {
		r.log.Error("the due index could not be read", "err", err)
		return dueLook
	}
	if len(due) == 0 {
		return min(dueLook, max(time.Second, r.until(next)))
	}
	if failed := r.expire(due); failed > 0 {
		r.log.Warn("some inboxes could not be swept", "failed", failed, "of", len(due))
		return dueLook
	}
	return 0
}

func (r *retention) until(next time.Time) time.Duration {
	if next.IsZero() {
		return dueLook
	}
	return next.Sub(r.now())
}

// expire hands Expire to each address, a few at once, and counts the failures.
func (r *retention) expire(due []string) int {
	var workers sync.WaitGroup
	failed := make([]int, dueWorkers)
	for w := range dueWorkers {
		workers.Go(func() {
			for i := w; i < len(due); i += dueWorkers {
				if answer, err := r.do(context.Background(), due[i], inbox.Expire{}); err != nil || answer.Count == 0 {
					failed[w]++ // also an entry that nothing expired for: it would come back at once
				}
			}
		})
	}
	workers.Wait()
	sum := 0
	for _, n := range failed {
		sum += n
	}
	return sum
}
