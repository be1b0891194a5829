package persist

import (
	"fmt"
	"time"

	"inboxd/internal/inbox"
	"inboxd/internal/partition"
)

// queueTable is what inboxes have due: mail to be removed, and mail to be sent.
type queueTable struct{ *engine }

// inboxDueKey names an entry of retention: [kind][time][partition][address 0x00].
func inboxDueKey(at time.Time, addr string) []byte {
	return append(append(appendDue(nil, kindDue, at, partition.Of(addr)), addr...), 0)
}

// moveDue writes the due entry of an inbox at its new time and takes the old one away.
func (w *writer) moveDue(r *inbox.Rows) {
	if r.DueFrom.Equal(r.DueTo) {
		return
	}
	if !r.DueFrom.IsZero() {
		w.delete(inboxDueKey(r.DueFrom, r.Address))
	}
	if !r.DueTo.IsZero() {
		w.mark(inboxDueKey(r.DueTo, r.Address))
	}
}

// DueInboxes returns up to limit addresses of inboxes that want to be looked at not later than
// until, in time order, and when the first one behind those returned does, zero when there is
// none.
func (t *queueTable) DueInboxes(until time.Time, limit int) (due []string, next time.Time, err error) {
	err = t.scan(ofKind(kindDue), func(key, _ []byte) error {
		at := readTime(key[1:])
		if len(due) == limit || at.After(until) {
			next = at
			return errStop
		}
		due = append(due, string(key[dueHead:len(key)-1]))
		return nil
	})
	return due, next, err
}

// mailDueKey names an entry of the mail queue: [kind][time][partition][address 0x00][id].
func mailDueKey(at time.Time, addr string, id int64) []byte {
	return appendNumber(append(append(appendDue(nil, kindMailDue, at, partition.Of(addr)), addr...), 0), id)
}

// mailDueTail is the length of what follows the address in such a key.
const mailDueTail = 1 + 8

// The integer keys of this record are on disk: append only; never reorder or reuse.
type mailDueRecord struct {
	Domains []string `cbor:"1,keyasint,omitempty"`
	Leased  bool     `cbor:"2,keyasint,omitempty"`
	Since   stamp    `cbor:"3,keyasint,omitempty"`
}

func readMailDue(key, value []byte) (q inbox.QueueEntry, err error) {
	if len(key) < dueHead+mailDueTail {
		return q, fmt.Errorf("persist: damaged key %x", key)
	}
	var r mailDueRecord
	if err := decode(value, &r); err != nil {
		return q, fmt.Errorf("persist: queue entry %x: %w", key, err)
	}
	return inbox.QueueEntry{
		At: readTime(key[1:]), Address: string(key[dueHead : len(key)-mailDueTail]), ID: readNumber(key),
		Domains: r.Domains, Leased: r.Leased, Since: r.Since.time(),
	}, nil
}

// moveQueued writes the moves of the mail queue in their order: one message may move more
// than once in a batch.
func (w *writer) moveQueued(r *inbox.Rows) {
	for _, q := range r.Queue {
		if !q.From.IsZero() {
			w.delete(mailDueKey(q.From, r.Address, q.ID))
		}
		if !q.To.IsZero() {
			w.put(mailDueKey(q.To, r.Address, q.ID), &mailDueRecord{q.Domains, q.Leased, stampOf(q.Since)})
		}
	}
}

// MailQueue returns up to limit entries of the mail queue in time order, and whether more
// follow. They begin behind the entry after, of which time, address and id count; one without
// address begins at its time.
func (t *queueTable) MailQueue(after inbox.QueueEntry, limit int) (queue []inbox.QueueEntry, more bool, err error) {
	keys := dueFrom(kindMailDue, after.At)
	if after.Address != "" {
		keys = keys.behind(mailDueKey(after.At, after.Address, after.ID))
	}
	queue, err = list(t.engine, keys, limit+1, readMailDue)
	if more = len(queue) > limit; more {
		queue = queue[:limit]
	}
	return queue, more, err
}

// signatureKey names the fields that stand above the raw bytes of an outgoing message.
func signatureKey(addr string, id int64) []byte {
	return append(appendMessage(nil, kindRaw, addr, id), rawSignature)
}

// rawSignature ends such a key. Stored: append only.
const rawSignature byte = 1

// signatures writes what lies beside the bytes of outgoing messages, and removes it with them.
func (w *writer) signatures(r *inbox.Rows) {
	for _, f := range r.Sign {
		w.setRaw(signatureKey(r.Address, f.ID), f.Bytes)
	}
	for _, m := range r.Drop {
		if m.Direction == inbox.Out {
			w.delete(signatureKey(r.Address, m.ID))
		}
	}
}

// Signature returns the signature fields of an outgoing message, nil when it has none.
func (t *queueTable) Signature(addr string, id int64) (fields []byte, err error) {
	_, err = t.read(signatureKey(addr, id), func(value []byte) (err error) {
		fields, err = readRaw(value)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("persist: signature of message %d of %s: %w", id, addr, err)
	}
	return fields, nil
}
