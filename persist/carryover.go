package persist

import (
	"cmp"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"inboxd/internal/account"
	"inboxd/internal/follow"
	"inboxd/internal/inbox"
)

// carryStep is how many entries one batch of a carry-over moves. A test makes it small.
var carryStep = 1024

// carryOver brings a folder of format 1 to the present one, before anybody may read it. Each step
// moves some entries in one batch, so a crash leaves every entry in one index or the other, and
// the next start goes on; FORMAT is written when all are on disk. It changes how this folder lies
// on this disk, not what it says: that is why its batches are of no one partition.
func (s *Store) carryOver() error {
	for _, index := range [...]struct{ from, to kind }{
		{kindUngrouped, kindDue}, {kindMailUngrouped, kindMailDue}, {kindDeliveryUngrouped, kindDeliveryDue},
	} {
		if err := s.regroup(index.from, index.to); err != nil {
			return err
		}
	}
	if err := s.dropTaken(); err != nil {
		return err
	}
	if err := s.syncLog(); err != nil {
		return err
	}
	return s.folder.Renew()
}

// regroup moves the entries of a due index, [kind][time][partition][entity] until format 1. One
// that lay in a partition that is not its entity's comes into the right one.
func (s *Store) regroup(from, to kind) error {
	keys := ofKind(from)
	for more := true; more; {
		err := s.carry(func(w *writer) (err error) {
			n, left := 0, keys
			more = false
			err = scan(s.db, keys, func(key, value []byte) error {
				if more = n == carryStep; more {
					return errStop
				}
				n++
				left = keys.behind(key)
				return w.regroup(key, value, to)
			})
			if n > 0 {
				w.deleteRange(span{keys.from, left.from})
			}
			keys = left
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// regroup writes an entry under its new key.
func (w *writer) regroup(key, value []byte, to kind) error {
	const head = 1 + 8 + 2
	if len(key) > head {
		if p, ok := partitionOfDue(to, key[head:]); ok {
			w.key = append(appendDue(w.key[:0], to, readTime(key[1:]), p), key[head:]...)
			w.set(w.key, value)
			return nil
		}
	}
	return fmt.Errorf("damaged key %x", key)
}

// takenBefore is how many of its newest entries a journal of format 1 was searched for an event
// that was in the outbox still.
const takenBefore = 512

// dropTaken removes from the outbox what the journals have: at the end of format 1 their newest
// entries told, from then on a row for each inbox does.
func (s *Store) dropTaken() error {
	waiting, err := s.Outbox(-1)
	if err != nil {
		return err
	}
	journals := map[account.ID]map[eventName]bool{}
	var twice []inbox.Public
	for _, e := range waiting {
		if journals[e.Account] == nil {
			if journals[e.Account], err = s.newestOf(e.Account); err != nil {
				return err
			}
		}
		if journals[e.Account][eventName{e.Address, e.Number}] {
			twice = append(twice, e)
		}
	}
	return s.DropOutbox(twice)
}

// eventName names an event of an account.
type eventName struct {
	address string
	number  uint64
}

func (s *Store) newestOf(id account.ID) (map[eventName]bool, error) {
	end, err := s.JournalEnd(id)
	if err != nil {
		return nil, err
	}
	page, err := s.JournalPage(id, end-min(end, takenBefore), "", time.Time{}, follow.Entries(takenBefore))
	names := map[eventName]bool{}
	for _, e := range page.Entries {
		names[eventName{e.Address, e.Number}] = true
	}
	return names, err
}

// carry has a batch of a carry-over filled and applied. The log keeps their order.
func (s *Store) carry(fill func(*writer) error) (err error) {
	failed := s.fill(func(w *writer) {
		err = fill(w)
		w.note(err)
	}, func(b *pebble.Batch) error { return s.db.Apply(b, pebble.NoSync) })
	return cmp.Or(err, failed)
}
