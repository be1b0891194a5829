package persist

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"inboxd/internal/account"
	"inboxd/internal/inbox"
)

// Entry is one entry of an account's change journal. Seq is dense and starts at 1.
type Entry struct {
	Seq uint64
	inbox.Public
}

func outboxKey(p *inbox.Public) []byte {
	return binary.BigEndian.AppendUint64(appendText(nil, kindOutbox, p.Address), p.Number)
}

// outbox adds the events to the batch that makes them true.
func (w *writer) outbox(events []inbox.Public) {
	for i := range events {
		var rec publicRecord
		rec.from(&events[i])
		w.put(outboxKey(&events[i]), &rec)
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

// AppendJournal adds events to the account's journal, numbered from, from+1 and so on. It
// does not wait for the disk: the synced outbox rows guard the events until DropOutbox,
// which the log holds behind this append.
func (s *Store) AppendJournal(id account.ID, from uint64, events []inbox.Public) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	w := s.newWriter()
	defer w.release()
	for i := range events {
		var rec publicRecord
		rec.from(&events[i])
		w.key = appendJournal(w.key[:0], id, from+uint64(i))
		w.put(w.key, &rec)
	}
	return s.commitLater(w)
}

// DropOutbox removes events that are in their account's journal. It does not wait for the
// disk: what a crash brings back is taken over once more.
func (s *Store) DropOutbox(events []inbox.Public) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	w := s.newWriter()
	defer w.release()
	for i := range events {
		w.delete(outboxKey(&events[i]))
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

// Journal returns up to limit entries with numbers above after.
func (s *Store) Journal(id account.ID, after uint64, limit int) ([]Entry, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	prefix := appendOwner(nil, kindJournal, id)
	from := append(appendJournal(nil, id, after), 0)
	var out []Entry
	err := scan(s.db, from, end(prefix), func(key, value []byte) error {
		if len(out) == limit {
			return errStop
		}
		var r publicRecord
		if err := decode(value, &r); err != nil {
			return fmt.Errorf("persist: journal of %s: %w", id, err)
		}
		out = append(out, Entry{binary.BigEndian.Uint64(key[len(prefix):]), r.public()})
		return nil
	})
	return out, err
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
