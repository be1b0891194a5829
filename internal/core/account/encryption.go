package account

import (
	"fmt"

	"inboxd/internal/base/fault"
)

// An account has at most one public key, which messages for its encrypted inboxes are encrypted to
// (specification, Encryption). This package treats the key as text and does not know its format.

// Commands of an account's encryption.
type (
	// SetRecipient sets the account's public key for messages from now on. PasswordHash is the hash
	// that the password was checked against, empty if none was given. Replacing a key requires it.
	SetRecipient struct{ Recipient, PasswordHash string }
	// DropRecipient removes the key, unless a live encrypted inbox needs it. PasswordHash is as for
	// SetRecipient.
	DropRecipient struct{ PasswordHash string }
)

type recipientSet struct{ EncryptionState }

// EncryptedCount is the number of the account's encrypted inboxes, live and reserved.
func (s *State) EncryptedCount() int64 {
	return s.Encryption.EncryptedInboxes + encryptedReservations(s.ReservedInboxes)
}

// EncryptedCount is State.EncryptedCount.
func (u *QuotaUsage) EncryptedCount() int64 {
	return u.Profile.Encryption.EncryptedInboxes + encryptedReservations(u.ReservedInboxes)
}

func encryptedReservations(reserved map[string]InboxReservation) (n int64) {
	for _, r := range reserved {
		if r.Encrypted {
			n++
		}
	}
	return n
}

func (c SetRecipient) decideEvents(s *State, env Env) ([]Event, error) {
	if s.Encryption.PublicKey == c.Recipient {
		return nil, nil
	}
	if err := s.mayChangeKey(c.PasswordHash); err != nil {
		return nil, err
	}
	return []Event{recipientSet{EncryptionState{PublicKey: c.Recipient, SetAt: env.Now}}}, nil
}

// mayChangeKey requires the password before a key is replaced or deleted, because a session alone
// may be stolen.
func (s *State) mayChangeKey(passwordHash string) error {
	switch {
	case s.Encryption.PublicKey == "" || passwordHash == s.PasswordHash:
		return nil
	case passwordHash == "":
		return fault.InvalidField("password", "is required to change or delete the current key")
	}
	return BadPassword()
}

func (c DropRecipient) decideEvents(s *State, _ Env) ([]Event, error) {
	if err := s.mayChangeKey(c.PasswordHash); err != nil {
		return nil, err
	}
	if n := s.EncryptedCount(); n > 0 {
		return nil, fault.Refuse(fault.CodeInUse, "The public key is in use by %s. Delete them first", encryptedInboxes(n))
	}
	if s.Encryption.PublicKey == "" {
		return nil, nil
	}
	return []Event{recipientSet{}}, nil
}

func encryptedInboxes(n int64) string {
	if n == 1 {
		return "1 encrypted inbox"
	}
	return fmt.Sprintf("%d encrypted inboxes", n)
}

// checkEncrypted refuses an encrypted inbox if the account has no key to encrypt to.
func (s *State) checkEncrypted(wanted bool) error {
	if wanted && s.Encryption.PublicKey == "" {
		return fault.New(fault.Refused, "This account has no encryption key yet. Set up encryption in the dashboard first")
	}
	return nil
}

func (e recipientSet) applyTo(s *State) {
	s.Encryption.PublicKey, s.Encryption.SetAt = e.PublicKey, e.SetAt
}
func (e recipientSet) collectRows(s *State, r *Rows) { r.writeProfile(s) }

func (s *State) countEncrypted(encrypted bool, by int64) {
	if encrypted {
		s.Encryption.EncryptedInboxes += by
	}
}
