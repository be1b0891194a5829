package persist

import (
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"inboxd/internal/account"
	"inboxd/internal/follow"
	"inboxd/internal/inbox"
	"inboxd/internal/webhook"
)

func appendOutbox(dst []byte, p *inbox.Public) []byte {
	return binary.BigEndian.AppendUint64(appendText(dst, kindOutbox, p.Address), p.Number)
}

// outbox adds the events to the batch that makes them true.
func (w *writer) outbox(events []inbox.Public) {
	for i := range events {
		w.rec.public.from(&events[i])
		w.key = appendOutbox(w.key[:0], &events[i])
		w.put(w.key, &w.rec.public)
	}
}

// Outbox returns up to limit events that no DropOutbox has removed yet, in order within
// each inbox. After a crash it may hold events that the journal has already: the newest
// entries of the account's journal tell.
func (s *Store) Outbox(limit int) ([]inbox.Public, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	var out []inbox.Public
	err := scan(s.db, []byte{byte(kindOutbox)}, []byte{byte(kindOutbox) + 1}, func(_, value []byte) error {
		if len(out) == limit {
			return errStop
		}
		var r publicRecord
		err := decode(value, &r)
		out = append(out, r.public())
		return err
	})
	return out, err
}

// AppendJournal adds events to the account's journal, numbered from, from+1 and so on, and
// with them what its webhooks are told of them. It does not wait for the disk: the synced
// outbox rows guard the events until DropOutbox, which the log holds behind this append.
func (s *Store) AppendJournal(id account.ID, from uint64, events []inbox.Public, deliveries []webhook.Delivery) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	w := s.newWriter()
	defer w.release()
	for i := range events {
		w.rec.public.from(&events[i])
		w.key = appendJournal(w.key[:0], id, from+uint64(i))
		w.put(w.key, &w.rec.public)
	}
	for i := range deliveries {
		w.putDelivery(&deliveries[i])
	}
	return s.journal.append(func() error { return s.commitLater(w) })
}

// DropOutbox removes events that are in their account's journal. It does not wait for the
// disk: what a crash brings back is taken over once more. Only events whose rows are there
// may be dropped, see dropOnce.
func (s *Store) DropOutbox(events []inbox.Public) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	w := s.newWriter()
	defer w.release()
	for i := range events {
		w.key = appendOutbox(w.key[:0], &events[i])
		w.dropOnce(w.key)
	}
	return s.commitLater(w)
}

// JournalEnd returns the number of the account's newest journal entry, 0 when it never had
// one.
func (s *Store) JournalEnd(id account.ID) (uint64, error) {
	if err := s.enter(); err != nil {
		return 0, err
	}
	defer s.leave()
	prefix := appendOwner(nil, kindJournal, id)
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: prefix, UpperBound: end(prefix)})
	if err != nil {
		return 0, err
	}
	seq := uint64(0)
	if it.Last() {
		seq = binary.BigEndian.Uint64(it.Key()[len(prefix):])
	}
	return seq, it.Close()
}

// pageScan bounds how many entries one read of a journal looks at: about 10 ms of work.
const pageScan = 10_000

// JournalPage reads up to limit entries with numbers above after, from since on, of one
// inbox unless address is empty. What it shows may be lost in a crash until SyncJournal.
func (s *Store) JournalPage(id account.ID, after uint64, address string, since time.Time, limit int) (follow.Page, error) {
	page := follow.Page{Last: after}
	if err := s.enter(); err != nil {
		return page, err
	}
	defer s.leave()
	prefix := appendOwner(nil, kindJournal, id)
	from := append(appendJournal(nil, id, after), 0)
	scanned := 0
	err := scan(s.db, from, end(prefix), func(key, value []byte) error {
		if page.More = len(page.Entries) == limit || scanned == pageScan; page.More {
			return errStop
		}
		var r publicRecord
		if err := decode(value, &r); err != nil {
			return fmt.Errorf("persist: journal of %s: %w", id, err)
		}
		seq := binary.BigEndian.Uint64(key[len(prefix):])
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
func (s *Store) RecentJournal(id account.ID, limit int) ([]inbox.Public, error) {
	end, err := s.JournalEnd(id)
	if err != nil {
		return nil, err
	}
	page, err := s.JournalPage(id, end-min(end, uint64(limit)), "", time.Time{}, limit)
	events := make([]inbox.Public, len(page.Entries))
	for i, e := range page.Entries {
		events[i] = e.Public
	}
	return events, err
}

// SyncJournal returns when everything that was in a journal before the call is on disk: a
// number that a reader has seen is given to the same event after any crash. Without entries
// that wait for the disk it costs two locks; those who come together share one sync.
func (s *Store) SyncJournal() error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	s.journal.sync(s.syncLog)
	return nil
}

// journalSync is how far the change journals are on disk, counted in appends.
type journalSync struct {
	// appending is held while an append goes into the log, so that whoever saw an entry
	// finds it counted. Taken inside syncing where both are.
	appending sync.Mutex
	appended  uint64

	syncing sync.Mutex
	synced  uint64
}

func (j *journalSync) append(commit func() error) error {
	j.appending.Lock()
	defer j.appending.Unlock()
	j.appended++
	return commit()
}

func (j *journalSync) count() uint64 {
	j.appending.Lock()
	defer j.appending.Unlock()
	return j.appended
}

func (j *journalSync) sync(syncLog func()) {
	need := j.count()
	j.syncing.Lock()
	defer j.syncing.Unlock()
	if j.synced < need {
		covered := j.count()
		syncLog()
		j.synced = covered
	}
}

// TrimJournal removes the oldest entries from before the given time, but never the newest
// entry of all: it keeps the count, so that no number is given twice. It does not wait for
// the disk.
func (s *Store) TrimJournal(id account.ID, before time.Time) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	prefix := appendOwner(nil, kindJournal, id)
	var keep []byte // first key that stays
	err := scan(s.db, prefix, end(prefix), func(key, value []byte) error {
		keep = append(keep[:0], key...)
		var r publicRecord
		if err := decode(value, &r); err != nil {
			return fmt.Errorf("persist: journal of %s: %w", id, err)
		}
		if !r.At.time().Before(before) {
			return errStop
		}
		return nil
	})
	if keep == nil || err != nil {
		return err
	}
	w := s.newWriter()
	defer w.release()
	w.deleteRange(prefix, keep)
	return s.commitLater(w)
}
