// Package retention removes expired data from the disk: messages, request records and webhook
// deliveries. It only frees space: readers hide expired data by their own clock.
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

// Store is the storage that retention needs.
type Store interface {
	// DueInboxes returns inboxes whose retention is due, in time order, and when the next one is
	// due (zero if none is).
	DueInboxes(until time.Time, limit int) (due []inbox.RetentionEntry, next time.Time, err error)
	// ClockTrusted reports whether the wall clock may remove anything.
	ClockTrusted() bool
	// ForgetOnce examines up to limit request records after a place. It removes those made before
	// the given time and calls stays for the others. It returns the place to continue from, nil at
	// the end.
	ForgetOnce(before time.Time, after []byte, limit int, stays func(*idempotency.Record)) (next []byte, err error)
	// TrimDeliveries removes up to limit settled deliveries with ids above after that are beyond
	// the newest keep or made before a time. It does not wait for the fsync.
	TrimDeliveries(id account.ID, after int64, before time.Time, keep, limit int) (removed int, err error)
	DeliveryAccounts(after account.ID, limit int) ([]account.ID, error)
}

// RetentionSupervisor is the supervisor that removes expired data by the due index, in bounded
// steps. It activates an inbox only if the index says so. Only Run's goroutine touches its fields.
type RetentionSupervisor struct {
	groups.WakeSignal
	store Store
	do    func(ctx context.Context, address string, cmd inbox.Command) (inbox.CommandOutcome, error)
	now   func() time.Time
	log   *slog.Logger

	requestWalk  rowWalk
	deliveryWalk rowWalk
}

const (
	dueBatch   = 256
	dueWorkers = 8
	dueLook    = 30 * time.Second // new entries are at least an hour ahead
)

// New returns a supervisor that sends Expire to inboxes by do.
func New(store Store, do func(context.Context, string, inbox.Command) (inbox.CommandOutcome, error), quota RequestQuota, now func() time.Time, log *slog.Logger) *RetentionSupervisor {
	return &RetentionSupervisor{
		WakeSignal: groups.NewBell(), store: store, do: do, now: now, log: log,
		requestWalk: rowWalk{rowKind: "records of requests", removeSome: forgetRequests(store, quota)}, deliveryWalk: rowWalk{rowKind: "deliveries", removeSome: forgetDeliveries(store)},
	}
}

// Run processes the index until stop is closed.
func (r *RetentionSupervisor) Run(stop <-chan struct{}) {
	for {
		wait := dueLook
		if r.store.ClockTrusted() {
			wait = r.runStep()
			for _, w := range []*rowWalk{&r.requestWalk, &r.deliveryWalk} {
				if w.goOn(r.now(), r.log) {
					wait = min(wait, walkPause)
				}
			}
		}
		select {
		case <-stop:
			return
		case <-r.WakeSignal:
		case <-time.After(wait):
		}
	}
}

// runStep removes one batch and returns how long to wait for the next.
func (r *RetentionSupervisor) runStep() time.Duration {
	due, next, err := r.store.DueInboxes(r.now(), dueBatch)
	if err != nil {
		r.log.Error("retention due index could not be read", "err", err)
		return dueLook
	}
	if len(due) == 0 {
		return min(dueLook, max(time.Second, r.waitUntil(next)))
	}
	switch failed, moved := r.expireDue(due); {
	case failed > 0:
		r.log.Warn("retention of some inboxes failed, will be retried", "failed", failed, "of", len(due))
		return dueLook
	case moved > 0:
		return walkPause // the rows will leave the index soon, too
	}
	return 0
}

func (r *RetentionSupervisor) waitUntil(next time.Time) time.Duration {
	if next.IsZero() {
		return dueLook
	}
	return next.Sub(r.now())
}

// expireDue sends Expire to the inbox of each entry, dueWorkers at once. It counts the failures, and
// the entries that another node owns by now.
func (r *RetentionSupervisor) expireDue(due []inbox.RetentionEntry) (failed, moved int64) {
	var workers sync.WaitGroup
	var fails, moves atomic.Int64
	for w := range dueWorkers {
		workers.Go(func() {
			for i := w; i < len(due); i += dueWorkers {
				switch answer, err := r.do(context.Background(), due[i].Address, inbox.RemoveExpired{At: due[i].At}); {
				case fault.Is(err, fault.MovedAway):
					moves.Add(1)
				case err != nil || answer.Count == 0: // an entry for which nothing expired also counts, or it would return at once
					fails.Add(1)
				}
			}
		})
	}
	workers.Wait()
	return fails.Load(), moves.Load()
}
