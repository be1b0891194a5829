package inbox

import (
	"inboxd/internal/base/fault"
	"inboxd/internal/mail/sealed"
)

// In an encrypted inbox every message is sealed before a command brings it here: its bytes are an
// envelope, and State, rows and events hold what may be told in the clear (specification,
// Encryption). An inbox is encrypted from its creation or never.

// Sealed is what is known of a sealed message beside what is known of all. It never changes.
type Sealed struct {
	// Repeat recognises the mail when it is offered again after a crash, keyed by the folder so that
	// nobody who guesses the mail can tell; zero when its bytes alone may well be another mail.
	Repeat Digest
	Files  int // highest id of an attachment that has an envelope
}

// Sealing is what a command brings with a message that is sealed: Raw of the command is the envelope
// then, and its Content holds sealed.Facts.
type Sealing struct {
	Size  int64         // of the message in the clear
	Files []sealed.File // ascending by id
	// Repeat is the keyed digest of a received mail; Named says that it has a Message-ID.
	Repeat Digest
	Named  bool
	// Queued is a sent mail itself, under the folder's key, for the attempts to deliver it. It goes when
	// the status is final.
	Queued []byte
}

// sealed is what the message keeps; nil of nil.
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

// check refuses a message in the clear to an encrypted inbox, and the other way round: the address
// was deleted and created anew since the command was made. Trying again makes another one.
func (s *Sealing) check(state *State) error {
	if (s != nil) == state.Encrypted {
		return nil
	}
	return fault.New(fault.Unavailable, "This inbox was created anew while the mail was on its way, try again")
}

// sized is how many bytes a message counts for: sealing makes it no larger.
func (s *Sealing) sized(raw []byte) int64 {
	if s == nil {
		return int64(len(raw))
	}
	return s.Size
}

// Beside is how many bytes come with the envelope.
func (s *Sealing) Beside() (n int64) {
	if s == nil {
		return 0
	}
	for i := range s.Files {
		n += int64(len(s.Files[i].Envelope))
	}
	return n + int64(len(s.Queued))
}

// QueuePurpose ties what waits in the mail queue under the folder's key to its inbox: a row copied
// to another one can't be read.
func QueuePurpose(address string) string { return "queue " + address }
