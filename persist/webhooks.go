package persist

import (
	"fmt"

	"inboxd/internal/core/account"
	"inboxd/internal/core/webhook"
)

// webhookTable stores webhooks. A webhook's row is among the rows of its account, with encrypted
// secrets. The result of its last attempt is in a separate row, which deliveries write.
type webhookTable struct {
	*engine
	secrets *secrets
}

// The integer keys of these records are on disk: append only; never reorder or reuse.

type webhookRecord struct {
	URL           string `cbor:"1,keyasint,omitempty"`
	Event         string `cbor:"2,keyasint,omitempty"`
	Inbox         string `cbor:"3,keyasint,omitempty"`
	Secret        []byte `cbor:"4,keyasint,omitempty"` // encrypted
	CreatedAt     stamp  `cbor:"5,keyasint,omitempty"`
	Previous      []byte `cbor:"6,keyasint,omitempty"` // encrypted
	PreviousUntil stamp  `cbor:"7,keyasint,omitempty"`
}

type lastCallRecord struct {
	At     stamp `cbor:"1,keyasint,omitempty"`
	Status int   `cbor:"2,keyasint,omitempty"`
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
	id     int64
	record webhookRecord
}

// encrypt makes the rows of the webhooks that r puts.
func (t *webhookTable) encrypt(r *account.Rows) (out []webhookRow, err error) {
	for _, w := range r.PutWebhooks {
		rec := webhookRecord{URL: w.URL, Event: w.Event, Inbox: w.Inbox, CreatedAt: stampOf(w.CreatedAt), PreviousUntil: stampOf(w.PreviousUntil)}
		if rec.Secret, err = t.encryptText(r.ID, w.ID, w.Secret); err == nil {
			rec.Previous, err = t.encryptText(r.ID, w.ID, w.Previous)
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
	return t.secrets.Encrypt(webhookPurpose(id, hook), []byte(text))
}

func (t *webhookTable) decryptText(id account.ID, hook int64, encrypted []byte) (string, error) {
	if len(encrypted) == 0 {
		return "", nil
	}
	text, err := t.secrets.Decrypt(webhookPurpose(id, hook), encrypted)
	return string(text), err
}

func (t *webhookTable) decrypt(id account.ID, row webhookRow) (account.Webhook, error) {
	r := &row.record
	w := account.Webhook{ID: row.id, URL: r.URL, Event: r.Event, Inbox: r.Inbox, CreatedAt: r.CreatedAt.time(), PreviousUntil: r.PreviousUntil.time()}
	var err error
	if w.Secret, err = t.decryptText(id, row.id, r.Secret); err == nil {
		w.Previous, err = t.decryptText(id, row.id, r.Previous)
	}
	return w, err
}

// webhooks writes an account's changes of webhooks. A new webhook immediately gets the row of its
// last attempt: lostSecret uses that row to detect that this folder holds encrypted values.
func (w *writer) webhooks(r *account.Rows, rows []webhookRow) {
	for i := range rows {
		w.put(webhookKey(r.ID, rows[i].id), &rows[i].record)
	}
	for _, hook := range r.NewWebhooks {
		w.put(lastCallKey(r.ID, hook), &lastCallRecord{})
	}
	for _, hook := range r.DropWebhooks {
		w.delete(webhookKey(r.ID, hook))
		w.delete(lastCallKey(r.ID, hook))
	}
}

// Webhooks reads an account's webhooks, oldest first.
func (t *webhookTable) Webhooks(id account.ID) (out []account.Webhook, err error) {
	rows, err := t.rows(id)
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

func (t *webhookTable) rows(id account.ID) ([]webhookRow, error) {
	keys := under(appendPart(nil, id, partWebhook))
	return list(t.engine, keys, -1, func(key, value []byte) (row webhookRow, err error) {
		if len(key) != len(keys.from)+8 {
			return row, fmt.Errorf("unknown row %x", key)
		}
		row.id = readNumber(key)
		return row, decode(value, &row.record)
	})
}

// LastCalls returns the time and the response status of the last attempt for each of an account's
// webhooks. The other fields of a Call are not stored.
func (t *webhookTable) LastCalls(id account.ID) (map[int64]webhook.Call, error) {
	out := map[int64]webhook.Call{}
	err := t.scan(under(appendOwner(nil, kindLastCall, id)), func(key, value []byte) error {
		var r lastCallRecord
		err := decode(value, &r)
		out[readNumber(key)] = webhook.Call{At: r.At.time(), Answer: webhook.Answer{Status: r.Status}}
		return err
	})
	return out, err
}
