package address

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

const (
	MaxName  = 253 // octets of a name, RFC 1035 section 2.3.4; also of the input
	maxLabel = 63
)

// CanonicalHost returns the canonical form of a name from a stranger that DNS may contain: lower case,
// A-labels, no final dot. Its labels contain letters, digits, inner hyphens and underscores,
// because such names exist. It may be the text of an IPv4 address.
func CanonicalHost(s string) (string, bool) {
	name, ok := toASCII(s)
	if !ok || len(name) > MaxName {
		return "", false
	}
	for label := range strings.SplitSeq(name, ".") {
		if !isLabel(label) || strings.HasPrefix(label, "xn--") && !isALabel(label) {
			return "", false
		}
	}
	return name, true
}

// CanonicalDomain returns the canonical form of a domain that people may register and messages are
// sent to. It is CanonicalHost without underscores, and with two hyphens in third and fourth place
// only in A-labels (RFC 5891 section 4.2.3.1).
func CanonicalDomain(s string) (string, bool) {
	name, ok := CanonicalHost(s)
	if !ok || strings.IndexByte(name, '_') >= 0 {
		return "", false
	}
	for label := range strings.SplitSeq(name, ".") {
		if len(label) > 3 && label[2:4] == "--" && label[:2] != "xn" {
			return "", false
		}
	}
	return name, true
}

// EndsInNumber reports whether name may be read as an IPv4 address, such as 127.1 or 0x7f.1. No
// top-level domain begins with a digit (RFC 3696 section 2).
func EndsInNumber(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	return last != "" && isDigit(last[0])
}

// toASCII limits its input, because the time of IDNA is quadratic in the length.
func toASCII(s string) (string, bool) {
	switch {
	case len(s) > MaxName:
		return "", false
	case IsASCII(s):
		return strings.ToLower(s), true
	case !utf8.ValidString(s):
		return "", false // IDNA would replace it by U+FFFD
	}
	name, err := idna.Lookup.ToASCII(s)
	return name, err == nil
}

func isLabel(s string) bool {
	if s == "" || len(s) > maxLabel || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !isLetterDigit(c) && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// isALabel reports whether an encoded label stands for a name, and not for a shorter one: IDNA maps
// xn--inbox- to inbox.
func isALabel(label string) bool {
	again, err := idna.Lookup.ToASCII(label)
	return err == nil && again == label
}

// IsASCII reports whether a text has no bytes above 127.
func IsASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func isLetterDigit(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool       { return c >= '0' && c <= '9' }
