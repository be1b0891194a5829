package journal

import (
	"context"
	"time"

	"inboxd/actors/engine"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/account"
	"inboxd/internal/core/changefeed"
)

// JournalReader is the reader's interface to the journal.
type JournalReader struct {
	j             *ChangeJournal
	isMessageGone MessageGone
}

// MessageGone reports whether nobody can read a message any more. It is called for each event that is
// read, and for a resident inbox it costs only a look at memory. With an error, the result hides
// the content for now but must not be used to delete it.
type MessageGone func(address string, message int64) (bool, error)

// JournalReader returns the interface for readers.
func (j *ChangeJournal) NewReading(gone MessageGone) JournalReader { return JournalReader{j, gone} }

// AddListener adds a reader of the account's change feed, for one inbox unless address is empty. While
// somebody listens, events enter the journal without waiting for others.
func (r JournalReader) AddListener(id account.ID, address string) *changefeed.JournalReader {
	return r.j.readers.AddReader(id, address)
}

// ReadEvents reads entries of the account's change feed with numbers above after, up to a limit, for
// one inbox unless address is empty. It omits entries older than 7 days, even if they are not
// trimmed yet. Everything that it returns is on disk: after any crash, a number that was seen means
// the same event. The content of deleted messages is removed.
//
// At most half of the processors read pages at once, because there may be thousands of readers and
// other requests need a free processor. Fsyncs are shared, so a reader gives up its turn before it
// waits for one.
func (r JournalReader) ReadEvents(ctx context.Context, id account.ID, after uint64, address string, limit changefeed.ReadLimit) (changefeed.JournalPage, error) {
	page, err := r.readPage(ctx, id, after, address, limit)
	return page, r.j.ensureDurable(ctx, id, err)
}

func (r JournalReader) readPage(ctx context.Context, id account.ID, after uint64, address string, limit changefeed.ReadLimit) (changefeed.JournalPage, error) {
	j := r.j
	select {
	case j.pageTurns <- struct{}{}:
	case <-ctx.Done():
		return changefeed.JournalPage{}, ctx.Err()
	}
	defer func() { <-j.pageTurns }()
	page, err := j.store.JournalPage(id, after, address, j.now().Add(-EntryAge), limit)
	for i := range page.Entries {
		if lost, _ := r.hasLostContent(&page.Entries[i]); lost {
			page.Entries[i].RedactDeleted()
		}
	}
	return page, err
}

// hasLostContent reports whether an entry still has content of a message that is gone.
func (r JournalReader) hasLostContent(e *changefeed.JournalEntry) (bool, error) {
	if e.MessageDeleted {
		return false, nil
	}
	return r.isMessageGone(e.Address, e.MessageID)
}

// ForgetContent deletes the content of messages that are gone from the journal rows of an account,
// in the first limit entries after a number. The goroutine that appends and trims also writes these
// rows.
func (r JournalReader) ForgetContent(ctx context.Context, id account.ID, after uint64, limit int) (last uint64, more bool, err error) {
	page, err := r.j.store.JournalPage(id, after, "", time.Time{}, changefeed.ReadLimit{MaxEntries: limit, MaxBytes: forgetBytes})
	if err != nil {
		return 0, false, err
	}
	var lost []uint64
	for i := range page.Entries {
		if gone, err := r.hasLostContent(&page.Entries[i]); gone && err == nil {
			lost = append(lost, page.Entries[i].Seq)
		}
	}
	if len(lost) > 0 {
		err = r.j.do(ctx, func() error { return r.j.store.ForgetEvents(id, lost) })
	}
	return page.LastPosition, page.HasMore, err
}

// forgetBytes bounds what one step of Forget reads. No event is that large.
const forgetBytes = 8 << 20

// do runs an order on the journal's goroutine.
func (j *ChangeJournal) do(ctx context.Context, order func() error) error {
	done := make(chan error, 1)
	select {
	case j.runOrders <- func() { done <- order() }:
		return <-done
	case <-j.runEnded:
		return engine.BusyError(nil)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// JournalEnd returns the number of the account's newest event; 0 if it never had one.
func (r JournalReader) JournalEnd(ctx context.Context, id account.ID) (uint64, error) {
	end, err := r.j.store.JournalEnd(id)
	return end, r.j.ensureDurable(ctx, id, err)
}

// CurrentEnd is JournalEnd after every event that was committed before the call. Events enter the
// journal a moment after their commit. A client that has seen a message and then asks for later
// events must not get an event about that message.
func (r JournalReader) CurrentEnd(ctx context.Context, id account.ID) (uint64, error) {
	if err := r.j.unlessFull(ctx, func() error { return r.j.settlePending(ctx) }); err != nil {
		return 0, r.j.ensureDurable(ctx, id, err)
	}
	return r.JournalEnd(ctx, id)
}

// ensureDurable makes what a read of a journal found durable before it is returned. Appends are not
// synced, so that only readers pay for an fsync.
func (j *ChangeJournal) ensureDurable(ctx context.Context, id account.ID, err error) error {
	if err == nil {
		err = j.unlessFull(ctx, func() error { return j.store.SyncJournal(id) })
	}
	if err != nil && fault.KindOf(err) == fault.Internal {
		return engine.BusyError(err)
	}
	return err
}

// unlessFull waits for work that hangs while the disk is full, such as an fsync, but no longer than
// engine.WaitDone waits for a command.
func (j *ChangeJournal) unlessFull(ctx context.Context, work func() error) error {
	done := make(chan struct{})
	var worked error
	go func() { // ends when work returns
		defer close(done)
		worked = work()
	}()
	if err := engine.WaitDone(ctx, done, j.store.IsFull); err != nil {
		return err
	}
	return worked
}
