// Package sealing says for whom the mail of an encrypted inbox is sealed, and seals what is received
// and what is sent. It refuses to know how inboxes run, how mail leaves, and what an envelope is made
// of.
package sealing

import (
	"inboxd/actors/engine"
	"inboxd/internal/core/account"
	"inboxd/internal/core/idempotency"
	"inboxd/internal/core/inbox"
	"inboxd/internal/mail/message"
	"inboxd/internal/mail/sealed"
)

// Store is what sealing needs of the disk.
type Store interface {
	// RecipientOf is an account's public key; empty: it has none.
	RecipientOf(account.ID) (string, error)
	// MAC makes 32 bytes of data that no other folder can make.
	MAC(purpose string, data []byte) ([]byte, error)
	Encrypt(purpose string, secret []byte) ([]byte, error)
}

// Inboxes tells which inboxes are encrypted.
type Inboxes interface {
	// Encryption finds whose inbox lives at an address, and whether it is encrypted.
	Encryption(address string) (id account.ID, encrypted bool, err error)
}

// Sealer seals. It never changes; any goroutine may use it.
type Sealer struct {
	store   Store
	inboxes Inboxes
}

// New returns a Sealer.
func New(store Store, inboxes Inboxes) *Sealer { return &Sealer{store, inboxes} }

// For is who mail that ends now is sealed for at an address; nil: it is kept in the clear, or nobody
// lives there. The key is read after the mail has ended and from the disk, where a change is before it
// is answered: a mail that ends behind the answer is sealed for the new key.
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

// Keyed is a digest that tells nothing to who can guess what d is of.
func (s *Sealer) Keyed(d inbox.Digest) (inbox.Digest, error) {
	mac, err := s.store.MAC("mail", d[:])
	copy(d[:], mac)
	return d, err
}

// Request is a request about an inbox as its record may know it: of an encrypted one by a keyed digest.
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

// Submit seals a composed mail of an encrypted inbox: for its account's key to be read, and under the
// folder's key for the attempts to deliver it. Of another inbox it is as it was.
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
