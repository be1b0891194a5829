package account

import (
	"strings"

	"inboxd/internal/base/address"
	"inboxd/internal/base/fault"
)

// CanonicalEmail checks a sign-in address and returns the form in which it is stored and looked up:
// trimmed, in lower case and NFC. The address must accept messages, because links are sent to it,
// and its domain must contain a dot.
func CanonicalEmail(s string) (string, error) {
	local, domain := address.Split(strings.TrimSpace(s))
	email, err := address.CanonicalRecipient(address.FoldLocal(local) + "@" + domain)
	if err != nil || !strings.Contains(address.DomainOf(email), ".") {
		return "", fault.InvalidField("email", "is not a valid e-mail address")
	}
	return email, nil
}
