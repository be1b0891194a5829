package domain

import (
	"strings"

	"golang.org/x/net/publicsuffix"

	"inboxd/internal/base/address"
	"inboxd/internal/base/fault"
)

// maxName leaves room for a local part of 64 and the @ in an address of 254 (RFC 5321 section
// 4.5.3.1.3).
const maxName = address.MaxLength - address.MaxLocal - len("@")

// FoldName returns the form in which a domain is stored and looked up: that of
// address.CanonicalDomain, without a final dot. False means that given is not a domain name of at
// least two labels.
func FoldName(given string) (string, bool) {
	name, ok := address.CanonicalDomain(strings.TrimSuffix(given, "."))
	if !ok || len(name) > maxName || !strings.Contains(name, ".") || address.EndsInNumber(name) {
		return "", false
	}
	return name, true
}

// ParseName is FoldName for a request. It returns Invalid if given is not a domain name.
func ParseName(given string) (string, error) {
	name, ok := FoldName(given)
	if !ok {
		return "", fault.InvalidField("domain", "must be a domain name such as example.com, at most %d characters in its ASCII form", maxName)
	}
	return name, nil
}

// Claimable folds given and checks whether an account may claim it. It returns Invalid if given is
// not a domain name, and Refused for the service's own names and for public suffixes.
func Claimable(given, service string) (string, error) {
	name, err := ParseName(given)
	if err != nil {
		return "", err
	}
	if IsWithin(name, service) {
		return "", fault.RefuseField("domain", fault.CodeAddressTaken, "The domain %s belongs to this service", name)
	}
	if suffix, _ := publicsuffix.PublicSuffix(name); suffix == name {
		return "", fault.RefuseField("domain", fault.CodeAddressTaken, "%s is a public suffix, so it cannot belong to one account. Claim a domain under it", name)
	}
	return name, nil
}

// IsWithin reports whether name is parent or a subdomain of it.
func IsWithin(name, parent string) bool {
	return name == parent || strings.HasSuffix(name, "."+parent)
}
