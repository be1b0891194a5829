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
	a, err := mail.ParseAddress(s)
	if err != nil || a.Address != s || len(s) > 254 || !strings.Contains(s[strings.LastIndexByte(s, '@')+1:], ".") {
		return "", fault.New(fault.Invalid, "Invalid request: 'email' is not a valid e-mail address")
	}
	return s, nil
}
