package persist

import (
	"time"

	"inboxd/internal/inbox"
)

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

// DueInboxes returns up to limit addresses of inboxes that want to be looked at not later than
// until, in time order, and when the first one behind those returned does, zero when there is
// none.
func (s *Store) DueInboxes(until time.Time, limit int) (due []string, next time.Time, err error) {
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
		due = append(due, string(key[1+8+2:len(key)-1]))
		return nil
	})
	return due, next, err
}
