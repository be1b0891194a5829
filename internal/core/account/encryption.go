package account

import (
	"fmt"

	"inboxd/internal/base/fault"
)

// An account has one public key, or none, that mail for its encrypted inboxes is sealed for
// (specification, Encryption). What a key may look like is known elsewhere: here it is text.

// Commands of an account's encryption.
type (
	// SetRecipient makes a public key the account's, for what comes from now on. PasswordHash is what the
	// password was checked against, empty when none was shown: a key that is set changes only with it.
	SetRecipient struct{ Recipient, PasswordHash string }
	// DropRecipient takes it away, when no encrypted inbox lives that would need it. PasswordHash is as
	// for SetRecipient.
	DropRecipient struct{ PasswordHash string }
)

type recipientSet struct{ Encryption }

// Encrypted is how many of the account's inboxes are encrypted, live and reserved ones.
func (s *State) Encrypted() int64 { return s.Encryption.Inboxes + encrypted(s.Reserved) }

// Encrypted is State.Encrypted.
func (u *Usage) Encrypted() int64 { return u.Profile.Encryption.Inboxes + encrypted(u.Reserved) }

func encrypted(reserved map[string]Reservation) (n int64) {
	for _, r := range reserved {
		if r.Encrypted {
			n++
		}
	}
	return n
}

func (c SetRecipient) decide(s *State, env Env) ([]Event, error) {
	if s.Encryption.Recipient == c.Recipient {
		return nil, nil
	}
	if err := s.mayChangeKey(c.PasswordHash); err != nil {
		return nil, err
	}
	return []Event{recipientSet{Encryption{Recipient: c.Recipient, SetAt: env.Now}}}, nil
}

// mayChangeKey asks for the password before a key that is set changes: a session alone may be somebody
// else's.
func (s *State) mayChangeKey(passwordHash string) error {
	switch {
	case s.Encryption.Recipient == "" || passwordHash == s.PasswordHash:
		return nil
	case passwordHash == "":
		return fault.Field("password", "is required to change or delete the key that is set")
	}
	return BadPassword()
}

func (c DropRecipient) decide(s *State, _ Env) ([]Event, error) {
	if err := s.mayChangeKey(c.PasswordHash); err != nil {
		return nil, err
	}
	if n := s.Encrypted(); n > 0 {
		return nil, fault.New(fault.Refused, fmt.Sprintf("The public key is in use by %s. Delete them first", encryptedInboxes(n)))
	}
	if s.Encryption.Recipient == "" {
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

// checkEncrypted refuses an encrypted inbox that nobody could be sealed for.
func (s *State) checkEncrypted(wanted bool) error {
	if wanted && s.Encryption.Recipient == "" {
		return fault.New(fault.Refused, "This account has no encryption key yet. Set up encryption in the dashboard first")
	}
	return nil
}

func (e recipientSet) apply(s *State) {
	s.Encryption.Recipient, s.Encryption.SetAt = e.Recipient, e.SetAt
}
func (e recipientSet) rows(s *State, r *Rows) { r.profile(s) }

func (s *State) countEncrypted(encrypted bool, by int64) {
	if encrypted {
		s.Encryption.Inboxes += by
	}
}
