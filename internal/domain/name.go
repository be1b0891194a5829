package domain

import (
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"

	"inboxd/internal/fault"
)

// maxName leaves room for a prefix of 64 and the @ in an address of 254 (RFC 5321 section
// 4.5.3.1.3).
const maxName = 254 - 64 - 1

// Fold returns the one form a domain is stored and looked up by: lower-case A-labels
// without a final dot. False means that it is no domain name of two labels or more.
func Fold(given string) (string, bool) {
	given = strings.TrimSuffix(given, ".")
	if _, err := netip.ParseAddr(strings.Trim(given, "[]")); err == nil {
		return "", false
	}
	name, err := idna.Lookup.ToASCII(strings.ToLower(given))
	dot := strings.LastIndexByte(name, '.')
	if err != nil || dot < 1 || len(name) > maxName {
		return "", false
	}
	if last := name[dot+1:]; strings.Trim(last, "0123456789") == "" {
		return "", false // read as part of an IPv4 address by many (RFC 3696 section 2)
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 {
			return "", false
		}
	}
	return name, true
}

// Parse is Fold for what a request holds: Invalid when it is no domain name.
func Parse(given string) (string, error) {
	name, ok := Fold(given)
	if !ok {
		return "", fault.New(fault.Invalid, fmt.Sprintf("Invalid request: 'domain' must be a domain name such as example.com, at most %d characters in its ASCII form", maxName))
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
