package mailqueue

import (
	"inboxd/internal/base/fault"
	"inboxd/internal/core/inbox"
)

// Messages that an encrypted inbox sends are queued under the folder's key. So are their signature
// fields, because the digests in them would confirm a guess of the message. Both are decrypted in
// memory for each attempt, and the commit that makes the status final deletes them.

// outgoing returns a message as it was composed; nil if it is gone.
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

// frozen returns the signature fields that the first attempt made.
func (q *Queue) frozen(t *task) ([]byte, error) {
	fields, err := q.Store.Signature(t.key.address, t.key.id)
	if err != nil || fields == nil || t.message.Sealed == nil {
		return fields, err
	}
	return q.open(t, fields)
}

// freeze encrypts the order's fields if necessary, and returns them as they are sent.
func (q *Queue) freeze(t *task, order *inbox.Attempt) (fields []byte, err error) {
	if fields = order.Fields; t.message.Sealed != nil {
		order.Fields, err = q.Store.Encrypt(inbox.QueuePurpose(t.key.address), fields)
	}
	return fields, err
}

// open decrypts a queued value. If the folder's key does not fit, the value is lost.
func (q *Queue) open(t *task, encrypted []byte) ([]byte, error) {
	plain, err := q.Store.Decrypt(inbox.QueuePurpose(t.key.address), encrypted)
	if fault.Is(err, fault.Internal) {
		err = inbox.DamagedMessage(t.key.id, t.key.address, err)
	}
	return plain, err
}
