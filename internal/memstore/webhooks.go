package memstore

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"inboxd/internal/account"
	"inboxd/internal/webhook"
)

// dueName names a due entry as the disk does, to the millisecond.
type dueName struct {
	at      int64
	account account.ID
	id      int64
}

func (s *Store) putDelivery(d webhook.Delivery) {
	if s.deliveries[d.Account] == nil {
		put(&s.deliveries, d.Account, map[int64]webhook.Delivery{})
	}
	s.deliveries[d.Account][d.ID] = d
	s.putDue(d.Due())
}

func (s *Store) putDue(d webhook.Due) {
	if !d.At.IsZero() {
		put(&s.dues, dueName{d.At.UnixMilli(), d.Account, d.ID}, d)
	}
}

// Webhooks reads an account's webhooks, oldest first.
func (s *Store) Webhooks(id account.ID) (out []account.Webhook, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if rows := s.accounts[id]; rows != nil {
		for _, n := range slices.Sorted(maps.Keys(rows.webhooks)) {
			out = append(out, rows.webhooks[n])
		}
	}
	return out, nil
}

// LastAttempts tells when each webhook was last tried.
func (s *Store) LastAttempts(id account.ID) (map[int64]webhook.Attempt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.lasts[id]), nil
}

// CommitDeliveries writes changes of deliveries.
func (s *Store) CommitDeliveries(id account.ID, changes []webhook.Change) error {
	if err := s.before(changes); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Commits++
	for _, c := range changes {
		delete(s.dues, dueName{c.From.UnixMilli(), id, c.ID})
		if c.Delivery == nil {
			s.putDue(webhook.Due{At: c.To, Account: id, ID: c.ID, Webhook: c.Webhook})
			continue
		}
		s.putDelivery(*c.Delivery)
		if c.Tried {
			if s.lasts[id] == nil {
				put(&s.lasts, id, map[int64]webhook.Attempt{})
			}
			s.lasts[id][c.Webhook] = c.Delivery.Last
		}
	}
	return nil
}

// DueDeliveries returns due entries from a time on, in time order.
func (s *Store) DueDeliveries(from time.Time, limit int) (due []webhook.Due, next time.Time, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.dues {
		if !d.At.Before(from) {
			due = append(due, d)
		}
	}
	slices.SortFunc(due, func(a, b webhook.Due) int {
		return cmp.Or(a.At.Compare(b.At), slices.Compare(a.Account[:], b.Account[:]), cmp.Compare(a.ID, b.ID))
	})
	if len(due) > limit {
		due, next = due[:limit], due[limit].At
	}
	return due, next, nil
}

// Delivery reads one delivery, nil when there is none.
func (s *Store) Delivery(id account.ID, n int64) (*webhook.Delivery, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d, ok := s.deliveries[id][n]; ok {
		return &d, nil
	}
	return nil, nil
}

// Deliveries returns deliveries below before, newest first.
func (s *Store) Deliveries(id account.ID, hook, before int64, limit int) (out []webhook.Delivery, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	numbers := slices.Sorted(maps.Keys(s.deliveries[id]))
	for _, n := range slices.Backward(numbers) {
		if d := s.deliveries[id][n]; len(out) < limit && (before == 0 || n < before) && (hook == 0 || d.Webhook == hook) {
			out = append(out, d)
		}
	}
	return out, nil
}

// LastDelivery returns the highest id of an account's deliveries.
func (s *Store) LastDelivery(id account.ID) (last int64, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := range s.deliveries[id] {
		last = max(last, n)
	}
	return last, nil
}

// TrimDeliveries removes settled deliveries above after, beyond the newest keep or from
// before a time.
func (s *Store) TrimDeliveries(id account.ID, after int64, before time.Time, keep, limit int) (removed int, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	numbers := slices.Sorted(maps.Keys(s.deliveries[id]))
	seen := 0
	for _, n := range slices.Backward(numbers) {
		d := s.deliveries[id][n]
		if seen++; removed < limit && seen > 1 && n > after && d.State != webhook.Retrying && (seen > keep || d.At.Before(before)) {
			delete(s.deliveries[id], n)
			removed++
		}
	}
	return removed, nil
}

// DeliveryAccounts returns accounts that have deliveries, behind after.
func (s *Store) DeliveryAccounts(after account.ID, limit int) (out []account.ID, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.deliveries {
		if slices.Compare(id[:], after[:]) > 0 {
			out = append(out, id)
		}
	}
	slices.SortFunc(out, func(a, b account.ID) int { return slices.Compare(a[:], b[:]) })
	return out[:min(limit, len(out))], nil
}
