package mailqueue

import (
	"inboxd/internal/base/fault"
	"inboxd/internal/core/inbox"
)

// What an encrypted inbox sends waits under the folder's key: the mail, and the signature fields, whose
// digests would let a guess of the mail be confirmed. Both are opened in memory for each attempt, and
// go with the commit that makes the status final.

// outgoing is a mail as it was composed; nil when it is gone.
func (q *Queue) outgoing(t *task) ([]byte, error) {
	if t.message.Sealed == nil {
		return q.Store.Raw(t.key.address, t.key.id)
	}
	encrypted, err := q.Store.QueuedCopy(t.key.address, t.key.id)
	if err != nil || encrypted == nil {
		return nil, err
	}
	return q.open(t, encrypted)
}

// frozen are the signature fields that the first attempt made.
func (q *Queue) frozen(t *task) ([]byte, error) {
	fields, err := q.Store.Signature(t.key.address, t.key.id)
	if err != nil || fields == nil || t.message.Sealed == nil {
		return fields, err
	}
	return q.open(t, fields)
}

// freeze has the order keep its fields as they may lie on the disk, and returns them as they go out.
func (q *Queue) freeze(t *task, order *inbox.Attempt) (fields []byte, err error) {
	if fields = order.Fields; t.message.Sealed != nil {
		order.Fields, err = q.Store.Encrypt(inbox.QueuePurpose(t.key.address), fields)
	}
	return fields, err
}

// open opens what waits under the folder's key. What that key does not fit will never be read.
func (q *Queue) open(t *task, encrypted []byte) ([]byte, error) {
	plain, err := q.Store.Decrypt(inbox.QueuePurpose(t.key.address), encrypted)
	if fault.Is(err, fault.Internal) {
		err = inbox.DamagedMessage(t.key.id, t.key.address, err)
	}
	return plain, err
}
