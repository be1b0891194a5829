package mailqueue

import (
	"inboxd/internal/base/fault"
	"inboxd/internal/core/inbox"
)

// Messages that an encrypted inbox sends are queued under the folder's key. So are their signature
// fields, because the digests in them would confirm a guess of the message. Both are decrypted in
// memory for each attempt, and the commit that makes the status final deletes them.

// composedMessage returns a message as it was composed; nil if it is gone.
func (q *Queue) composedMessage(t *attemptTask) ([]byte, error) {
	if t.message.EncryptedState == nil {
		return q.Store.ReadRaw(t.messageKey.address, t.messageKey.id)
	}
	encrypted, err := q.Store.QueuedCopy(t.messageKey.address, t.messageKey.id)
	if err != nil || encrypted == nil {
		return nil, err
	}
	return q.decryptWaiting(t, encrypted)
}

// frozenSignature returns the signature fields that the first attempt made.
func (q *Queue) frozenSignature(t *attemptTask) ([]byte, error) {
	fields, err := q.Store.FrozenSignature(t.messageKey.address, t.messageKey.id)
	if err != nil || fields == nil || t.message.EncryptedState == nil {
		return fields, err
	}
	return q.decryptWaiting(t, fields)
}

// freezeSignature encrypts the order's fields if necessary, and returns them as they are sent.
func (q *Queue) freezeSignature(t *attemptTask, order *inbox.BeginAttempt) (fields []byte, err error) {
	if fields = order.SignatureFields; t.message.EncryptedState != nil {
		order.SignatureFields, err = q.Store.EncryptSecret(inbox.QueuePurpose(t.messageKey.address), fields)
	}
	return fields, err
}

// decryptWaiting decrypts a queued value. If the folder's key does not fit, the value is lost.
func (q *Queue) decryptWaiting(t *attemptTask, encrypted []byte) ([]byte, error) {
	plain, err := q.Store.Decrypt(inbox.QueuePurpose(t.messageKey.address), encrypted)
	if fault.Is(err, fault.Internal) {
		err = inbox.DamagedMessage(t.messageKey.id, t.messageKey.address, err)
	}
	return plain, err
}
