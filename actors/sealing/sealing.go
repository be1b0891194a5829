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
	// ComputeMAC returns 32 bytes of data that no other data folder can compute.
	ComputeMAC(purpose string, data []byte) ([]byte, error)
	EncryptSecret(purpose string, secret []byte) ([]byte, error)
}

// EncryptionReader reports which inboxes are encrypted.
type EncryptionReader interface {
	// InboxEncryption finds the account whose inbox lives at an address, and whether the inbox is
	// encrypted.
	InboxEncryption(address string) (id account.ID, encrypted bool, err error)
}

// MessageSealer encrypts messages. It is immutable; any goroutine may use it.
type MessageSealer struct {
	store   Store
	inboxes EncryptionReader
}

// New returns a MessageSealer.
func New(store Store, inboxes EncryptionReader) *MessageSealer { return &MessageSealer{store, inboxes} }

// RecipientFor returns the public key for a message to an address. It returns nil if the message is
// stored unencrypted, or if the address has no inbox. The caller calls it after it has received the
// whole message. The key is read from the disk, where a change is written before it is
// acknowledged. So a message that ends after the acknowledgement is encrypted for the new key.
func (s *MessageSealer) RecipientFor(address string) (*sealed.RecipientKey, error) {
	id, encrypted, err := s.inboxes.InboxEncryption(address)
	if err != nil {
		return nil, engine.BusyError(err)
	}
	if !encrypted {
		return nil, nil
	}
	r, err := s.recipientOf(id)
	return &r, err
}

func (s *MessageSealer) recipientOf(id account.ID) (sealed.RecipientKey, error) {
	text, err := s.store.RecipientOf(id)
	if err != nil {
		return sealed.RecipientKey{}, engine.BusyError(err)
	}
	return sealed.ParseStored(text)
}

// KeyedDigest turns d into a keyed digest, which does not confirm a guess of the content.
func (s *MessageSealer) KeyedDigest(d inbox.MessageDigest) (inbox.MessageDigest, error) {
	mac, err := s.store.ComputeMAC("mail", d[:])
	copy(d[:], mac)
	return d, err
}

// KeyedRequest prepares a request for its record: for an encrypted inbox it replaces the digest by a
// keyed one.
func (s *MessageSealer) KeyedRequest(address string, req idempotency.Request) (idempotency.Request, error) {
	_, encrypted, err := s.inboxes.InboxEncryption(address)
	if err != nil {
		return req, engine.BusyError(err)
	}
	if !encrypted || !req.IsRepeatable() {
		return req, nil
	}
	mac, err := s.store.ComputeMAC("request", req.Digest[:])
	copy(req.Digest[:], mac)
	return req, err
}

// SealSubmit encrypts a composed message of an encrypted inbox: under its account's key for reading,
// and under the folder's key for the delivery attempts. For another inbox it changes nothing.
func (s *MessageSealer) SealSubmit(view *inbox.View, mail inbox.Submit) (inbox.Submit, error) {
	if !view.Encrypted {
		return mail, nil
	}
	key, err := s.recipientOf(view.Account)
	if err != nil {
		return mail, err
	}
	envelopes, err := key.SealMessage(mail.Raw)
	if err != nil {
		return mail, err
	}
	queued, err := s.store.EncryptSecret(inbox.QueuePurpose(view.Address), mail.Raw)
	if err != nil {
		return mail, err
	}
	var doc message.ParsedMessage
	message.ParseFacts(&doc, mail.Raw)
	return inbox.Submit{
		From: message.Mailbox{Email: mail.From.Email}, Content: &inbox.Content{Doc: sealed.UnencryptedFacts(&doc)},
		Raw: envelopes.Envelope, Recipients: mail.Recipients, ServiceWritten: mail.ServiceWritten, AfterPosition: mail.AfterPosition,
		EncryptedParts: &inbox.EncryptedParts{PlainSize: int64(len(mail.Raw)), EncryptedFiles: envelopes.Files, QueuedMessage: queued},
	}, nil
}
