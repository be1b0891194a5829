package account

import (
	"net/mail"
	"strings"

	"inboxd/internal/fault"
)

// CanonicalEmail checks a sign-in address and returns the one form it is stored and looked
// up by: trimmed and lower-cased.
func CanonicalEmail(s string) (string, error) {
	s = strings.ToLower(strings.TrimSpace(s))
	if len(s) > 254 || !isAddress(s) {
		return "", fault.New(fault.Invalid, "Invalid request: 'email' is not a valid e-mail address")
	}
	return s, nil
}

// isAddress accepts a bare addr-spec (RFC 5322 section 3.4.1) whose domain has a dot.
func isAddress(s string) bool {
	a, err := mail.ParseAddress(s)
	return err == nil && a.Address == s && strings.Contains(s[strings.LastIndexByte(s, '@')+1:], ".")
}
