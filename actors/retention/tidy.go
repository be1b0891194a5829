package retention

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"inboxd/internal/base/fault"
	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
)

// Tidy deletes the content of messages that are gone from the rows derived from them: events and
// deliveries. Readers do not depend on it: they check whether the message exists. Any goroutine may
// call Note; Run's goroutine does the rest.
type Tidy struct {
	accounts func(after account.ID, limit int) ([]account.ID, error) // that have had events
	forget   []Forget
	log      *slog.Logger

	mu     sync.Mutex // guards all below
	noted  map[account.ID]bool
	ripe   map[account.ID]bool    // noted before the last round: rows that were pending then are written
	gained [partition.Groups]bool // since the last round: an earlier owner may have left rows
}

// Forget deletes the content of messages that are gone from up to limit rows of an account, those
// after from (0: from the first). It returns the last row it examined, and whether more follow.
type Forget func(ctx context.Context, id account.ID, from uint64, limit int) (last uint64, more bool, err error)

const (
	tidyEvery = time.Minute
	tidyRest  = 20 // the pause is at least this many times as long as a round took
	tidyStep  = 256
	tidyPause = 10 * time.Millisecond // after each step
)

// NewTidy returns a Tidy that calls each function of forget for the accounts.
func NewTidy(accounts func(account.ID, int) ([]account.ID, error), log *slog.Logger, forget ...Forget) *Tidy {
	return &Tidy{accounts: accounts, forget: forget, log: log, noted: map[account.ID]bool{}}
}

// Note records that messages of an account were deleted.
func (t *Tidy) Note(id account.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.noted[id] = true
}

// Gain makes the next round process the accounts of a group.
func (t *Tidy) Gain(g partition.Group) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gained[g] = true
	return nil
}

// Lose drops a group's accounts.
func (t *Tidy) Lose(g partition.Group) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gained[g] = false
	for _, noted := range []map[account.ID]bool{t.noted, t.ripe} {
		maps.DeleteFunc(noted, func(id account.ID, _ bool) bool { return id.Partition().Group() == g })
	}
	return nil
}

// Run processes the accounts of the groups that were acquired, and then the noted accounts, until
// ctx ends.
func (t *Tidy) Run(ctx context.Context) {
	for {
		from := time.Now()
		t.round(ctx)
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(tidyEvery, tidyRest*time.Since(from))):
		}
	}
}

// round processes the acquired groups, and the accounts noted before the last round.
func (t *Tidy) round(ctx context.Context) {
	t.mu.Lock()
	ripe, gained := t.ripe, t.gained
	t.ripe, t.noted, t.gained = t.noted, map[account.ID]bool{}, [partition.Groups]bool{}
	t.mu.Unlock()
	if gained != [partition.Groups]bool{} {
		t.all(ctx, gained)
	}
	for id := range ripe {
		t.one(ctx, id)
	}
}

// all processes the accounts of some groups.
func (t *Tidy) all(ctx context.Context, of [partition.Groups]bool) {
	for last := (account.ID{}); ctx.Err() == nil; {
		ids, err := t.accounts(last, dueBatch)
		if err != nil {
			t.log.Error("accounts with events could not be listed", "err", err)
		}
		for _, id := range ids {
			if last = id; of[id.Partition().Group()] {
				t.one(ctx, id)
			}
		}
		if len(ids) < dueBatch {
			return
		}
	}
}

// one processes one account. After a failure the account is noted again, unless another node owns
// it.
func (t *Tidy) one(ctx context.Context, id account.ID) {
	for _, forget := range t.forget {
		if err := inSteps(ctx, id, forget); err != nil && !fault.Is(err, fault.Moved) {
			if ctx.Err() == nil {
				t.log.Error("content of deleted messages could not be removed from events", "account", id, "err", err)
			}
			t.Note(id)
		}
	}
}

func inSteps(ctx context.Context, id account.ID, forget Forget) error {
	for last, more := uint64(0), true; more; {
		var err error
		if last, more, err = forget(ctx, id, last, tidyStep); err != nil {
			return err
		}
		select {
		case <-time.After(tidyPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
