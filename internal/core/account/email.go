package account

import (
	"strings"

	"inboxd/internal/base/address"
	"inboxd/internal/base/fault"
)

// CanonicalEmail checks a sign-in address and returns the one form it is stored and looked
// up by: trimmed, in lower case and NFC. It is an address that mail can be sent to, for links
// go there, and its domain has a dot.
func CanonicalEmail(s string) (string, error) {
	local, domain := address.Split(strings.TrimSpace(s))
	email, err := address.Recipient(address.Fold(local) + "@" + domain)
	if err != nil || !strings.Contains(address.DomainOf(email), ".") {
		return "", fault.Field("email", "is not a valid e-mail address")
	}
	return email, nil
}
