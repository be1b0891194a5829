package persist

import (
	"time"

	"inboxd/internal/inbox"
)

// Due is an entry of the due index: when an inbox wants to be looked at.
type Due struct {
	At      time.Time
	Address string
}

// moveDue writes the due entry of an inbox at its new time and takes the old one away.
func (w *writer) moveDue(r *inbox.Rows) {
	if r.DueFrom.Equal(r.DueTo) {
		return
	}
	if !r.DueFrom.IsZero() {
		w.delete(appendDue(nil, r.DueFrom, r.Address))
	}
	if !r.DueTo.IsZero() {
		w.set(appendDue(nil, r.DueTo, r.Address), []byte{recordVersion})
	}
}

// Due returns up to limit entries not later than until, in time order, and the time of the
// first entry behind those returned, zero when there is none.
func (s *Store) Due(until time.Time, limit int) (due []Due, next time.Time, err error) {
	if err := s.enter(); err != nil {
		return nil, next, err
	}
	defer s.leave()
	err = scan(s.db, []byte{byte(kindDue)}, []byte{byte(kindDue) + 1}, func(key, _ []byte) error {
		at := readTime(key[1:])
		if len(due) == limit || at.After(until) {
			next = at
			return errStop
		}
		due = append(due, Due{At: at, Address: string(key[1+8+2 : len(key)-1])})
		return nil
	})
	return due, next, err
}
