package journal

import (
	"context"
	"time"

	"inboxd/actors/engine"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/changefeed"
)

// Reading is the reader's interface to the journal.
type Reading struct {
	j    *Journal
	gone Gone
}

// Gone reports whether nobody can read a message any more. It is called for each event that is
// read, and for a resident inbox it costs only a look at memory. With an error, the result hides
// the content for now but must not be used to delete it.
type Gone func(address string, message int64) (bool, error)

// Reading returns the interface for readers.
func (j *Journal) Reading(gone Gone) Reading { return Reading{j, gone} }

// Listen adds a reader of the account's change feed, for one inbox unless address is empty. While
// somebody listens, events enter the journal without waiting for others.
func (r Reading) Listen(id account.ID, address string) *changefeed.Reader {
	return r.j.readers.Listen(id, address)
}

// Events reads entries of the account's change feed with numbers above after, up to a limit, for
// one inbox unless address is empty. It omits entries older than 7 days, even if they are not
// trimmed yet. Everything that it returns is on disk: after any crash, a number that was seen means
// the same event. The content of deleted messages is removed.
//
// At most half of the processors read pages at once, because there may be thousands of readers and
// other requests need a free processor. Fsyncs are shared, so a reader gives up its turn before it
// waits for one.
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

// lost reports whether an entry still has content of a message that is gone.
func (r Reading) lost(e *changefeed.Entry) (bool, error) {
	if e.Gone {
		return false, nil
	}
	return r.gone(e.Address, e.MessageID)
}

// Forget deletes the content of messages that are gone from the journal rows of an account, in the
// first limit entries after a number. The goroutine that appends and trims also writes these rows.
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

// forgetBytes bounds what one step of Forget reads. No event is that large.
const forgetBytes = 8 << 20

// do runs an order on the journal's goroutine.
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

// JournalEnd returns the number of the account's newest event; 0 if it never had one.
func (r Reading) JournalEnd(ctx context.Context, id account.ID) (uint64, error) {
	end, err := r.j.store.JournalEnd(id)
	return end, r.j.settled(ctx, id, err)
}

// Present is JournalEnd after every event that was committed before the call. Events enter the
// journal a moment after their commit. A client that has seen a message and then asks for later
// events must not get an event about that message.
func (r Reading) Present(ctx context.Context, id account.ID) (uint64, error) {
	if err := r.j.unlessFull(ctx, func() error { return r.j.settle(ctx) }); err != nil {
		return 0, r.j.settled(ctx, id, err)
	}
	return r.JournalEnd(ctx, id)
}

// settled makes what a read of a journal found durable before it is returned. Appends are not
// synced, so that only readers pay for an fsync.
func (j *Journal) settled(ctx context.Context, id account.ID, err error) error {
	if err == nil {
		err = j.unlessFull(ctx, func() error { return j.store.SyncJournal(id) })
	}
	if err != nil && fault.KindOf(err) == fault.Internal {
		return engine.Busy(err)
	}
	return err
}

// unlessFull waits for work that hangs while the disk is full, such as an fsync, but no longer than
// engine.Wait waits for a command.
func (j *Journal) unlessFull(ctx context.Context, work func() error) error {
	done := make(chan struct{})
	var worked error
	go func() { // ends when work returns
		defer close(done)
		worked = work()
	}()
	if err := engine.Wait(ctx, done, j.store.Full); err != nil {
		return err
	}
	return worked
}
