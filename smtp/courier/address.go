package courier

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"inboxd/internal/fault"
)

// Lengths in octets, RFC 5321 section 4.5.3.1.
const (
	maxLocalPart = 64
	maxAddress   = 254
	maxDomain    = 253
	maxLabel     = 63
)

// canonicalSender checks the address of a MAIL command. It is more patient than Canonical,
// for we only write to it: the local part keeps its case and may be a quoted string, with
// % and !; the domain may be an address literal.
func canonicalSender(addr string, smtputf8 bool) (string, error) {
	local, domain, err := splitAddress(addr, smtputf8)
	if err != nil {
		return "", err
	}
	if !isDotAtom(local) && !isQuoted(local) {
		return "", errAddress
	}
	if isLiteral(domain) {
		return local + "@" + domain, nil
	}
	if domain, err = canonicalDomain(domain); err != nil {
		return "", err
	}
	return local + "@" + domain, nil
}

var (
	errAddress    = fault.New(fault.Invalid, "Not an address that mail can be sent to")
	errNotASCII   = fault.New(fault.Invalid, "Address is not ASCII and SMTPUTF8 was not asked for")
	errNotUnicode = fault.New(fault.Invalid, "Address is not valid UTF-8")
)

// splitAddress cuts at the last @ and checks what holds for every address.
func splitAddress(addr string, smtputf8 bool) (local, domain string, err error) {
	if len(addr) > maxAddress {
		return "", "", errAddress
	}
	if !isASCII(addr) {
		if !smtputf8 {
			return "", "", errNotASCII
		}
		if !utf8.ValidString(addr) {
			return "", "", errNotUnicode
		}
	}
	at := strings.LastIndexByte(addr, '@')
	if at < 1 || at > maxLocalPart || at == len(addr)-1 {
		return "", "", errAddress
	}
	return addr[:at], addr[at+1:], nil
}

// isDotAtom allows atext and single inner dots (RFC 5322 section 3.2.3), above ASCII the
// visible characters only: an address never holds a blank or a direction override.
func isDotAtom(s string) bool {
	prev := '.'
	for _, r := range s {
		switch {
		case r == '.' && prev == '.':
			return false
		case r == '.', r < utf8.RuneSelf && isAtext(byte(r)):
		case r < utf8.RuneSelf, !unicode.IsGraphic(r), unicode.IsSpace(r), r == utf8.RuneError:
			return false
		}
		prev = r
	}
	return prev != '.'
}

func isAtext(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		strings.IndexByte("!#$%&'*+-/=?^_`{|}~", c) >= 0
}

// isQuoted reports a quoted string of printable ASCII, RFC 5321 section 4.1.2.
func isQuoted(s string) bool {
	if len(s) < 3 || s[0] != '"' || s[len(s)-1] != '"' {
		return false
	}
	for i := 1; i < len(s)-1; i++ {
		if s[i] == '\\' {
			i++
		} else if s[i] == '"' {
			return false
		}
		if i == len(s)-1 || s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// isLiteral reports something of the shape [1.2.3.4] or [IPv6:::1].
func isLiteral(s string) bool {
	if len(s) < 3 || s[0] != '[' || s[len(s)-1] != ']' {
		return false
	}
	for _, c := range []byte(s[1 : len(s)-1]) {
		if !isLetterDigit(c) && c != '.' && c != ':' {
			return false
		}
	}
	return true
}

// canonicalDomain returns the domain in lower case and A-labels.
func canonicalDomain(domain string) (string, error) {
	lower := strings.ToLower(domain)
	if !isASCII(domain) || strings.Contains(lower, "xn--") {
		var err error
		if lower, err = idna.Lookup.ToASCII(domain); err != nil {
			return "", errAddress
		}
	}
	if !isHostname(lower) {
		return "", errAddress
	}
	return lower, nil
}

// isHostname allows letters, digits, inner hyphens and, because private networks have
// them, underscores, in labels of 1 to 63.
func isHostname(s string) bool {
	if len(s) > maxDomain {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > maxLabel || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, c := range []byte(label) {
			if !isLetterDigit(c) && c != '-' && c != '_' {
				return false
			}
		}
	}
	return true
}

func isLetterDigit(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
