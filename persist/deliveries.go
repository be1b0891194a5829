package persist

import (
	"fmt"
	"math"
	"time"

	"inboxd/internal/core/account"
	"inboxd/internal/core/webhook"
)

// deliveryTable stores webhook deliveries and when each is due.
type deliveryTable struct{ *storageEngine }

// The integer keys of this record are on disk: append only; never reorder or reuse.

type deliveryRecord struct {
	Webhook      int64                 `cbor:"1,keyasint,omitempty"`
	EventID      string                `cbor:"2,keyasint,omitempty"`
	EventName    string                `cbor:"3,keyasint,omitempty"`
	InboxAddress string                `cbor:"4,keyasint,omitempty"`
	Body         []byte                `cbor:"5,keyasint,omitempty"`
	At           unixMillis            `cbor:"6,keyasint,omitempty"`
	URL          string                `cbor:"7,keyasint,omitempty"`
	State        webhook.DeliveryState `cbor:"8,keyasint,omitempty"`
	AttemptCount int                   `cbor:"9,keyasint,omitempty"`
	BaseAttempts int                   `cbor:"10,keyasint,omitempty"`
	NextAt       unixMillis            `cbor:"11,keyasint,omitempty"`
	LastAt       unixMillis            `cbor:"12,keyasint,omitempty"`
	HTTPStatus   int                   `cbor:"13,keyasint,omitempty"`
	TookMillis   int64                 `cbor:"14,keyasint,omitempty"` // milliseconds
	LastError    string                `cbor:"15,keyasint,omitempty"`
	BodyExcerpt  string                `cbor:"16,keyasint,omitempty"`
	BeganAt      unixMillis            `cbor:"17,keyasint,omitempty"`
	PastAttempts []tryRecord           `cbor:"18,keyasint,omitempty"`
	MessageID    int64                 `cbor:"19,keyasint,omitempty"`
}

type tryRecord struct {
	At          unixMillis            `cbor:"1,keyasint,omitempty"`
	HTTPStatus  int                   `cbor:"2,keyasint,omitempty"`
	TookMillis  int64                 `cbor:"3,keyasint,omitempty"` // milliseconds
	LastError   string                `cbor:"4,keyasint,omitempty"`
	BodyExcerpt string                `cbor:"5,keyasint,omitempty"`
	URL         string                `cbor:"6,keyasint,omitempty"`
	State       webhook.DeliveryState `cbor:"7,keyasint,omitempty"`
	NextAt      unixMillis            `cbor:"8,keyasint,omitempty"`
}

func callOf(at unixMillis, status int, took int64, problem, excerpt string) webhook.DeliveryAttempt {
	return webhook.DeliveryAttempt{At: at.toTime(), ReceiverResponse: webhook.ReceiverResponse{Status: status, Duration: time.Duration(took) * time.Millisecond, Error: problem, BodyExcerpt: excerpt}}
}

// deliveryHead is the part of a record that decides whether it may be removed.
type deliveryHead struct {
	At    unixMillis            `cbor:"6,keyasint,omitempty"`
	State webhook.DeliveryState `cbor:"8,keyasint,omitempty"`
}

func (r *deliveryRecord) copyFrom(d *webhook.Delivery) {
	*r = deliveryRecord{
		d.Webhook, d.EventID, d.Event, d.Inbox, d.Body, stampOf(d.At), d.URL, d.State, d.AttemptCount, d.AttemptsBefore, stampOf(d.NextAt),
		stampOf(d.LastAttempt.At), d.LastAttempt.Status, d.LastAttempt.Duration.Milliseconds(), d.LastAttempt.Error, d.LastAttempt.BodyExcerpt, stampOf(d.RestartedAt), nil, d.MessageID,
	}
	for _, t := range d.PastAttempts {
		r.PastAttempts = append(r.PastAttempts, tryRecord{
			stampOf(t.At), t.Status, t.Duration.Milliseconds(), t.Error, t.BodyExcerpt, t.URL, t.State, stampOf(t.NextAt),
		})
	}
}

func (r *deliveryRecord) toDelivery(id account.ID, n int64) webhook.Delivery {
	d := webhook.Delivery{
		Account: id, ID: n, Webhook: r.Webhook, EventID: r.EventID, Event: r.EventName, Inbox: r.InboxAddress, Body: r.Body, MessageID: r.MessageID, At: r.At.toTime(),
		URL: r.URL, State: r.State, AttemptCount: r.AttemptCount, AttemptsBefore: r.BaseAttempts, NextAt: r.NextAt.toTime(),
		RestartedAt: r.BeganAt.toTime(), LastAttempt: callOf(r.LastAt, r.HTTPStatus, r.TookMillis, r.LastError, r.BodyExcerpt),
	}
	for _, t := range r.PastAttempts {
		d.PastAttempts = append(d.PastAttempts, webhook.StoredAttempt{DeliveryAttempt: callOf(t.At, t.HTTPStatus, t.TookMillis, t.LastError, t.BodyExcerpt), URL: t.URL, State: t.State, NextAt: t.NextAt.toTime()})
	}
	return d
}

func deliveryKey(dst []byte, id account.ID, n int64) []byte {
	return appendNumber(appendOwner(dst, kindDelivery, id), n)
}

// deliveryDueKey is the key of a due entry: [kind][group][time][partition][account][delivery id].
func deliveryDueKey(dst []byte, at time.Time, id account.ID, n int64) []byte {
	return appendNumber(append(appendDue(dst, kindDeliveryDue, at, id.HomePartition()), id[:]...), n)
}

func readDeliveryDue(key, value []byte) (webhook.DueEntry, error) {
	if err := checkVersion(value); err != nil || len(key) != dueHead+idLen+8 || len(value) != 1+8 {
		return webhook.DueEntry{}, fmt.Errorf("persist: damaged row %x: %v", key, err)
	}
	return webhook.DueEntry{
		At: dueTime(key), Account: account.ID(key[dueHead:]), ID: readNumber(key), Webhook: readNumber(value),
	}, nil
}

// putDelivery writes a delivery and, if it waits for an attempt, its due entry.
func (w *batchWriter) putDelivery(d *webhook.Delivery) {
	w.putDeliveryRow(d)
	w.putDeliveryDue(d.DueEntry())
}

func (w *batchWriter) putDeliveryRow(d *webhook.Delivery) {
	var rec deliveryRecord
	rec.copyFrom(d)
	w.keyBuf = deliveryKey(w.keyBuf[:0], d.Account, d.ID)
	w.putRecord(w.keyBuf, &rec)
}

func (w *batchWriter) putDeliveryDue(d webhook.DueEntry) {
	if d.At.IsZero() {
		return
	}
	w.keyBuf = deliveryDueKey(w.keyBuf[:0], d.At, d.Account, d.ID)
	w.setKey(w.keyBuf, keyedValue(nil, d.Webhook))
}

// CommitDeliveries writes changes of one account's deliveries as one atomic batch and returns once
// it is durable.
func (t *deliveryTable) CommitDeliveries(id account.ID, changes []webhook.DeliveryChange) error {
	return t.commitUpdate(id.HomePartition(), 0, func(w *batchWriter) {
		for i := range changes {
			w.changeDelivery(id, &changes[i])
		}
	})
}

func (w *batchWriter) changeDelivery(id account.ID, c *webhook.DeliveryChange) {
	if c.RowOnly {
		w.putDeliveryRow(c.Delivery)
		return
	}
	if !c.DueBefore.IsZero() {
		w.deleteKey(deliveryDueKey(nil, c.DueBefore, id, c.ID))
	}
	if c.Delivery == nil {
		w.putDeliveryDue(webhook.DueEntry{At: c.To, Account: id, ID: c.ID, Webhook: c.Webhook})
		return
	}
	w.putDelivery(c.Delivery)
	if c.IsAttempt {
		last := c.Delivery.LastAttempt
		w.putRecord(lastCallKey(id, c.Delivery.Webhook), &lastCallRecord{stampOf(last.At), last.Status})
	}
}

// DueDeliveries returns up to limit due entries in time order, and whether more follow. They start
// after the entry after, of which it uses time, account and id. If after has no account, they start
// at its time.
func (t *deliveryTable) DueDeliveries(after webhook.DueEntry, limit int) (due []webhook.DueEntry, more bool, err error) {
	from := dueFrom(after.At)
	if after.Account != (account.ID{}) {
		from = dueBehind(deliveryDueKey(nil, after.At, after.Account, after.ID))
	}
	return listDue(t.storageEngine, kindDeliveryDue, from, limit, readDeliveryDue)
}

// FindDelivery reads one delivery; nil if it does not exist.
func (t *deliveryTable) FindDelivery(id account.ID, n int64) (*webhook.Delivery, error) {
	var r deliveryRecord
	found, err := t.getRecord(deliveryKey(nil, id, n), &r)
	if err != nil || !found {
		return nil, err
	}
	d := r.toDelivery(id, n)
	return &d, nil
}

// scanNewest calls row for an account's deliveries with ids from from to below to, newest first.
func (t *deliveryTable) scanNewest(id account.ID, from, to int64, row func(n int64, value []byte) error) error {
	keys := keyRange{deliveryKey(nil, id, from), deliveryKey(nil, id, to)}
	err := t.scanBack(keys, func(key, value []byte) error { return row(readNumber(key), value) })
	if err != nil {
		err = fmt.Errorf("persist: deliveries of account %s: %w", id, err)
	}
	return err
}

// ListDeliveries returns up to limit deliveries with ids below before (0: all), newest first, to one
// webhook unless hook is 0. One call examines at most pageScan deliveries.
func (t *deliveryTable) ListDeliveries(id account.ID, hook, before int64, limit int) (out []webhook.Delivery, err error) {
	if before <= 0 {
		before = math.MaxInt64
	}
	looked := 0
	err = t.scanNewest(id, 0, before, func(n int64, value []byte) error {
		if len(out) == limit || looked == pageScan {
			return errStop
		}
		looked++
		var r deliveryRecord
		err := decodeRecord(value, &r)
		if err == nil && (hook == 0 || r.Webhook == hook) {
			out = append(out, r.toDelivery(id, n))
		}
		return err
	})
	return out, err
}

// LastDelivery returns the highest id of an account's deliveries, 0 if it never had one. In a
// restored folder it is at least the number above which new ids are assigned.
func (t *deliveryTable) LastDelivery(id account.ID) (last int64, err error) {
	last, err = t.lastDelivery(id)
	return max(last, t.folder.MinimumID()), err
}

func (t *deliveryTable) lastDelivery(id account.ID) (last int64, err error) {
	err = t.scanNewest(id, 0, math.MaxInt64, func(n int64, _ []byte) error {
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
	err = t.scanNewest(id, after+1, upper, func(n int64, value []byte) error {
		if len(gone) == limit || looked == keep+pageScan {
			return errStop
		}
		looked++
		var r deliveryHead
		err := decodeRecord(value, &r)
		if err == nil && r.State != webhook.StateRetrying && (n <= beyond || r.At.toTime().Before(before)) {
			gone = append(gone, n)
		}
		return err
	})
	if err != nil || len(gone) == 0 {
		return 0, err
	}
	return len(gone), t.updateLater(id.HomePartition(), func(w *batchWriter) {
		for _, n := range gone {
			w.deleteKey(deliveryKey(nil, id, n))
		}
	})
}

// DeliveryAccounts returns up to limit accounts that have deliveries, after the id after, in the
// order of their partitions. The zero id starts.
func (t *deliveryTable) DeliveryAccounts(after account.ID, limit int) ([]account.ID, error) {
	return t.listOwners(kindDelivery, after, limit)
}

func (c *folderChecker) checkDelivery(id account.ID, n int64, value []byte) error {
	var r deliveryRecord
	if err := decodeRecord(value, &r); err != nil {
		return err
	}
	d := r.toDelivery(id, n)
	if due := d.DueEntry(); !due.At.IsZero() {
		c.noteWaiting(fmt.Sprintf("delivery %d of account %s is waiting but is missing from the due index", n, id), deliveryDueKey(nil, due.At, id, n))
	}
	return nil
}
