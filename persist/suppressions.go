package persist

import (
	"fmt"

	"inboxd/internal/account"
)

// suppressionTable keeps where accounts send no mail, for it came back from there.
type suppressionTable struct{ *engine }

// The integer keys of this record are on disk: append only; never reorder or reuse.
type suppressionRecord struct {
	Inbox   string `cbor:"1,keyasint,omitempty"`
	Message int64  `cbor:"2,keyasint,omitempty"`
	Reason  string `cbor:"3,keyasint,omitempty"`
	At      stamp  `cbor:"4,keyasint,omitempty"`
}

func (r *suppressionRecord) suppression(email string) account.Suppression {
	return account.Suppression{Email: email, Inbox: r.Inbox, Message: r.Message, Reason: r.Reason, At: r.At.time()}
}

func suppressionKey(id account.ID, email string) []byte {
	return append(appendOwner(nil, kindSuppression, id), email...)
}

// PutSuppression notes that the account sends no mail to an address, and returns once that
// is on disk.
func (t *suppressionTable) PutSuppression(id account.ID, sup account.Suppression) error {
	return t.update(id.Partition(), 0, func(w *writer) {
		w.put(suppressionKey(id, sup.Email), &suppressionRecord{sup.Inbox, sup.Message, sup.Reason, stampOf(sup.At)})
	})
}

// DropSuppression allows mail to an address again; false when it was allowed.
func (t *suppressionTable) DropSuppression(id account.ID, email string) (bool, error) {
	if found, err := t.has(suppressionKey(id, email)); err != nil || !found {
		return false, err
	}
	return true, t.update(id.Partition(), 0, func(w *writer) { w.delete(suppressionKey(id, email)) })
}

// Suppression looks one address up.
func (t *suppressionTable) Suppression(id account.ID, email string) (account.Suppression, bool, error) {
	var r suppressionRecord
	found, err := t.get(suppressionKey(id, email), &r)
	if err != nil {
		return account.Suppression{}, false, fmt.Errorf("persist: suppression of account %s: %w", id, err)
	}
	return r.suppression(email), found, nil
}

// Suppressions returns up to limit of the account's suppressed addresses behind after, in
// the order of their bytes.
func (t *suppressionTable) Suppressions(id account.ID, after string, limit int) ([]account.Suppression, error) {
	prefix := appendOwner(nil, kindSuppression, id)
	keys := under(prefix)
	if after != "" {
		keys = keys.behind(suppressionKey(id, after))
	}
	return list(t.engine, keys, limit, func(key, value []byte) (account.Suppression, error) {
		var r suppressionRecord
		err := decode(value, &r)
		return r.suppression(string(key[len(prefix):])), err
	})
}
