package journal

import (
	"context"

	"inboxd/actors/engine"
	"inboxd/internal/account"
	"inboxd/internal/fault"
	"inboxd/internal/follow"
)

// Reading is the journal as its readers have it.
type Reading struct{ j *Journal }

// Reading returns what readers may do.
func (j *Journal) Reading() Reading { return Reading{j} }

// Listen adds a reader of the account's change journal, of one inbox unless address is
// empty. While somebody listens, events get into the journal without waiting for others.
func (r Reading) Listen(id account.ID, address string) *follow.Reader {
	return r.j.readers.Listen(id, address)
}

// Events reads up to limit entries of the account's change journal with numbers above after,
// of one inbox unless address is empty. Entries older than 7 days are not shown, whether or
// not they were trimmed. What it returns is on disk: after any crash a number that was seen
// means the same event. Pages are read by turns, on half of the processors at most: readers
// may be thousands, and who asks for something else finds one free. Syncs are shared, so
// nobody has a turn while waiting for one.
func (r Reading) Events(ctx context.Context, id account.ID, after uint64, address string, limit int) (follow.Page, error) {
	page, err := r.j.page(ctx, id, after, address, limit)
	return page, r.j.settled(ctx, err)
}

func (j *Journal) page(ctx context.Context, id account.ID, after uint64, address string, limit int) (follow.Page, error) {
	select {
	case j.turns <- struct{}{}:
	case <-ctx.Done():
		return follow.Page{}, ctx.Err()
	}
	defer func() { <-j.turns }()
	return j.store.JournalPage(id, after, address, j.now().Add(-Age), limit)
}

// JournalEnd returns the number of the account's newest event; 0 when it never had one.
func (r Reading) JournalEnd(ctx context.Context, id account.ID) (uint64, error) {
	end, err := r.j.store.JournalEnd(id)
	return end, r.j.settled(ctx, err)
}

// Present is JournalEnd after every event that was committed before the call. Events come
// into the journal a moment after their commit: who has seen a mail, and then asks for what
// happens from now on, must not be told of that mail.
func (r Reading) Present(ctx context.Context, id account.ID) (uint64, error) {
	if err := r.j.unlessFull(ctx, func() error { return r.j.settle(ctx) }); err != nil {
		return 0, r.j.settled(ctx, err)
	}
	return r.JournalEnd(ctx, id)
}

// settled puts what a read of a journal found on disk, before anybody outside sees it. A
// journal is appended to without syncs; a reader is what they are for.
func (j *Journal) settled(ctx context.Context, err error) error {
	if err == nil {
		err = j.unlessFull(ctx, j.store.SyncJournal)
	}
	if err != nil && fault.KindOf(err) == fault.Internal {
		return engine.Busy(err)
	}
	return err
}

// unlessFull waits for what hangs while the disk is full, a sync above all, no longer than a
// command would be waited for.
func (j *Journal) unlessFull(ctx context.Context, work func() error) error {
	done := make(chan struct{})
	var worked error
	go func() { // ends with the work
		defer close(done)
		worked = work()
	}()
	if err := engine.Wait(ctx, done, j.store.Full); err != nil {
		return err
	}
	return worked
}
