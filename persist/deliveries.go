package persist

import (
	"fmt"
	"math"
	"time"

	"inboxd/internal/core/account"
	"inboxd/internal/core/webhook"
)

// deliveryTable stores webhook deliveries and when each is due.
type deliveryTable struct{ *engine }

// The integer keys of this record are on disk: append only; never reorder or reuse.

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
	Began    stamp         `cbor:"17,keyasint,omitempty"`
	Past     []tryRecord   `cbor:"18,keyasint,omitempty"`
	Message  int64         `cbor:"19,keyasint,omitempty"`
}

type tryRecord struct {
	At      stamp         `cbor:"1,keyasint,omitempty"`
	Status  int           `cbor:"2,keyasint,omitempty"`
	Took    int64         `cbor:"3,keyasint,omitempty"` // milliseconds
	Error   string        `cbor:"4,keyasint,omitempty"`
	Excerpt string        `cbor:"5,keyasint,omitempty"`
	URL     string        `cbor:"6,keyasint,omitempty"`
	State   webhook.State `cbor:"7,keyasint,omitempty"`
	NextAt  stamp         `cbor:"8,keyasint,omitempty"`
}

func callOf(at stamp, status int, took int64, problem, excerpt string) webhook.Call {
	return webhook.Call{At: at.time(), Answer: webhook.Answer{Status: status, Duration: time.Duration(took) * time.Millisecond, Error: problem, Excerpt: excerpt}}
}

// deliveryHead is the part of a record that decides whether it may be removed.
type deliveryHead struct {
	At    stamp         `cbor:"6,keyasint,omitempty"`
	State webhook.State `cbor:"8,keyasint,omitempty"`
}

func (r *deliveryRecord) from(d *webhook.Delivery) {
	*r = deliveryRecord{
		d.Webhook, d.EventID, d.Event, d.Inbox, d.Body, stampOf(d.At), d.URL, d.State, d.Calls, d.Base, stampOf(d.NextAt),
		stampOf(d.Last.At), d.Last.Status, d.Last.Duration.Milliseconds(), d.Last.Error, d.Last.Excerpt, stampOf(d.Began), nil, d.Message,
	}
	for _, t := range d.Past {
		r.Past = append(r.Past, tryRecord{
			stampOf(t.At), t.Status, t.Duration.Milliseconds(), t.Error, t.Excerpt, t.URL, t.State, stampOf(t.NextAt),
		})
	}
}

func (r *deliveryRecord) delivery(id account.ID, n int64) webhook.Delivery {
	d := webhook.Delivery{
		Account: id, ID: n, Webhook: r.Webhook, EventID: r.EventID, Event: r.Event, Inbox: r.Inbox, Body: r.Body, Message: r.Message, At: r.At.time(),
		URL: r.URL, State: r.State, Calls: r.Attempts, Base: r.Base, NextAt: r.NextAt.time(),
		Began: r.Began.time(), Last: callOf(r.LastAt, r.Status, r.Took, r.Error, r.Excerpt),
	}
	for _, t := range r.Past {
		d.Past = append(d.Past, webhook.Try{Call: callOf(t.At, t.Status, t.Took, t.Error, t.Excerpt), URL: t.URL, State: t.State, NextAt: t.NextAt.time()})
	}
	return d
}

func deliveryKey(dst []byte, id account.ID, n int64) []byte {
	return appendNumber(appendOwner(dst, kindDelivery, id), n)
}

// deliveryDueKey is the key of a due entry: [kind][group][time][partition][account][delivery id].
func deliveryDueKey(dst []byte, at time.Time, id account.ID, n int64) []byte {
	return appendNumber(append(appendDue(dst, kindDeliveryDue, at, id.Partition()), id[:]...), n)
}

func readDeliveryDue(key, value []byte) (webhook.Due, error) {
	if err := checkVersion(value); err != nil || len(key) != dueHead+idLen+8 || len(value) != 1+8 {
		return webhook.Due{}, fmt.Errorf("persist: damaged row %x: %v", key, err)
	}
	return webhook.Due{
		At: dueTime(key), Account: account.ID(key[dueHead:]), ID: readNumber(key), Webhook: readNumber(value),
	}, nil
}

// putDelivery writes a delivery and, if it waits for an attempt, its due entry.
func (w *writer) putDelivery(d *webhook.Delivery) {
	w.putDeliveryRow(d)
	w.putDeliveryDue(d.Due())
}

func (w *writer) putDeliveryRow(d *webhook.Delivery) {
	var rec deliveryRecord
	rec.from(d)
	w.key = deliveryKey(w.key[:0], d.Account, d.ID)
	w.put(w.key, &rec)
}

func (w *writer) putDeliveryDue(d webhook.Due) {
	if d.At.IsZero() {
		return
	}
	w.key = deliveryDueKey(w.key[:0], d.At, d.Account, d.ID)
	w.set(w.key, keyed(nil, d.Webhook))
}

// CommitDeliveries writes changes of one account's deliveries as one atomic batch and returns once
// it is durable.
func (t *deliveryTable) CommitDeliveries(id account.ID, changes []webhook.Change) error {
	return t.update(id.Partition(), 0, func(w *writer) {
		for i := range changes {
			w.changeDelivery(id, &changes[i])
		}
	})
}

func (w *writer) changeDelivery(id account.ID, c *webhook.Change) {
	if c.RowOnly {
		w.putDeliveryRow(c.Delivery)
		return
	}
	if !c.From.IsZero() {
		w.delete(deliveryDueKey(nil, c.From, id, c.ID))
	}
	if c.Delivery == nil {
		w.putDeliveryDue(webhook.Due{At: c.To, Account: id, ID: c.ID, Webhook: c.Webhook})
		return
	}
	w.putDelivery(c.Delivery)
	if c.Tried {
		last := c.Delivery.Last
		w.put(lastCallKey(id, c.Delivery.Webhook), &lastCallRecord{stampOf(last.At), last.Status})
	}
}

// DueDeliveries returns up to limit due entries in time order, and whether more follow. They start
// after the entry after, of which it uses time, account and id. If after has no account, they start
// at its time.
func (t *deliveryTable) DueDeliveries(after webhook.Due, limit int) (due []webhook.Due, more bool, err error) {
	from := dueFrom(after.At)
	if after.Account != (account.ID{}) {
		from = dueBehind(deliveryDueKey(nil, after.At, after.Account, after.ID))
	}
	return listDue(t.engine, kindDeliveryDue, from, limit, readDeliveryDue)
}

// Delivery reads one delivery; nil if it does not exist.
func (t *deliveryTable) Delivery(id account.ID, n int64) (*webhook.Delivery, error) {
	var r deliveryRecord
	found, err := t.get(deliveryKey(nil, id, n), &r)
	if err != nil || !found {
		return nil, err
	}
	d := r.delivery(id, n)
	return &d, nil
}

// newest calls row for an account's deliveries with ids from from to below to, newest first.
func (t *deliveryTable) newest(id account.ID, from, to int64, row func(n int64, value []byte) error) error {
	keys := span{deliveryKey(nil, id, from), deliveryKey(nil, id, to)}
	err := t.scanBack(keys, func(key, value []byte) error { return row(readNumber(key), value) })
	if err != nil {
		err = fmt.Errorf("persist: deliveries of account %s: %w", id, err)
	}
	return err
}

// Deliveries returns up to limit deliveries with ids below before (0: all), newest first, to one
// webhook unless hook is 0. One call examines at most pageScan deliveries.
func (t *deliveryTable) Deliveries(id account.ID, hook, before int64, limit int) (out []webhook.Delivery, err error) {
	if before <= 0 {
		before = math.MaxInt64
	}
	looked := 0
	err = t.newest(id, 0, before, func(n int64, value []byte) error {
		if len(out) == limit || looked == pageScan {
			return errStop
		}
		looked++
		var r deliveryRecord
		err := decode(value, &r)
		if err == nil && (hook == 0 || r.Webhook == hook) {
			out = append(out, r.delivery(id, n))
		}
		return err
	})
	return out, err
}

// LastDelivery returns the highest id of an account's deliveries, 0 if it never had one. In a
// restored folder it is at least the number above which new ids are assigned.
func (t *deliveryTable) LastDelivery(id account.ID) (last int64, err error) {
	last, err = t.lastDelivery(id)
	return max(last, t.folder.Above()), err
}

func (t *deliveryTable) lastDelivery(id account.ID) (last int64, err error) {
	err = t.newest(id, 0, math.MaxInt64, func(n int64, _ []byte) error {
		last = n
		return errStop
	})
	return last, err
}

// TrimDeliveries removes settled deliveries with ids above after: those beyond the newest keep, and
// those made before the given time. It never removes the newest of all, which holds the last id.
// Ids have no gaps, so those beyond the newest keep follow from the last id. One call removes at
// most limit, the newest of them first, and does not wait for the fsync.
func (t *deliveryTable) TrimDeliveries(id account.ID, after int64, before time.Time, keep, limit int) (removed int, err error) {
	last, err := t.lastDelivery(id)
	if err != nil {
		return 0, err
	}
	beyond := last - int64(keep) // newest id beyond the newest keep
	upper := last
	if before.IsZero() {
		upper = min(last, beyond+1)
	}
	if upper <= after+1 {
		return 0, nil
	}
	var gone []int64
	looked := 0
	err = t.newest(id, after+1, upper, func(n int64, value []byte) error {
		if len(gone) == limit || looked == keep+pageScan {
			return errStop
		}
		looked++
		var r deliveryHead
		err := decode(value, &r)
		if err == nil && r.State != webhook.Retrying && (n <= beyond || r.At.time().Before(before)) {
			gone = append(gone, n)
		}
		return err
	})
	if err != nil || len(gone) == 0 {
		return 0, err
	}
	return len(gone), t.updateLater(id.Partition(), func(w *writer) {
		for _, n := range gone {
			w.delete(deliveryKey(nil, id, n))
		}
	})
}

// DeliveryAccounts returns up to limit accounts that have deliveries, after the id after, in the
// order of their partitions. The zero id starts.
func (t *deliveryTable) DeliveryAccounts(after account.ID, limit int) ([]account.ID, error) {
	return t.owners(kindDelivery, after, limit)
}

func (c *checker) delivery(id account.ID, n int64, value []byte) error {
	var r deliveryRecord
	if err := decode(value, &r); err != nil {
		return err
	}
	d := r.delivery(id, n)
	if due := d.Due(); !due.At.IsZero() {
		c.waits(fmt.Sprintf("delivery %d of account %s is waiting but is missing from the due index", n, id), deliveryDueKey(nil, due.At, id, n))
	}
	return nil
}
