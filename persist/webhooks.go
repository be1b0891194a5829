package persist

import (
	"encoding/binary"
	"fmt"

	"inboxd/internal/account"
	"inboxd/internal/webhook"
)

// A webhook's row is among the rows of its account; its secrets are sealed. What its last
// attempt gave has a row of its own, which deliveries write.

type webhookRecord struct {
	URL           string `cbor:"1,keyasint,omitempty"`
	Event         string `cbor:"2,keyasint,omitempty"`
	Inbox         string `cbor:"3,keyasint,omitempty"`
	Secret        []byte `cbor:"4,keyasint,omitempty"` // sealed
	CreatedAt     stamp  `cbor:"5,keyasint,omitempty"`
	Previous      []byte `cbor:"6,keyasint,omitempty"` // sealed
	PreviousUntil stamp  `cbor:"7,keyasint,omitempty"`
}

type lastRecord struct {
	At     stamp `cbor:"1,keyasint,omitempty"`
	Status int   `cbor:"2,keyasint,omitempty"`
}

func webhookKey(id account.ID, hook int64) []byte {
	return binary.BigEndian.AppendUint64(appendPart(nil, id, partWebhook), uint64(hook))
}

func lastKey(id account.ID, hook int64) []byte {
	return binary.BigEndian.AppendUint64(appendOwner(nil, kindWebhook, id), uint64(hook))
}

// webhookPurpose binds a sealed secret to its row: it is of no use in another.
func webhookPurpose(id account.ID, hook int64) string { return fmt.Sprintf("webhook %s %d", id, hook) }

// sealedWebhook is a row on its way to the disk.
type sealedWebhook struct {
	id     int64
	record webhookRecord
}

// sealWebhooks is called outside of enter, which Seal does itself.
func (s *Store) sealWebhooks(r *account.Rows) (out []sealedWebhook, err error) {
	for _, w := range r.PutWebhooks {
		rec := webhookRecord{URL: w.URL, Event: w.Event, Inbox: w.Inbox, CreatedAt: stampOf(w.CreatedAt), PreviousUntil: stampOf(w.PreviousUntil)}
		if rec.Secret, err = s.sealText(r.ID, w.ID, w.Secret); err == nil {
			rec.Previous, err = s.sealText(r.ID, w.ID, w.Previous)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, sealedWebhook{w.ID, rec})
	}
	return out, nil
}

func (s *Store) sealText(id account.ID, hook int64, text string) ([]byte, error) {
	if text == "" {
		return nil, nil
	}
	return s.Seal(webhookPurpose(id, hook), []byte(text))
}

func (s *Store) unsealText(id account.ID, hook int64, sealed []byte) (string, error) {
	if len(sealed) == 0 {
		return "", nil
	}
	text, err := s.Unseal(webhookPurpose(id, hook), sealed)
	return string(text), err
}

// webhooks writes an account's changes of webhooks. A new one gets the row of its last
// attempt at once: that row also tells that something is sealed in this folder.
func (w *writer) webhooks(r *account.Rows, sealed []sealedWebhook) {
	for i := range sealed {
		w.put(webhookKey(r.ID, sealed[i].id), &sealed[i].record)
	}
	for _, hook := range r.NewWebhooks {
		w.put(lastKey(r.ID, hook), &lastRecord{})
	}
	for _, hook := range r.DropWebhooks {
		w.delete(webhookKey(r.ID, hook))
		w.delete(lastKey(r.ID, hook))
	}
}

// Webhooks reads an account's webhooks, oldest first.
func (s *Store) Webhooks(id account.ID) ([]account.Webhook, error) {
	sealed, err := s.sealedWebhooks(id)
	if err != nil {
		return nil, fmt.Errorf("persist: webhooks of account %s: %w", id, err)
	}
	var out []account.Webhook
	for _, row := range sealed {
		hook, err := s.unsealWebhook(id, row)
		if err != nil {
			return nil, err
		}
		out = append(out, hook)
	}
	return out, nil
}

func (s *Store) sealedWebhooks(id account.ID) (out []sealedWebhook, err error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	prefix := appendPart(nil, id, partWebhook)
	err = scan(s.db, prefix, end(prefix), func(key, value []byte) error {
		var row sealedWebhook
		if len(key) != len(prefix)+8 {
			return fmt.Errorf("unknown row %x", key)
		}
		row.id = int64(binary.BigEndian.Uint64(key[len(prefix):]))
		err := decode(value, &row.record)
		out = append(out, row)
		return err
	})
	return out, err
}

func (s *Store) unsealWebhook(id account.ID, row sealedWebhook) (account.Webhook, error) {
	r := &row.record
	w := account.Webhook{ID: row.id, URL: r.URL, Event: r.Event, Inbox: r.Inbox, CreatedAt: r.CreatedAt.time(), PreviousUntil: r.PreviousUntil.time()}
	var err error
	if w.Secret, err = s.unsealText(id, row.id, r.Secret); err == nil {
		w.Previous, err = s.unsealText(id, row.id, r.Previous)
	}
	return w, err
}

// LastAttempts tells when each of an account's webhooks was last tried, and the status of
// the answer. Nothing else of an Attempt is known here.
func (s *Store) LastAttempts(id account.ID) (map[int64]webhook.Attempt, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	out := map[int64]webhook.Attempt{}
	prefix := appendOwner(nil, kindWebhook, id)
	err := scan(s.db, prefix, end(prefix), func(key, value []byte) error {
		var r lastRecord
		err := decode(value, &r)
		out[int64(binary.BigEndian.Uint64(key[len(prefix):]))] = webhook.Attempt{At: r.At.time(), Answer: webhook.Answer{Status: r.Status}}
		return err
	})
	return out, err
}
