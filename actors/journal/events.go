package journal

import (
	"context"
	"time"

	"inboxd/actors/engine"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/changefeed"
)

// Reading is the journal as its readers have it.
type Reading struct {
	j    *Journal
	gone Gone
}

// Gone reports that nobody can read a message any more. It is asked for each event that is read, and
// costs a look at memory for the inboxes that are there. With an error it is not told of now, and
// nothing is known for good.
type Gone func(address string, message int64) (bool, error)

// Reading returns what readers may do.
func (j *Journal) Reading(gone Gone) Reading { return Reading{j, gone} }

// Listen adds a reader of the account's change journal, of one inbox unless address is
// empty. While somebody listens, events get into the journal without waiting for others.
func (r Reading) Listen(id account.ID, address string) *changefeed.Reader {
	return r.j.readers.Listen(id, address)
}

// Events reads entries of the account's change journal with numbers above after, up to a limit, of one
// inbox unless address is empty. Entries older than 7 days are not shown, whether or
// not they were trimmed. What it returns is on disk: after any crash a number that was seen
// means the same event; what was in a message that is gone is not shown. Pages are read by
// turns, on half of the processors at most: readers may be thousands, and who asks for
// something else finds one free. Syncs are shared, so nobody has a turn while waiting for one.
func (r Reading) Events(ctx context.Context, id account.ID, after uint64, address string, limit changefeed.Limit) (changefeed.Page, error) {
	page, err := r.page(ctx, id, after, address, limit)
	return page, r.j.settled(ctx, id, err)
}

func (r Reading) page(ctx context.Context, id account.ID, after uint64, address string, limit changefeed.Limit) (changefeed.Page, error) {
	j := r.j
	select {
	case j.turns <- struct{}{}:
	case <-ctx.Done():
		return changefeed.Page{}, ctx.Err()
	}
	defer func() { <-j.turns }()
	page, err := j.store.JournalPage(id, after, address, j.now().Add(-Age), limit)
	for i := range page.Entries {
		if lost, _ := r.lost(&page.Entries[i]); lost {
			page.Entries[i].Forget()
		}
	}
	return page, err
}

// lost reports that an entry still has what was in a message that is gone.
func (r Reading) lost(e *changefeed.Entry) (bool, error) {
	if e.Gone {
		return false, nil
	}
	return r.gone(e.Address, e.MessageID)
}

// Forget takes out of the rows of an account's journal what was in messages that are gone: of the
// first limit entries after a number. Rows are written by the one goroutine that appends and trims.
func (r Reading) Forget(ctx context.Context, id account.ID, after uint64, limit int) (last uint64, more bool, err error) {
	page, err := r.j.store.JournalPage(id, after, "", time.Time{}, changefeed.Limit{Entries: limit, Bytes: forgetBytes})
	if err != nil {
		return 0, false, err
	}
	var lost []uint64
	for i := range page.Entries {
		if gone, err := r.lost(&page.Entries[i]); gone && err == nil {
			lost = append(lost, page.Entries[i].Seq)
		}
	}
	if len(lost) > 0 {
		err = r.j.do(ctx, func() error { return r.j.store.ForgetEvents(id, lost) })
	}
	return page.Last, page.More, err
}

// forgetBytes bounds what one step of Forget reads. No event is as large.
const forgetBytes = 8 << 20

// do has the journal's goroutine carry out an order.
func (j *Journal) do(ctx context.Context, order func() error) error {
	done := make(chan error, 1)
	select {
	case j.orders <- func() { done <- order() }:
		return <-done
	case <-j.ended:
		return engine.Busy(nil)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// JournalEnd returns the number of the account's newest event; 0 when it never had one.
func (r Reading) JournalEnd(ctx context.Context, id account.ID) (uint64, error) {
	end, err := r.j.store.JournalEnd(id)
	return end, r.j.settled(ctx, id, err)
}

// Present is JournalEnd after every event that was committed before the call. Events come
// into the journal a moment after their commit: who has seen a mail, and then asks for what
// happens from now on, must not be told of that mail.
func (r Reading) Present(ctx context.Context, id account.ID) (uint64, error) {
	if err := r.j.unlessFull(ctx, func() error { return r.j.settle(ctx) }); err != nil {
		return 0, r.j.settled(ctx, id, err)
	}
	return r.JournalEnd(ctx, id)
}

// settled puts what a read of a journal found on disk, before anybody outside sees it. A
// journal is appended to without syncs; a reader is what they are for.
func (j *Journal) settled(ctx context.Context, id account.ID, err error) error {
	if err == nil {
		err = j.unlessFull(ctx, func() error { return j.store.SyncJournal(id) })
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
