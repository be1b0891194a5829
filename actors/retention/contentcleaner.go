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

// ContentCleaner deletes the content of messages that are gone from the rows derived from them:
// events and deliveries. Readers do not depend on it: they check whether the message exists. Any
// goroutine may call NoteRemoved; Run's goroutine does the rest.
type ContentCleaner struct {
	listAccounts func(after account.ID, limit int) ([]account.ID, error) // that have had events
	forgetFuncs  []ForgetFunc
	log          *slog.Logger

	mu             sync.Mutex // guards all below
	notedAccounts  map[account.ID]bool
	dueAccounts    map[account.ID]bool       // noted before the last round: rows that were pending then are written
	acquiredGroups [partition.NumGroups]bool // since the last round: an earlier owner may have left rows
}

// ForgetFunc deletes the content of messages that are gone from up to limit rows of an account, those
// after from (0: from the first). It returns the last row it examined, and whether more follow.
type ForgetFunc func(ctx context.Context, id account.ID, from uint64, limit int) (last uint64, more bool, err error)

const (
	tidyEvery = time.Minute
	tidyRest  = 20 // the pause is at least this many times as long as a round took
	tidyStep  = 256
	tidyPause = 10 * time.Millisecond // after each step
)

// NewContentCleaner returns a ContentCleaner that calls each function of forget for the accounts.
func NewContentCleaner(accounts func(account.ID, int) ([]account.ID, error), log *slog.Logger, forget ...ForgetFunc) *ContentCleaner {
	return &ContentCleaner{listAccounts: accounts, forgetFuncs: forget, log: log, notedAccounts: map[account.ID]bool{}}
}

// NoteRemoved records that messages of an account were deleted.
func (t *ContentCleaner) NoteRemoved(id account.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.notedAccounts[id] = true
}

// AcquireGroup makes the next round process the accounts of a group.
func (t *ContentCleaner) AcquireGroup(g partition.Group) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.acquiredGroups[g] = true
	return nil
}

// ReleaseGroup drops a group's accounts.
func (t *ContentCleaner) ReleaseGroup(g partition.Group) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.acquiredGroups[g] = false
	for _, noted := range []map[account.ID]bool{t.notedAccounts, t.dueAccounts} {
		maps.DeleteFunc(noted, func(id account.ID, _ bool) bool { return id.HomePartition().Group() == g })
	}
	return nil
}

// Run processes the accounts of the groups that were acquired, and then the noted accounts, until
// ctx ends.
func (t *ContentCleaner) Run(ctx context.Context) {
	for {
		from := time.Now()
		t.runRound(ctx)
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(tidyEvery, tidyRest*time.Since(from))):
		}
	}
}

// runRound processes the acquired groups, and the accounts noted before the last round.
func (t *ContentCleaner) runRound(ctx context.Context) {
	t.mu.Lock()
	ripe, gained := t.dueAccounts, t.acquiredGroups
	t.dueAccounts, t.notedAccounts, t.acquiredGroups = t.notedAccounts, map[account.ID]bool{}, [partition.NumGroups]bool{}
	t.mu.Unlock()
	if gained != [partition.NumGroups]bool{} {
		t.cleanGroups(ctx, gained)
	}
	for id := range ripe {
		t.cleanAccount(ctx, id)
	}
}

// cleanGroups processes the accounts of some groups.
func (t *ContentCleaner) cleanGroups(ctx context.Context, of [partition.NumGroups]bool) {
	for last := (account.ID{}); ctx.Err() == nil; {
		ids, err := t.listAccounts(last, dueBatch)
		if err != nil {
			t.log.Error("accounts with events could not be listed", "err", err)
		}
		for _, id := range ids {
			if last = id; of[id.HomePartition().Group()] {
				t.cleanAccount(ctx, id)
			}
		}
		if len(ids) < dueBatch {
			return
		}
	}
}

// cleanAccount processes one account. After a failure the account is noted again, unless another
// node owns it.
func (t *ContentCleaner) cleanAccount(ctx context.Context, id account.ID) {
	for _, forget := range t.forgetFuncs {
		if err := inSteps(ctx, id, forget); err != nil && !fault.Is(err, fault.MovedAway) {
			if ctx.Err() == nil {
				t.log.Error("content of deleted messages could not be removed from events", "account", id, "err", err)
			}
			t.NoteRemoved(id)
		}
	}
}

func inSteps(ctx context.Context, id account.ID, forget ForgetFunc) error {
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
