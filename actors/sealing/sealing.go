// Package sealing decides for whom the messages of an encrypted inbox are encrypted, and encrypts
// received and sent messages. It does not know how inboxes run, how messages are sent, or the
// format of an envelope.
package sealing

import (
	"inboxd/actors/engine"
	"inboxd/internal/core/account"
	"inboxd/internal/core/idempotency"
	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/message"
	"inboxd/internal/mail/sealed"
)

// Store is the storage that sealing needs.
type Store interface {
	// RecipientOf returns an account's public key, or "" if it has none.
	RecipientOf(account.ID) (string, error)
	// MAC returns 32 bytes of data that no other data folder can compute.
	MAC(purpose string, data []byte) ([]byte, error)
	Encrypt(purpose string, secret []byte) ([]byte, error)
}

// Inboxes reports which inboxes are encrypted.
type Inboxes interface {
	// Encryption finds the account whose inbox lives at an address, and whether the inbox is
	// encrypted.
	Encryption(address string) (id account.ID, encrypted bool, err error)
}

// Sealer encrypts messages. It is immutable; any goroutine may use it.
type Sealer struct {
	store   Store
	inboxes Inboxes
}

// New returns a Sealer.
func New(store Store, inboxes Inboxes) *Sealer { return &Sealer{store, inboxes} }

// For returns the public key for a message to an address. It returns nil if the message is stored
// unencrypted, or if the address has no inbox. The caller calls it after it has received the whole
// message. The key is read from the disk, where a change is written before it is acknowledged. So a
// message that ends after the acknowledgement is encrypted for the new key.
func (s *Sealer) For(address string) (*sealed.Recipient, error) {
	id, encrypted, err := s.inboxes.Encryption(address)
	if err != nil {
		return nil, engine.Busy(err)
	}
	if !encrypted {
		return nil, nil
	}
	r, err := s.recipientOf(id)
	return &r, err
}

func (s *Sealer) recipientOf(id account.ID) (sealed.Recipient, error) {
	text, err := s.store.RecipientOf(id)
	if err != nil {
		return sealed.Recipient{}, engine.Busy(err)
	}
	return sealed.Stored(text)
}

// Keyed turns d into a keyed digest, which does not confirm a guess of the content.
func (s *Sealer) Keyed(d inbox.Digest) (inbox.Digest, error) {
	mac, err := s.store.MAC("mail", d[:])
	copy(d[:], mac)
	return d, err
}

// Request prepares a request for its record: for an encrypted inbox it replaces the digest by a
// keyed one.
func (s *Sealer) Request(address string, req idempotency.Request) (idempotency.Request, error) {
	_, encrypted, err := s.inboxes.Encryption(address)
	if err != nil {
		return req, engine.Busy(err)
	}
	if !encrypted || !req.Repeatable() {
		return req, nil
	}
	mac, err := s.store.MAC("request", req.Digest[:])
	copy(req.Digest[:], mac)
	return req, err
}

// Submit encrypts a composed message of an encrypted inbox: under its account's key for reading,
// and under the folder's key for the delivery attempts. For another inbox it changes nothing.
func (s *Sealer) Submit(view *inbox.View, mail inbox.Submit) (inbox.Submit, error) {
	if !view.Encrypted {
		return mail, nil
	}
	key, err := s.recipientOf(view.Account)
	if err != nil {
		return mail, err
	}
	envelopes, err := key.Mail(mail.Raw)
	if err != nil {
		return mail, err
	}
	queued, err := s.store.Encrypt(inbox.QueuePurpose(view.Address), mail.Raw)
	if err != nil {
		return mail, err
	}
	var doc message.Document
	message.ParseFacts(&doc, mail.Raw)
	return inbox.Submit{
		From: message.Mailbox{Email: mail.From.Email}, Content: &inbox.Content{Doc: sealed.Facts(&doc)},
		Raw: envelopes.Envelope, Recipients: mail.Recipients, Auto: mail.Auto, After: mail.After,
		Sealed: &inbox.Sealing{Size: int64(len(mail.Raw)), Files: envelopes.Files, Queued: queued},
	}, nil
}
