package persist

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"inboxd/internal/base/partition"
	"inboxd/internal/core/account"
	"inboxd/internal/core/inbox"
)

// queueTable stores the due indexes of inboxes: expired messages to remove, and messages to send.
type queueTable struct{ *storageEngine }

// duePlace is where a scan of a due index starts: the part of the keys after their group. Groups
// are the upper bits of partitions, so it orders the entries of all groups by time, partition and
// entity.
type duePlace []byte

// dueFrom is the place of the first entry at a time or later; for the zero time, of the very first
// entry.
func dueFrom(at time.Time) duePlace {
	if at.IsZero() {
		return nil
	}
	return appendTime(nil, at)
}

// dueBehind is the place after the entry of a key.
func dueBehind(key []byte) duePlace { return append(key[groupLen:len(key):len(key)], 0) }

// scanDue calls row for the entries of a due index from a place on, in time order over all groups
// that this node owns.
func (e *storageEngine) scanDue(k rowKind, from duePlace, row func(key, value []byte) error) error {
	return e.runCall(func() (err error) {
		var all scanIterators
		defer func() { err = errors.Join(err, all.closeAll()) }()
		heads, err := all.openHeads(e, k, from)
		if err != nil {
			return err
		}
		return mergeDue(heads, e.inPlace(row))
	})
}

// scanPast calls row for rows in key order and skips damaged ones. head is the number of octets
// that the keys of the scan have in common; the scan continues by the octets after them.
func (e *storageEngine) scanPast(keys keyRange, head int, row func(key, value []byte) error) error {
	return e.runCall(func() (err error) {
		var all scanIterators
		defer func() { err = errors.Join(err, all.closeAll()) }()
		row, err := e.ownedRows(keys, row)
		if err != nil {
			return err
		}
		it, err := all.openIterator(e, keys, head)
		if err != nil || !it.First() {
			return err
		}
		return mergeDue([]*pastIterator{it}, row)
	})
}

// partitionOfDue returns the partition of the entity that a due entry belongs to. rest is the part
// of its key after the partition.
func partitionOfDue(k rowKind, rest []byte) (partition.ID, bool) {
	if k == kindDeliveryDue {
		if len(rest) != idLen+8 {
			return 0, false
		}
		return account.ID(rest[:idLen]).HomePartition(), true
	}
	n := len(rest) - 1 // of the address
	if k == kindMailDue {
		n = len(rest) - mailDueTail
	}
	if n < 1 || rest[n] != 0 {
		return 0, false
	}
	return partition.Of(string(rest[:n])), true
}

// inPlace skips entries that lie outside their entity's partition. The entity's owner neither
// writes nor removes such entries, so nobody could settle them. The entity's own entry counts.
func (e *storageEngine) inPlace(row func(key, value []byte) error) func(key, value []byte) error {
	return func(key, value []byte) error {
		if len(key) > dueHead {
			p, ok := partitionOfDue(rowKind(key[0]), key[dueHead:])
			if ok && key[1] == byte(p.Group()) && binary.BigEndian.Uint16(key[groupLen+8:]) == uint16(p) {
				return row(key, value)
			}
		}
		e.folder.Log.LogThrottled(slog.LevelWarn, "storage: misplaced entry of a due index skipped", "key", hex.EncodeToString(key))
		return nil
	}
}

// scanIterators are the iterators of one scan. Its goroutine owns them.
type scanIterators []*pastIterator

// openHeads opens the groups that have entries from a place on, each at its first entry. One iterator
// over all groups finds them: usually nothing is due, and a look at 64 groups costs ten times as
// much.
func (i *scanIterators) openHeads(e *storageEngine, k rowKind, from duePlace) (heads []*pastIterator, err error) {
	probe, err := i.openIterator(e, ofKind(k), groupLen)
	if err != nil {
		return nil, err
	}
	for n, g := range e.owner.OwnedGroups() {
		group := ofGroup(k, g)
		group.from = append(group.from, from...)
		if n == 0 || !probe.Valid() || bytes.Compare(probe.Key(), group.from) < 0 {
			probe.SeekGE(group.from)
		}
		if lost := isDamage(probe.Error()); !lost && !probe.Valid() {
			break // close returns the reason, if the iterator failed
		} else if !lost && bytes.Compare(probe.Key(), group.to) >= 0 {
			continue
		}
		it, err := i.openIterator(e, group, groupLen)
		if err != nil {
			return nil, err
		}
		if it.First() {
			heads = append(heads, it)
		}
	}
	return heads, nil
}

func (i *scanIterators) openIterator(e *storageEngine, bounds keyRange, head int) (*pastIterator, error) {
	it, err := e.db.NewIter(&pebble.IterOptions{LowerBound: bounds.from, UpperBound: bounds.to})
	if err != nil {
		return nil, err
	}
	past := &pastIterator{Iterator: it, log: e.folder.Log, startKey: bounds.from, commonPrefix: head}
	*i = append(*i, past)
	return past, nil
}

// closeAll returns what ended an iteration. Damage was already reported and does not count.
func (i scanIterators) closeAll() (err error) {
	for _, it := range i {
		if e := it.Close(); !isDamage(e) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// mergeDue calls row for the entries of all groups in order. Each head is at its group's first
// entry.
func mergeDue(heads []*pastIterator, row func(key, value []byte) error) error {
	order := func(a, b *pastIterator) int { return bytes.Compare(a.Key()[groupLen:], b.Key()[groupLen:]) }
	slices.SortFunc(heads, order)
	for len(heads) > 0 {
		it, others := heads[0], heads[1:]
		value, err := it.ValueAndErr()
		if isDamage(err) {
			it.reportDamage(err)
		} else if err == nil {
			err = row(it.Key(), value)
			if errors.Is(err, errStop) {
				return nil
			}
			if err != nil {
				return err
			}
		}
		if !it.Next() {
			heads = others
			continue
		}
		i, _ := slices.BinarySearchFunc(others, it, order)
		copy(heads, others[:i])
		heads[i] = it
	}
	return nil
}

// listDue reads up to limit entries, and returns whether more follow.
func listDue[T any](e *storageEngine, k rowKind, from duePlace, limit int, item func(key, value []byte) (T, error)) (out []T, more bool, err error) {
	err = e.scanDue(k, from, func(key, value []byte) error {
		if more = len(out) == limit; more {
			return errStop
		}
		one, err := item(key, value)
		out = append(out, one)
		return err
	})
	return out, more, err
}

// inboxDueKey is the key of a retention entry: [kind][group][time][partition][address 0x00].
func inboxDueKey(at time.Time, addr string) []byte {
	return append(append(appendDue(nil, kindDue, at, partition.Of(addr)), addr...), 0)
}

// moveDue writes the due entry of an inbox at its new time, and removes the old entry and stray
// ones.
func (w *batchWriter) moveDue(r *inbox.Rows) {
	if r.DueFrom.Equal(r.DueTo) && len(r.DueStray) == 0 {
		return
	}
	for _, at := range r.DueStray {
		w.deleteKey(inboxDueKey(at, r.Address))
	}
	if !r.DueFrom.IsZero() {
		w.deleteKey(inboxDueKey(r.DueFrom, r.Address))
	}
	if !r.DueTo.IsZero() {
		w.markKey(inboxDueKey(r.DueTo, r.Address))
	}
}

// DueInboxes returns up to limit inboxes that are due at until or earlier, in time order. It also
// returns when the next one is due, zero if none is.
func (t *queueTable) DueInboxes(until time.Time, limit int) (due []inbox.RetentionEntry, next time.Time, err error) {
	err = t.scanDue(kindDue, nil, func(key, _ []byte) error {
		at := dueTime(key)
		if len(due) == limit || at.After(until) {
			next = at
			return errStop
		}
		due = append(due, inbox.RetentionEntry{At: at, Address: string(key[dueHead : len(key)-1])})
		return nil
	})
	return due, next, err
}

// mailDueKey is the key of a mail queue entry: [kind][group][time][partition][address 0x00][id].
func mailDueKey(at time.Time, addr string, id int64) []byte {
	return appendNumber(append(append(appendDue(nil, kindMailDue, at, partition.Of(addr)), addr...), 0), id)
}

// mailDueTail is the length of the part after the address in such a key.
const mailDueTail = 1 + 8

// The integer keys of this record are on disk: append only; never reorder or reuse.
type mailDueRecord struct {
	Domains    []string   `cbor:"1,keyasint,omitempty"`
	IsLeased   bool       `cbor:"2,keyasint,omitempty"`
	AcceptedAt unixMillis `cbor:"3,keyasint,omitempty"`
}

func readMailDue(key, value []byte) (q inbox.QueueEntry, err error) {
	var r mailDueRecord
	if err := decodeRecord(value, &r); err != nil {
		return q, fmt.Errorf("persist: queue entry %x: %w", key, err)
	}
	return inbox.QueueEntry{
		At: dueTime(key), Address: string(key[dueHead : len(key)-mailDueTail]), ID: readNumber(key),
		WaitingDomains: r.Domains, AttemptLeased: r.IsLeased, AcceptedAt: r.AcceptedAt.toTime(),
	}, nil
}

// moveQueued writes the changes of the mail queue in their order: one message may move more than
// once in a batch.
func (w *batchWriter) moveQueued(r *inbox.Rows) {
	for _, q := range r.QueueMoves {
		if !q.From.IsZero() {
			w.deleteKey(mailDueKey(q.From, r.Address, q.ID))
		}
		if !q.To.IsZero() {
			w.putRecord(mailDueKey(q.To, r.Address, q.ID), &mailDueRecord{q.WaitingDomains, q.AttemptLeased, stampOf(q.AcceptedAt)})
		}
	}
}

// MailQueue returns up to limit entries of the mail queue in time order, and whether more follow.
// They start after the entry after, of which it uses time, address and id. If after has no address,
// they start at its time.
func (t *queueTable) MailQueue(after inbox.QueueEntry, limit int) (queue []inbox.QueueEntry, more bool, err error) {
	from := dueFrom(after.At)
	if after.Address != "" {
		from = dueBehind(mailDueKey(after.At, after.Address, after.ID))
	}
	return listDue(t.storageEngine, kindMailDue, from, limit, readMailDue)
}

// QueuedAt reads the queue entry of a message at a time, if it exists.
func (t *queueTable) QueuedAt(addr string, id int64, at time.Time) (q inbox.QueueEntry, found bool, err error) {
	key := mailDueKey(at, addr, id)
	found, err = t.readRow(key, func(value []byte) error {
		q, err = readMailDue(key, value)
		return err
	})
	return q, found, err
}

// EachQueued calls entry for the whole mail queue of this node, group by group.
func (t *queueTable) EachQueued(entry func(inbox.QueueEntry)) error {
	for _, g := range t.owner.OwnedGroups() {
		if err := t.QueuedIn(g, entry); err != nil {
			return err
		}
	}
	return nil
}

// QueuedIn calls entry for each mail queue entry of a group of this node.
func (t *queueTable) QueuedIn(g partition.Group, entry func(inbox.QueueEntry)) error {
	return t.scanPast(ofGroup(kindMailDue, g), groupLen, t.inPlace(func(key, value []byte) error {
		q, err := readMailDue(key, value)
		if err == nil {
			entry(q)
		}
		return err
	}))
}

// LeftQueued returns the addresses of an account's deleted inboxes that still have queued messages.
// It reads the whole queue, when an account is erased.
func (t *queueTable) LeftQueued(id account.ID) (left []string, err error) {
	queued := map[string]bool{}
	err = t.EachQueued(func(q inbox.QueueEntry) { queued[q.Address] = true })
	for addr := range queued {
		var r profileRecord
		found, err := t.getRecord(appendText(nil, kindInbox, addr), &r)
		if found && err == nil && r.AccountID == id && !r.DeletedAt.toTime().IsZero() { // the account of a damaged inbox is unknown
			left = append(left, addr)
		}
	}
	return left, err
}

// signatureKey is the key of the fields that are sent before the raw bytes of an outgoing message.
func signatureKey(addr string, id int64) []byte {
	return append(appendMessage(nil, kindRaw, addr, id), rawSignature)
}

// rawSignature ends such a key. On disk: append only.
const rawSignature byte = 1

// writeSignatures writes the signature fields of outgoing messages, and removes them with the messages.
func (w *batchWriter) writeSignatures(r *inbox.Rows) {
	for _, f := range r.SignatureFields {
		w.setRaw(signatureKey(r.Address, f.ID), f.Bytes)
	}
	for _, m := range r.DropMessages {
		if m.Direction != inbox.In { // unknown for a damaged message
			w.deleteKey(signatureKey(r.Address, m.ID))
		}
	}
}

// FrozenSignature returns the signature fields of an outgoing message, nil if it has none.
func (t *queueTable) FrozenSignature(addr string, id int64) (fields []byte, err error) {
	_, err = t.readRow(signatureKey(addr, id), func(value []byte) (err error) {
		fields, err = readRaw(value)
		return err
	})
	if err != nil {
		return nil, t.damagedError(addr, id, err)
	}
	return fields, nil
}
