package inbox

import (
	"inboxd/internal/base/fault"
	"inboxd/internal/mail/sealed"
)

// In an encrypted inbox, every message is encrypted before a command brings it here. Its bytes are
// an envelope, and State, rows and events hold what may be unencrypted (specification, Encryption).
// Whether an inbox is encrypted is set at its creation and never changes.

// Sealed is the state of an encrypted message in addition to that of all messages. It never
// changes.
type Sealed struct {
	// Repeat recognises a message that is offered again after a crash. It is keyed by the folder,
	// so that nobody can confirm a guessed message. It is zero if the same bytes may well be
	// another message.
	Repeat Digest
	Files  int // highest id of an attachment with an envelope
}

// Sealing comes with the command of an encrypted message. Raw of the command is then the envelope,
// and its Content holds sealed.Facts.
type Sealing struct {
	Size  int64         // of the unencrypted message
	Files []sealed.File // ascending by id
	// Repeat is the keyed digest of a received message; Named means that it has a Message-ID.
	Repeat Digest
	Named  bool
	// Queued is a sent message encrypted under the folder's key, for the delivery attempts. It is
	// removed when the status is final.
	Queued []byte
}

// sealed returns the part that the message stores; nil for nil.
func (s *Sealing) sealed() *Sealed {
	if s == nil {
		return nil
	}
	kept := &Sealed{}
	if s.Named {
		kept.Repeat = s.Repeat
	}
	if n := len(s.Files); n > 0 {
		kept.Files = s.Files[n-1].ID
	}
	return kept
}

// check refuses an unencrypted message for an encrypted inbox, and the reverse: the address was
// deleted and created again since the command was made. A retry makes the right command.
func (s *Sealing) check(state *State) error {
	if (s != nil) == state.Encrypted {
		return nil
	}
	return fault.New(fault.Unavailable, "This inbox was created again while the message was being received, try again")
}

// sized is the size that a message counts for. It is the size before encryption.
func (s *Sealing) sized(raw []byte) int64 {
	if s == nil {
		return int64(len(raw))
	}
	return s.Size
}

// Beside is the number of bytes stored in addition to the envelope.
func (s *Sealing) Beside() (n int64) {
	if s == nil {
		return 0
	}
	for i := range s.Files {
		n += int64(len(s.Files[i].Envelope))
	}
	return n + int64(len(s.Queued))
}

// QueuePurpose binds a queued message under the folder's key to its inbox, so that a row copied to
// another inbox cannot be decrypted.
func QueuePurpose(address string) string { return "queue " + address }
