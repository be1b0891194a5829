package memstore

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"inboxd/internal/account"
	"inboxd/internal/inbox"
)

// queueKey names an entry of the mail queue.
type queueKey struct {
	at      time.Time
	address string
	id      int64
}

func (k queueKey) compare(o queueKey) int {
	return cmp.Or(k.at.Compare(o.at), cmp.Compare(k.address, o.address), cmp.Compare(k.id, o.id))
}

// queue moves entries of the mail queue; the caller holds mu.
func (s *Store) queue(rows *inboxRows, r *inbox.Rows) {
	for _, q := range r.Queue {
		delete(s.waiting, queueKey{q.From, r.Address, q.ID})
		if !q.To.IsZero() {
			put(&s.waiting, queueKey{q.To, r.Address, q.ID}, q)
		}
	}
	for _, f := range r.Sign {
		rows.signed[f.ID] = f.Bytes
	}
}

// MailQueue lists the queue from behind the entry after.
func (s *Store) MailQueue(after inbox.QueueEntry, limit int) (queue []inbox.QueueEntry, more bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range slices.SortedFunc(maps.Keys(s.waiting), queueKey.compare) {
		behind := k.compare(queueKey{after.At, after.Address, after.ID}) > 0
		if after.Address == "" {
			behind = !k.at.Before(after.At)
		}
		switch q := s.waiting[k]; {
		case !behind:
		case len(queue) == limit:
			return queue, true, nil
		default:
			queue = append(queue, inbox.QueueEntry{At: k.at, Address: k.address, ID: k.id, Since: q.Since, Domains: q.Domains, Leased: q.Leased})
		}
	}
	return queue, false, nil
}

// Signature returns the signature fields of an outgoing message.
func (s *Store) Signature(address string, id int64) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if rows := s.inboxes[address]; rows != nil {
		return rows.signed[id], nil
	}
	return nil, nil
}

// PutSuppression bars an address for an account.
func (s *Store) PutSuppression(id account.ID, sup account.Suppression) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.barred[id] == nil {
		put(&s.barred, id, map[string]account.Suppression{})
	}
	s.barred[id][sup.Email] = sup
	return nil
}

// DropSuppression allows it again.
func (s *Store) DropSuppression(id account.ID, email string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, found := s.barred[id][email]
	delete(s.barred[id], email)
	return found, nil
}

// Suppression looks an address up.
func (s *Store) Suppression(id account.ID, email string) (account.Suppression, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sup, found := s.barred[id][email]
	return sup, found, nil
}

// Suppressions lists them.
func (s *Store) Suppressions(id account.ID, after string, limit int) (out []account.Suppression, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, email := range slices.Sorted(maps.Keys(s.barred[id])) {
		if email > after && len(out) < limit {
			out = append(out, s.barred[id][email])
		}
	}
	return out, nil
}

// Clone copies the rows as a crash at this moment would leave them.
func (s *Store) Clone() *Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &Store{
		owners: maps.Clone(s.owners), outbox: slices.Clone(s.outbox), journals: maps.Clone(s.journals),
		waiting: maps.Clone(s.waiting), inboxes: map[string]*inboxRows{}, accounts: map[account.ID]*accountRows{},
	}
	for address, rows := range s.inboxes {
		c.inboxes[address] = &inboxRows{rows.profile, maps.Clone(rows.messages), maps.Clone(rows.stored), maps.Clone(rows.signed)}
	}
	for id, rows := range s.accounts {
		copied := *rows
		copied.keys, copied.sessions = maps.Clone(rows.keys), maps.Clone(rows.sessions)
		copied.reserved, copied.live = maps.Clone(rows.reserved), slices.Clone(rows.live)
		c.accounts[id] = &copied
	}
	return c
}
