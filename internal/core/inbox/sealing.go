package inbox

import (
	"inboxd/internal/base/fault"
	"inboxd/internal/mail/sealed"
)

// In an encrypted inbox, every message is encrypted before a command brings it here. Its bytes are
// an envelope, and State, rows and events hold what may be unencrypted (specification, Encryption).
// Whether an inbox is encrypted is set at its creation and never changes.

// EncryptedState is the state of an encrypted message in addition to that of all messages. It never
// changes.
type EncryptedState struct {
	// RepeatDigest recognises a message that is offered again after a crash. It is keyed by the folder,
	// so that nobody can confirm a guessed message. It is zero if the same bytes may well be
	// another message.
	RepeatDigest MessageDigest
	MaxFileID    int // highest id of an attachment with an envelope
}

// EncryptedParts comes with the command of an encrypted message. Raw of the command is then the
// envelope, and its Content holds sealed.UnencryptedFacts.
type EncryptedParts struct {
	PlainSize      int64                 // of the unencrypted message
	EncryptedFiles []sealed.FileEnvelope // ascending by id
	// RepeatDigest is the keyed digest of a received message; Named means that it has a Message-ID.
	RepeatDigest MessageDigest
	HasMessageID bool
	// QueuedMessage is a sent message encrypted under the folder's key, for the delivery attempts.
	// It is removed when the status is final.
	QueuedMessage []byte
}

// storedState returns the part that the message stores; nil for nil.
func (s *EncryptedParts) storedState() *EncryptedState {
	if s == nil {
		return nil
	}
	kept := &EncryptedState{}
	if s.HasMessageID {
		kept.RepeatDigest = s.RepeatDigest
	}
	if n := len(s.EncryptedFiles); n > 0 {
		kept.MaxFileID = s.EncryptedFiles[n-1].ID
	}
	return kept
}

// checkInbox refuses an unencrypted message for an encrypted inbox, and the reverse: the address was
// deleted and created again since the command was made. A retry makes the right command.
func (s *EncryptedParts) checkInbox(state *State) error {
	if (s != nil) == state.Encrypted {
		return nil
	}
	return fault.New(fault.TemporarilyUnavailable, "This inbox was created again while the message was being received, try again")
}

// countedSize is the size that a message counts for. It is the size before encryption.
func (s *EncryptedParts) countedSize(raw []byte) int64 {
	if s == nil {
		return int64(len(raw))
	}
	return s.PlainSize
}

// ExtraBytes is the number of bytes stored in addition to the envelope.
func (s *EncryptedParts) ExtraBytes() (n int64) {
	if s == nil {
		return 0
	}
	for i := range s.EncryptedFiles {
		n += int64(len(s.EncryptedFiles[i].Envelope))
	}
	return n + int64(len(s.QueuedMessage))
}

// QueuePurpose binds a queued message under the folder's key to its inbox, so that a row copied to
// another inbox cannot be decrypted.
func QueuePurpose(address string) string { return "queue " + address }
