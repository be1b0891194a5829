package persist

import (
	"encoding/binary"
	"fmt"
	"time"

	"inboxd/internal/inbox"
	"inboxd/internal/partition"
)

// appendMailDue names an entry of the mail queue: [kind][time][partition][address 0x00][id],
// time first as appendDue.
func appendMailDue(dst []byte, at time.Time, addr string, id int64) []byte {
	dst = appendTime(append(dst, byte(kindMailDue)), at)
	p := partition.Of(addr)
	dst = append(append(append(dst, byte(p>>8), byte(p)), addr...), 0)
	return binary.BigEndian.AppendUint64(dst, uint64(id))
}

// mailDueHead is what stands before the address in such a key, mailDueTail what follows it.
const (
	mailDueHead = 1 + 8 + 2
	mailDueTail = 1 + 8
)

func readMailDue(key []byte) (q inbox.QueueEntry, err error) {
	if len(key) < mailDueHead+mailDueTail {
		return q, fmt.Errorf("persist: damaged key %x", key)
	}
	q.At = readTime(key[1:])
	q.Address = string(key[mailDueHead : len(key)-mailDueTail])
	q.ID = int64(binary.BigEndian.Uint64(key[len(key)-8:]))
	return q, nil
}

// The integer keys of this record are on disk: append only; never reorder or reuse.
type mailDueRecord struct {
	Domains []string `cbor:"1,keyasint,omitempty"`
	Leased  bool     `cbor:"2,keyasint,omitempty"`
	Since   stamp    `cbor:"3,keyasint,omitempty"`
}

// moveQueued writes the moves of the mail queue in their order: one message may move more
// than once in a batch.
func (w *writer) moveQueued(r *inbox.Rows) {
	for _, q := range r.Queue {
		if !q.From.IsZero() {
			w.delete(appendMailDue(nil, q.From, r.Address, q.ID))
		}
		if !q.To.IsZero() {
			w.put(appendMailDue(nil, q.To, r.Address, q.ID), &mailDueRecord{q.Domains, q.Leased, stampOf(q.Since)})
		}
	}
}

// MailQueue returns up to limit entries of the mail queue in time order, and whether more
// follow. They begin behind the entry after, of which time, address and id count; one without
// address begins at its time.
func (s *Store) MailQueue(after inbox.QueueEntry, limit int) (queue []inbox.QueueEntry, more bool, err error) {
	if err := s.enter(); err != nil {
		return nil, false, err
	}
	defer s.leave()
	from := []byte{byte(kindMailDue)}
	switch {
	case after.Address != "":
		from = append(appendMailDue(nil, after.At, after.Address, after.ID), 0)
	case !after.At.IsZero():
		from = appendTime(from, after.At)
	}
	err = scan(s.db, from, []byte{byte(kindMailDue) + 1}, func(key, value []byte) error {
		if len(queue) == limit {
			more = true
			return errStop
		}
		q, err := readMailDue(key)
		if err != nil {
			return err
		}
		var r mailDueRecord
		if err := decode(value, &r); err != nil {
			return fmt.Errorf("persist: queue entry %d of %s: %w", q.ID, q.Address, err)
		}
		q.Domains, q.Leased, q.Since = r.Domains, r.Leased, r.Since.time()
		queue = append(queue, q)
		return nil
	})
	return queue, more, err
}

// signatureKey names the signature fields of an outgoing message, beside its bytes.
func signatureKey(addr string, id int64) []byte {
	return append(appendMessage(nil, kindRaw, addr, id), rawSignature)
}

// rawSignature ends the key of the fields that stand above the raw bytes. Stored: append only.
const rawSignature byte = 1

func (w *writer) putSignatures(r *inbox.Rows) {
	for _, f := range r.Sign {
		w.setSealed(signatureKey(r.Address, f.ID), f.Bytes)
	}
}

// dropSignatures removes what lies beside the bytes of outgoing messages.
func (w *writer) dropSignatures(r *inbox.Rows) {
	for _, m := range r.Drop {
		if m.Direction == inbox.Out {
			w.delete(signatureKey(r.Address, m.ID))
		}
	}
}

// Signature returns the signature fields of an outgoing message, nil when it has none.
func (s *Store) Signature(addr string, id int64) ([]byte, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	return s.sealed(signatureKey(addr, id), addr, id)
}
