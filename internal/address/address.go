// Package address is the one definition of an address: what an inbox is found by, whom mail
// is sent to, who may stand in an envelope, and which names are domains and hosts. It has
// one canonical form for each, so that two spellings never are two inboxes. It refuses to
// know which addresses exist, what a prefix may hold and how an address came here: escapes
// are undone by the edge that has them, once. ADR 0033 says what was chosen and why.
package address

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Lengths in octets, RFC 5321 section 4.5.3.1.
const (
	MaxLocal  = 64
	MaxLength = 254
)

// Inbox returns the one form that an inbox is stored and looked up by: a plain dot-atom in
// lower case and NFC at a domain as Domain gives it. There are no quotes, source routes,
// %-hacks, bang paths, literals or control bytes in it. A tag is kept, see WithoutTag. False
// means that it can't be an inbox's.
func Inbox(s string) (string, bool) {
	if len(s) > MaxLength {
		return "", false
	}
	local, domain := Split(s)
	if !IsDotAtom(local) || strings.ContainsAny(local, "%!") {
		return "", false
	}
	domain, ok := Domain(domain)
	if !ok {
		return "", false
	}
	local = Fold(local)
	if !fits(local, domain) || !IsDotAtom(local) {
		return "", false
	}
	return local + "@" + domain, true
}

// Fold gives a local part that may be spelt in several ways its one form: lower case, NFC.
func Fold(local string) string { return norm.NFC.String(strings.ToLower(local)) }

// fits is asked of the canonical form too: folding can lengthen a local part, and A-labels
// are longer than what they stand for.
func fits(local, domain string) bool {
	return len(local) <= MaxLocal && len(local)+1+len(domain) <= MaxLength
}

// Recipient returns the form in which mail is sent to an address: its local part, a dot-atom
// of any script (RFC 6531), as it was given, for its case is the receiver's; its domain as
// Domain gives it. The error ends a sentence that begins with "An address".
func Recipient(s string) (string, error) {
	if len(s) > MaxLength {
		return "", fmt.Errorf("that is too long (%d characters). The limit is %d characters", utf8.RuneCountInString(s), MaxLength)
	}
	local, name := Split(s)
	if len(local) > MaxLocal || !IsDotAtom(local) {
		return "", errForm
	}
	domain, ok := Domain(name)
	if !ok || EndsInNumber(domain) {
		return "", errDomain
	}
	if !fits(local, domain) {
		return "", errLongInASCII
	}
	return local + "@" + domain, nil
}

var (
	errForm        = errors.New("that is not of the form name@domain")
	errDomain      = errors.New("without a valid domain")
	errLongInASCII = errors.New("that is too long once its domain is in ASCII")
)

// Sender returns the form of an envelope's sender, to whom we only answer: any mailbox of
// RFC 5321 section 4.1.2. The local part keeps its case and may be a quoted string, with %
// and !; the domain is a host as Host gives it, or an address literal.
func Sender(s string) (string, bool) {
	local, domain := Split(s)
	if !IsDotAtom(local) && !isQuoted(local) {
		return "", false
	}
	ok := isLiteral(domain)
	if !ok {
		domain, ok = Host(domain)
	}
	if !ok || len(s) > MaxLength || !fits(local, domain) {
		return "", false
	}
	return local + "@" + domain, true
}

// Split cuts at the last @, the one that counts (RFC 5321 section 2.3.11: what stands before
// it is the receiver's). Without one, all is domain.
func Split(s string) (local, domain string) {
	at := strings.LastIndexByte(s, '@')
	return s[:max(at, 0)], s[at+1:]
}

// DomainOf is the part behind the last @.
func DomainOf(s string) string {
	_, domain := Split(s)
	return domain
}

// WithoutTag maps user+tag@host to user@host.
func WithoutTag(s string) string {
	at := strings.LastIndexByte(s, '@')
	plus := strings.IndexByte(s, '+')
	if plus <= 0 || plus > at {
		return s
	}
	return s[:plus] + s[at:]
}

// IsDotAtom allows atext and single inner dots (RFC 5322 section 3.2.3), above ASCII the
// visible characters only: an address never holds a blank or a direction override.
func IsDotAtom(s string) bool {
	prev := '.'
	for _, r := range s {
		if r == '.' && prev == '.' || r != '.' && !isAtext(r) {
			return false
		}
		prev = r
	}
	return prev != '.'
}

func isAtext(r rune) bool {
	switch {
	case r >= utf8.RuneSelf:
		return unicode.IsGraphic(r) && !unicode.IsSpace(r) && r != utf8.RuneError
	case isLetterDigit(byte(r)):
		return true
	}
	return strings.IndexByte("!#$%&'*+-/=?^_`{|}~", byte(r)) >= 0
}

// isQuoted reports a quoted string of printable ASCII, RFC 5321 section 4.1.2.
func isQuoted(s string) bool {
	if len(s) < 3 || s[0] != '"' || s[len(s)-1] != '"' {
		return false
	}
	inner := s[1 : len(s)-1]
	for i := 0; i < len(inner); i++ {
		if inner[i] == '\\' {
			i++
		} else if inner[i] == '"' {
			return false
		}
		if i == len(inner) || inner[i] < ' ' || inner[i] > '~' {
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
