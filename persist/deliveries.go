package persist

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"inboxd/internal/account"
	"inboxd/internal/webhook"
)

type deliveryRecord struct {
	Webhook  int64         `cbor:"1,keyasint,omitempty"`
	EventID  string        `cbor:"2,keyasint,omitempty"`
	Event    string        `cbor:"3,keyasint,omitempty"`
	Inbox    string        `cbor:"4,keyasint,omitempty"`
	Body     []byte        `cbor:"5,keyasint,omitempty"`
	At       stamp         `cbor:"6,keyasint,omitempty"`
	URL      string        `cbor:"7,keyasint,omitempty"`
	State    webhook.State `cbor:"8,keyasint,omitempty"`
	Attempts int           `cbor:"9,keyasint,omitempty"`
	Base     int           `cbor:"10,keyasint,omitempty"`
	NextAt   stamp         `cbor:"11,keyasint,omitempty"`
	LastAt   stamp         `cbor:"12,keyasint,omitempty"`
	Status   int           `cbor:"13,keyasint,omitempty"`
	Took     int64         `cbor:"14,keyasint,omitempty"` // milliseconds
	Error    string        `cbor:"15,keyasint,omitempty"`
	Excerpt  string        `cbor:"16,keyasint,omitempty"`
}

// deliveryHead is what says whether a record may go.
type deliveryHead struct {
	At    stamp         `cbor:"6,keyasint,omitempty"`
	State webhook.State `cbor:"8,keyasint,omitempty"`
}

func (r *deliveryRecord) from(d *webhook.Delivery) {
	*r = deliveryRecord{
		d.Webhook, d.EventID, d.Event, d.Inbox, d.Body, stampOf(d.At), d.URL, d.State, d.Attempts, d.Base, stampOf(d.NextAt),
		stampOf(d.Last.At), d.Last.Status, d.Last.Duration.Milliseconds(), d.Last.Error, d.Last.Excerpt,
	}
}

func (r *deliveryRecord) delivery(id account.ID, n int64) webhook.Delivery {
	return webhook.Delivery{
		Account: id, ID: n, Webhook: r.Webhook, EventID: r.EventID, Event: r.Event, Inbox: r.Inbox, Body: r.Body, At: r.At.time(),
		URL: r.URL, State: r.State, Attempts: r.Attempts, Base: r.Base, NextAt: r.NextAt.time(),
		Last: webhook.Attempt{At: r.LastAt.time(), Answer: webhook.Answer{
			Status: r.Status, Duration: time.Duration(r.Took) * time.Millisecond, Error: r.Error, Excerpt: r.Excerpt,
		}},
	}
}

func appendDelivery(dst []byte, id account.ID, n int64) []byte {
	return binary.BigEndian.AppendUint64(appendOwner(dst, kindDelivery, id), uint64(n))
}

// appendDeliveryDue names a due entry: [kind][time][partition][account][delivery id].
func appendDeliveryDue(dst []byte, at time.Time, id account.ID, n int64) []byte {
	dst = appendTime(append(dst, byte(kindDeliveryDue)), at)
	p := id.Partition()
	dst = append(append(dst, byte(p>>8), byte(p)), id[:]...)
	return binary.BigEndian.AppendUint64(dst, uint64(n))
}

const deliveryDueLen = 1 + 8 + 2 + idLen + 8

func readDeliveryDue(key, value []byte) (webhook.Due, error) {
	if err := checkVersion(value); err != nil || len(key) != deliveryDueLen || len(value) != 1+8 {
		return webhook.Due{}, fmt.Errorf("persist: damaged row %x: %v", key, err)
	}
	return webhook.Due{
		At: readTime(key[1:]), Account: account.ID(key[11:]), ID: int64(binary.BigEndian.Uint64(key[11+idLen:])),
		Webhook: int64(binary.BigEndian.Uint64(value[1:])),
	}, nil
}

// putDelivery writes a delivery and its due entry, if it waits for an attempt.
func (w *writer) putDelivery(d *webhook.Delivery) {
	var rec deliveryRecord
	rec.from(d)
	w.key = appendDelivery(w.key[:0], d.Account, d.ID)
	w.put(w.key, &rec)
	w.putDeliveryDue(d.Due())
}

func (w *writer) putDeliveryDue(d webhook.Due) {
	if d.At.IsZero() {
		return
	}
	w.key = appendDeliveryDue(w.key[:0], d.At, d.Account, d.ID)
	w.set(w.key, keyed(nil, d.Webhook))
}

// CommitDeliveries writes changes of one account's deliveries as one atomic batch and
// returns once it is on disk.
func (s *Store) CommitDeliveries(id account.ID, changes []webhook.Change) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	w := s.newWriter()
	defer w.release()
	for i := range changes {
		c := &changes[i]
		if !c.From.IsZero() {
			w.delete(appendDeliveryDue(nil, c.From, id, c.ID))
		}
		if c.Delivery == nil {
			w.putDeliveryDue(webhook.Due{At: c.To, Account: id, ID: c.ID, Webhook: c.Webhook})
			continue
		}
		w.putDelivery(c.Delivery)
		if c.Tried {
			last := c.Delivery.Last
			w.put(lastKey(id, c.Delivery.Webhook), &lastRecord{stampOf(last.At), last.Status})
		}
	}
	return s.commit(id.Partition(), w)
}

// DueDeliveries returns up to limit due entries from the given time on, in time order, and
// the time of the first entry behind those returned, zero when there is none.
func (s *Store) DueDeliveries(from time.Time, limit int) (due []webhook.Due, next time.Time, err error) {
	if err := s.enter(); err != nil {
		return nil, next, err
	}
	defer s.leave()
	first := []byte{byte(kindDeliveryDue)}
	if !from.IsZero() {
		first = appendTime(first, from)
	}
	err = scan(s.db, first, []byte{byte(kindDeliveryDue) + 1}, func(key, value []byte) error {
		d, err := readDeliveryDue(key, value)
		if err != nil {
			return err
		}
		if len(due) == limit {
			next = d.At
			return errStop
		}
		due = append(due, d)
		return nil
	})
	return due, next, err
}

// Delivery reads one delivery, nil when there is none.
func (s *Store) Delivery(id account.ID, n int64) (*webhook.Delivery, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	var r deliveryRecord
	found, err := s.get(appendDelivery(nil, id, n), &r)
	if err != nil || !found {
		return nil, err
	}
	d := r.delivery(id, n)
	return &d, nil
}

// newest calls row for an account's deliveries below before, newest first; before 0 starts
// at the newest of all.
func (s *Store) newestDeliveries(id account.ID, before int64, row func(webhook.Delivery) error) error {
	if before <= 0 {
		before = math.MaxInt64
	}
	return s.deliveriesBetween(id, 0, before, func(n int64, value []byte) error {
		var r deliveryRecord
		if err := decode(value, &r); err != nil {
			return err
		}
		return row(r.delivery(id, n))
	})
}

// deliveriesBetween calls row for an account's deliveries from one id to below another,
// newest first.
func (s *Store) deliveriesBetween(id account.ID, from, to int64, row func(n int64, value []byte) error) error {
	return scanBack(s.db, appendDelivery(nil, id, from), appendDelivery(nil, id, to), func(key, value []byte) error {
		err := row(int64(binary.BigEndian.Uint64(key[len(key)-8:])), value)
		if err != nil && err != errStop {
			return fmt.Errorf("persist: deliveries of account %s: %w", id, err)
		}
		return err
	})
}

// Deliveries returns up to limit deliveries with ids below before, newest first, to one
// webhook unless hook is 0. One call looks at no more than pageScan.
func (s *Store) Deliveries(id account.ID, hook, before int64, limit int) (out []webhook.Delivery, err error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	looked := 0
	err = s.newestDeliveries(id, before, func(d webhook.Delivery) error {
		if len(out) == limit || looked == pageScan {
			return errStop
		}
		looked++
		if hook == 0 || d.Webhook == hook {
			out = append(out, d)
		}
		return nil
	})
	return out, err
}

// LastDelivery returns the highest id of an account's deliveries, 0 when it never had one.
func (s *Store) LastDelivery(id account.ID) (last int64, err error) {
	if err := s.enter(); err != nil {
		return 0, err
	}
	defer s.leave()
	err = s.newestDeliveries(id, 0, func(d webhook.Delivery) error {
		last = d.ID
		return errStop
	})
	return last, err
}

// TrimDeliveries removes deliveries with ids above after that wait for nothing: those beyond
// the newest keep, and those from before the given time; but never the newest of all, which
// keeps the count. Ids are given without gaps, so those beyond the newest keep need no
// counting. One call removes at most limit, the newest of them first, and does not wait for
// the disk.
func (s *Store) TrimDeliveries(id account.ID, after int64, before time.Time, keep, limit int) (removed int, err error) {
	last, err := s.LastDelivery(id)
	if err != nil {
		return 0, err
	}
	if err := s.enter(); err != nil {
		return 0, err
	}
	defer s.leave()
	w := s.newWriter()
	defer w.release()
	kept := last - int64(keep) // the newest id beyond keep
	upper := last
	if before.IsZero() {
		upper = min(last, kept+1)
	}
	if upper <= after+1 {
		return 0, nil
	}
	looked := 0
	err = s.deliveriesBetween(id, after+1, upper, func(n int64, value []byte) error {
		var r deliveryHead
		if removed == limit || looked == keep+pageScan {
			return errStop
		}
		looked++
		err := decode(value, &r)
		if err == nil && r.State != webhook.Retrying && (n <= kept || r.At.time().Before(before)) {
			w.delete(appendDelivery(nil, id, n))
			removed++
		}
		return err
	})
	if err != nil || removed == 0 {
		return 0, err
	}
	return removed, s.commitLater(w)
}

// DeliveryAccounts returns up to limit accounts that have deliveries, behind after, in the
// order of their partitions; the zero id starts.
func (s *Store) DeliveryAccounts(after account.ID, limit int) (out []account.ID, err error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: []byte{byte(kindDelivery)}, UpperBound: []byte{byte(kindDelivery) + 1}})
	if err != nil {
		return nil, err
	}
	ok := it.First()
	if after != (account.ID{}) {
		ok = it.SeekGE(end(appendOwner(nil, kindDelivery, after)))
	}
	for ; ok && len(out) < limit; ok = it.SeekGE(end(appendOwner(nil, kindDelivery, out[len(out)-1]))) {
		out = append(out, account.ID(it.Key()[prefixLen:]))
	}
	return out, it.Close()
}
