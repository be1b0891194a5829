package persist

import (
	"fmt"

	"inboxd/internal/core/account"
	"inboxd/internal/core/webhook"
)

// webhookTable stores webhooks. A webhook's row is among the rows of its account, with encrypted
// secrets. The result of its last attempt is in a separate row, which deliveries write.
type webhookTable struct {
	*storageEngine
	secretBox *secretBox
}

// The integer keys of these records are on disk: append only; never reorder or reuse.

type webhookRecord struct {
	URL             string     `cbor:"1,keyasint,omitempty"`
	EventName       string     `cbor:"2,keyasint,omitempty"`
	InboxAddress    string     `cbor:"3,keyasint,omitempty"`
	EncryptedSecret []byte     `cbor:"4,keyasint,omitempty"` // encrypted
	CreatedAt       unixMillis `cbor:"5,keyasint,omitempty"`
	PreviousSecret  []byte     `cbor:"6,keyasint,omitempty"` // encrypted
	PreviousUntil   unixMillis `cbor:"7,keyasint,omitempty"`
}

type lastCallRecord struct {
	At         unixMillis `cbor:"1,keyasint,omitempty"`
	HTTPStatus int        `cbor:"2,keyasint,omitempty"`
}

func webhookKey(id account.ID, hook int64) []byte {
	return appendNumber(appendPart(nil, id, partWebhook), hook)
}

func lastCallKey(id account.ID, hook int64) []byte {
	return appendNumber(appendOwner(nil, kindLastCall, id), hook)
}

// webhookPurpose binds an encrypted secret to its row: it cannot be decrypted in another row.
func webhookPurpose(id account.ID, hook int64) string { return fmt.Sprintf("webhook %s %d", id, hook) }

// webhookRow is a row with its secrets encrypted.
type webhookRow struct {
	id            int64
	webhookRecord webhookRecord
}

// encryptRows makes the rows of the webhooks that r puts.
func (t *webhookTable) encryptRows(r *account.Rows) (out []webhookRow, err error) {
	for _, w := range r.PutWebhooks {
		rec := webhookRecord{URL: w.URL, EventName: w.EventFilter, InboxAddress: w.InboxFilter, CreatedAt: stampOf(w.CreatedAt), PreviousUntil: stampOf(w.PreviousUntil)}
		if rec.EncryptedSecret, err = t.encryptText(r.ID, w.ID, w.Secret); err == nil {
			rec.PreviousSecret, err = t.encryptText(r.ID, w.ID, w.PreviousSecret)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, webhookRow{w.ID, rec})
	}
	return out, nil
}

func (t *webhookTable) encryptText(id account.ID, hook int64, text string) ([]byte, error) {
	if text == "" {
		return nil, nil
	}
	return t.secretBox.EncryptSecret(webhookPurpose(id, hook), []byte(text))
}

func (t *webhookTable) decryptText(id account.ID, hook int64, encrypted []byte) (string, error) {
	if len(encrypted) == 0 {
		return "", nil
	}
	text, err := t.secretBox.Decrypt(webhookPurpose(id, hook), encrypted)
	return string(text), err
}

func (t *webhookTable) decrypt(id account.ID, row webhookRow) (account.Webhook, error) {
	r := &row.webhookRecord
	w := account.Webhook{ID: row.id, URL: r.URL, EventFilter: r.EventName, InboxFilter: r.InboxAddress, CreatedAt: r.CreatedAt.toTime(), PreviousUntil: r.PreviousUntil.toTime()}
	var err error
	if w.Secret, err = t.decryptText(id, row.id, r.EncryptedSecret); err == nil {
		w.PreviousSecret, err = t.decryptText(id, row.id, r.PreviousSecret)
	}
	return w, err
}

// webhooks writes an account's changes of webhooks. A new webhook immediately gets the row of its
// last attempt: lostSecret uses that row to detect that this folder holds encrypted values.
func (w *batchWriter) webhooks(r *account.Rows, rows []webhookRow) {
	for i := range rows {
		w.putRecord(webhookKey(r.ID, rows[i].id), &rows[i].webhookRecord)
	}
	for _, hook := range r.NewWebhooks {
		w.putRecord(lastCallKey(r.ID, hook), &lastCallRecord{})
	}
	for _, hook := range r.DropWebhooks {
		w.deleteKey(webhookKey(r.ID, hook))
		w.deleteKey(lastCallKey(r.ID, hook))
	}
}

// Webhooks reads an account's webhooks, oldest first.
func (t *webhookTable) Webhooks(id account.ID) (out []account.Webhook, err error) {
	rows, err := t.readRows(id)
	if err != nil {
		return nil, fmt.Errorf("persist: webhooks of account %s: %w", id, err)
	}
	for _, row := range rows {
		hook, err := t.decrypt(id, row)
		if err != nil {
			return nil, err
		}
		out = append(out, hook)
	}
	return out, nil
}

func (t *webhookTable) readRows(id account.ID) ([]webhookRow, error) {
	keys := prefixRange(appendPart(nil, id, partWebhook))
	return listRows(t.storageEngine, keys, -1, func(key, value []byte) (row webhookRow, err error) {
		if len(key) != len(keys.from)+8 {
			return row, fmt.Errorf("unknown row %x", key)
		}
		row.id = readNumber(key)
		return row, decodeRecord(value, &row.webhookRecord)
	})
}

// LastCalls returns the time and the response status of the last attempt for each of an account's
// webhooks. The other fields of a Call are not stored.
func (t *webhookTable) LastCalls(id account.ID) (map[int64]webhook.DeliveryAttempt, error) {
	out := map[int64]webhook.DeliveryAttempt{}
	err := t.scanRows(prefixRange(appendOwner(nil, kindLastCall, id)), func(key, value []byte) error {
		var r lastCallRecord
		err := decodeRecord(value, &r)
		out[readNumber(key)] = webhook.DeliveryAttempt{At: r.At.toTime(), ReceiverResponse: webhook.ReceiverResponse{Status: r.HTTPStatus}}
		return err
	})
	return out, err
}
