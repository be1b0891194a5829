package persist

import (
	"fmt"
	"sync"
	"time"

	"inboxd/internal/account"
	"inboxd/internal/follow"
	"inboxd/internal/inbox"
	"inboxd/internal/webhook"
)

// journal is the outbox, into which commits of inboxes put their public events, and the change
// journals of accounts, into which they are taken over. It knows how far the journals are on
// disk, counted in appends. Any goroutine may use it.
type journal struct {
	*engine

	// appending is held while an append goes into the log, so that whoever saw an entry
	// finds it counted. It guards appended. Taken inside syncing where both are.
	appending sync.Mutex
	appended  uint64

	syncing sync.Mutex // guards synced
	synced  uint64
}

func outboxKey(dst []byte, p *inbox.Public) []byte {
	return appendNumber(appendText(dst, kindOutbox, p.Address), p.Number)
}

// outbox adds the events to the batch that makes them true.
func (w *writer) outbox(events []inbox.Public) {
	for i := range events {
		w.key = outboxKey(w.key[:0], &events[i])
		w.putPublic(w.key, &events[i])
	}
}

func (w *writer) putPublic(key []byte, p *inbox.Public) {
	w.rec.public.from(p)
	w.put(key, &w.rec.public)
}

// Outbox returns up to limit events that no DropOutbox has removed yet, in order within
// each inbox. After a crash it may hold events that the journal has already: the newest
// entries of the account's journal tell.
func (j *journal) Outbox(limit int) ([]inbox.Public, error) {
	return list(j.engine, ofKind(kindOutbox), limit, func(_, value []byte) (inbox.Public, error) {
		var r publicRecord
		err := decode(value, &r)
		return r.public(), err
	})
}

// DropOutbox removes events that are in their account's journal. It does not wait for the
// disk: what a crash brings back is taken over once more. Only events whose rows are there
// may be dropped, see dropOnce.
func (j *journal) DropOutbox(events []inbox.Public) error {
	return j.updateLater(func(w *writer) {
		for i := range events {
			w.key = outboxKey(w.key[:0], &events[i])
			w.dropOnce(w.key)
		}
	})
}

func journalKey(dst []byte, id account.ID, seq uint64) []byte {
	return appendNumber(appendOwner(dst, kindJournal, id), seq)
}

// AppendJournal adds events to the account's journal, numbered from, from+1 and so on, and
// with them what its webhooks are told of them. It does not wait for the disk: the synced
// outbox rows guard the events until DropOutbox, which the log holds behind this append.
func (j *journal) AppendJournal(id account.ID, from uint64, events []inbox.Public, deliveries []webhook.Delivery) error {
	j.appending.Lock()
	defer j.appending.Unlock()
	j.appended++
	return j.updateLater(func(w *writer) {
		for i := range events {
			w.key = journalKey(w.key[:0], id, from+uint64(i))
			w.putPublic(w.key, &events[i])
		}
		for i := range deliveries {
			w.putDelivery(&deliveries[i])
		}
	})
}

// JournalEnd returns the number of the account's newest journal entry, 0 when it never had
// one.
func (j *journal) JournalEnd(id account.ID) (seq uint64, err error) {
	err = j.scanBack(under(appendOwner(nil, kindJournal, id)), func(key, _ []byte) error {
		seq = uint64(readNumber(key))
		return errStop
	})
	return seq, err
}

// pageScan bounds how many entries one read of a journal looks at: about 10 ms of work.
const pageScan = 10_000

// JournalPage reads up to limit entries with numbers above after, from since on, of one
// inbox unless address is empty. What it shows may be lost in a crash until SyncJournal.
func (j *journal) JournalPage(id account.ID, after uint64, address string, since time.Time, limit int) (follow.Page, error) {
	page := follow.Page{Last: after}
	keys := under(appendOwner(nil, kindJournal, id)).behind(journalKey(nil, id, after))
	scanned := 0
	err := j.scan(keys, func(key, value []byte) error {
		if page.More = len(page.Entries) == limit || scanned == pageScan; page.More {
			return errStop
		}
		var r publicRecord
		if err := decode(value, &r); err != nil {
			return fmt.Errorf("persist: journal of %s: %w", id, err)
		}
		seq := uint64(readNumber(key))
		old := r.At.time().Before(since)
		page.Gap = page.Gap || old || seq != page.Last+1
		page.Last = seq
		scanned++
		if !old && (address == "" || r.Address == address) {
			page.Entries = append(page.Entries, follow.Entry{Seq: seq, Public: r.public()})
		}
		return nil
	})
	return page, err
}

// RecentJournal returns the events of the account's newest limit entries, in order.
func (j *journal) RecentJournal(id account.ID, limit int) ([]inbox.Public, error) {
	end, err := j.JournalEnd(id)
	if err != nil {
		return nil, err
	}
	page, err := j.JournalPage(id, end-min(end, uint64(limit)), "", time.Time{}, limit)
	events := make([]inbox.Public, len(page.Entries))
	for i, e := range page.Entries {
		events[i] = e.Public
	}
	return events, err
}

// SyncJournal returns when everything that was in a journal before the call is on disk: a
// number that a reader has seen is given to the same event after any crash. Without entries
// that wait for the disk it costs two locks; those who come together share one sync.
func (j *journal) SyncJournal() error {
	need := j.count()
	j.syncing.Lock()
	defer j.syncing.Unlock()
	if j.synced >= need {
		return nil
	}
	covered := j.count()
	if err := j.syncLog(); err != nil {
		return err
	}
	j.synced = covered
	return nil
}

func (j *journal) count() uint64 {
	j.appending.Lock()
	defer j.appending.Unlock()
	return j.appended
}

// TrimJournal removes the oldest entries from before the given time, but never the newest
// entry of all: it keeps the count, so that no number is given twice. It does not wait for
// the disk.
func (j *journal) TrimJournal(id account.ID, before time.Time) error {
	all := under(appendOwner(nil, kindJournal, id))
	old := span{all.from, nil} // up to the first key that stays
	err := j.scan(all, func(key, value []byte) error {
		old.to = append(old.to[:0], key...)
		var r publicRecord
		if err := decode(value, &r); err != nil {
			return fmt.Errorf("persist: journal of %s: %w", id, err)
		}
		if !r.At.time().Before(before) {
			return errStop
		}
		return nil
	})
	if old.to == nil || err != nil {
		return err
	}
	return j.updateLater(func(w *writer) { w.deleteRange(old) })
}
