package domain

import (
	"fmt"
	"strings"

	"golang.org/x/net/publicsuffix"

	"inboxd/internal/base/address"
	"inboxd/internal/base/fault"
)

// maxName leaves room for a prefix of 64 and the @ in an address of 254 (RFC 5321 section
// 4.5.3.1.3).
const maxName = address.MaxLength - address.MaxLocal - len("@")

// Fold returns the one form a domain is stored and looked up by: address.Domain's of what
// may end in a dot. False means that it is no domain name of two labels or more.
func Fold(given string) (string, bool) {
	name, ok := address.Domain(strings.TrimSuffix(given, "."))
	if !ok || len(name) > maxName || !strings.Contains(name, ".") || address.EndsInNumber(name) {
		return "", false
	}
	return name, true
}

// Parse is Fold for what a request holds: Invalid when it is no domain name.
func Parse(given string) (string, error) {
	name, ok := Fold(given)
	if !ok {
		return "", fault.Field("domain", "must be a domain name such as example.com, at most %d characters in its ASCII form", maxName)
	}
	return name, nil
}

// Claimable folds given and says whether an account may claim it: Invalid when it is no
// domain name, Refused for the service's own names and for names under which anybody may
// register.
func Claimable(given, service string) (string, error) {
	name, err := Parse(given)
	if err != nil {
		return "", err
	}
	if Within(name, service) {
		return "", fault.New(fault.Refused, fmt.Sprintf("The domain %s belongs to this service", name))
	}
	if suffix, _ := publicsuffix.PublicSuffix(name); suffix == name {
		return "", fault.New(fault.Refused, fmt.Sprintf("%s is a public suffix, under which anybody may register; it can't be one account's domain", name))
	}
	return name, nil
}

// Within reports whether name is parent or lies below it.
func Within(name, parent string) bool {
	return name == parent || strings.HasSuffix(name, "."+parent)
}
