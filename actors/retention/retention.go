// Package retention removes what is over from the disk: messages, records of requests,
// deliveries of webhooks. It is never what hides them: readers compare with their own clock.
package retention

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"inboxd/actors/groups"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/idempotency"
	"inboxd/internal/core/inbox"
)

// Store is what retention needs of the disk.
type Store interface {
	// DueInboxes returns inboxes whose retention is due, in time order, and when the
	// one after them is (zero: none).
	DueInboxes(until time.Time, limit int) (due []inbox.Due, next time.Time, err error)
	// ClockTrusted reports whether the wall clock may remove anything.
	ClockTrusted() bool
	// ForgetOnce looks at up to limit records of requests behind a place, removes those made before, and
	// calls stays for the others; it returns the place to go on from, nil at the end.
	ForgetOnce(before time.Time, after []byte, limit int, stays func(*idempotency.Record)) (next []byte, err error)
	// TrimDeliveries removes up to limit deliveries with ids above after that wait for
	// nothing, beyond the newest keep or from before a time. It does not wait for the disk.
	TrimDeliveries(id account.ID, after int64, before time.Time, keep, limit int) (removed int, err error)
	DeliveryAccounts(after account.ID, limit int) ([]account.ID, error)
}

// Retention is the supervisor that removes, from the due index in bounded steps. It wakes an
// inbox only when the index says so. Only run's goroutine touches its fields.
type Retention struct {
	groups.Bell
	store Store
	do    func(ctx context.Context, address string, cmd inbox.Command) (inbox.Outcome, error)
	now   func() time.Time
	log   *slog.Logger

	requests   walk
	deliveries walk
}

const (
	dueBatch   = 256
	dueWorkers = 8
	dueLook    = 30 * time.Second // new entries are at least an hour ahead
)

// New returns a supervisor that hands Expire to inboxes by do.
func New(store Store, do func(context.Context, string, inbox.Command) (inbox.Outcome, error), quota Quota, now func() time.Time, log *slog.Logger) *Retention {
	return &Retention{
		Bell: groups.NewBell(), store: store, do: do, now: now, log: log,
		requests: walk{what: "records of requests", step: forgetRequests(store, quota)}, deliveries: walk{what: "deliveries", step: forgetDeliveries(store)},
	}
}

// Run looks at the index until stop is closed.
func (r *Retention) Run(stop <-chan struct{}) {
	for {
		wait := dueLook
		if r.store.ClockTrusted() {
			wait = r.step()
			for _, w := range []*walk{&r.requests, &r.deliveries} {
				if w.goOn(r.now(), r.log) {
					wait = min(wait, walkPause)
				}
			}
		}
		select {
		case <-stop:
			return
		case <-r.Bell:
		case <-time.After(wait):
		}
	}
}

// step removes one batch and returns how long to wait for the next.
func (r *Retention) step() time.Duration {
	due, next, err := r.store.DueInboxes(r.now(), dueBatch)
	if err != nil {
		r.log.Error("retention due index could not be read", "err", err)
		return dueLook
	}
	if len(due) == 0 {
		return min(dueLook, max(time.Second, r.until(next)))
	}
	switch failed, moved := r.expire(due); {
	case failed > 0:
		r.log.Warn("retention of some inboxes failed, will be retried", "failed", failed, "of", len(due))
		return dueLook
	case moved > 0:
		return walkPause // the index is about to lose them too
	}
	return 0
}

func (r *Retention) until(next time.Time) time.Duration {
	if next.IsZero() {
		return dueLook
	}
	return next.Sub(r.now())
}

// expire hands Expire to the inbox of each entry, a few at once, and counts the failures, and those
// that are another node's by now.
func (r *Retention) expire(due []inbox.Due) (failed, moved int64) {
	var workers sync.WaitGroup
	var fails, moves atomic.Int64
	for w := range dueWorkers {
		workers.Go(func() {
			for i := w; i < len(due); i += dueWorkers {
				switch answer, err := r.do(context.Background(), due[i].Address, inbox.Expire{At: due[i].At}); {
				case fault.Is(err, fault.Moved):
					moves.Add(1)
				case err != nil || answer.Count == 0: // also an entry that nothing expired for: it would come back at once
					fails.Add(1)
				}
			}
		})
	}
	workers.Wait()
	return fails.Load(), moves.Load()
}
