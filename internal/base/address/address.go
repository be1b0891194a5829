// Package address defines addresses in one place: the lookup form of an inbox, recipients, envelope
// senders, and which names are domains and hosts. It has one canonical form for each, so that two
// spellings are never two inboxes. It does not know which addresses exist, what a prefix may
// contain, and how an address was transmitted: the protocol's edge decodes its escapes once. ADR
// 0033 records the choices and reasons.
package address

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Lengths in octets, RFC 5321 section 4.5.3.1. Every server must accept local parts of 64 octets;
// other mailboxes may have longer ones.
const (
	MaxLocal  = 64 // of an inbox, without its tag
	MaxLength = 254
)

// CanonicalInbox returns the form in which an inbox is stored and looked up: a plain dot-atom in
// lower case and NFC, at a domain in the form of CanonicalDomain. It contains no quotes, source
// routes, %-hacks, bang paths, literals or control bytes. A tag is kept, see WithoutTag, and may be
// longer than a prefix. False means that it cannot be an inbox's address.
func CanonicalInbox(s string) (string, bool) {
	if len(s) > MaxLength {
		return "", false
	}
	local, domain := Split(s)
	local = unquoteLocal(local)
	if !IsDotAtom(local) || strings.ContainsAny(local, "%!") {
		return "", false
	}
	domain, ok := CanonicalDomain(domain)
	if !ok {
		return "", false
	}
	local = FoldLocal(local)
	canonical := local + "@" + domain
	prefix, _ := Split(WithoutTag(canonical))
	if len(prefix) > MaxLocal || len(canonical) > MaxLength || !IsDotAtom(local) {
		return "", false
	}
	return canonical, true
}

// FoldLocal returns the canonical form of a local part: lower case, NFC.
func FoldLocal(local string) string { return norm.NFC.String(strings.ToLower(local)) }

// fitsLimits is also applied to the canonical form, because folding can lengthen a local part, and
// A-labels are longer than their Unicode form.
func fitsLimits(local, domain string) bool {
	return len(local)+1+len(domain) <= MaxLength
}

// CanonicalRecipient returns the form in which messages are sent to an address. Its local part, of
// any script (RFC 6531), is unchanged, because its case matters to the receiver, but unnecessary
// quotes are removed. Its domain has the form of CanonicalDomain. Dots may be anywhere in the local
// part, because some carriers assigned such mailboxes. The error ends a sentence that begins with
// "An address".
func CanonicalRecipient(s string) (string, error) {
	if len(s) > MaxLength {
		return "", fmt.Errorf("that is too long (%d characters). The limit is %d characters", utf8.RuneCountInString(s), MaxLength)
	}
	local, name := Split(s)
	if local = unquoteLocal(local); !isAtoms(local) {
		return "", errForm
	}
	domain, ok := CanonicalDomain(name)
	if !ok || EndsInNumber(domain) {
		return "", errDomain
	}
	if !fitsLimits(local, domain) {
		return "", errLongInASCII
	}
	return local + "@" + domain, nil
}

var (
	errForm        = errors.New("that is not of the form name@domain")
	errDomain      = errors.New("without a valid domain")
	errLongInASCII = errors.New("that is too long once its domain is in ASCII")
)

// CanonicalSender returns the form of an envelope sender, to whom we only reply: any mailbox of RFC
// 5321 section 4.1.2, and the local parts that CanonicalRecipient allows. The local part keeps its
// case and may be a quoted string that needs its quotes, with % and !. The domain is a host in the
// form of CanonicalHost, or an address literal.
func CanonicalSender(s string) (string, bool) {
	local, domain := Split(s)
	if local = unquoteLocal(local); !isAtoms(local) && !isQuoted(local) {
		return "", false
	}
	ok := isLiteral(domain)
	if !ok {
		domain, ok = CanonicalHost(domain)
	}
	if !ok || len(s) > MaxLength || !fitsLimits(local, domain) {
		return "", false
	}
	return local + "@" + domain, true
}

// WireForm returns the form of a mailbox in an SMTP command and in a header field. A local part that
// is neither a dot-atom nor quoted, such as one that ends in a dot, is quoted.
func WireForm(mailbox string) string {
	local, domain := Split(mailbox)
	if local == "" || local[0] == '"' || IsDotAtom(local) {
		return mailbox
	}
	return `"` + local + `"@` + domain
}

// unquoteLocal returns the plain form of a quoted local part that needs no quotes, which is equivalent
// (RFC 5321 section 4.1.2), and any other unchanged.
func unquoteLocal(local string) string {
	if !isQuoted(local) {
		return local
	}
	plain := local[1 : len(local)-1]
	if strings.IndexByte(plain, '\\') >= 0 {
		var b strings.Builder
		for i := 0; i < len(plain); i++ {
			if plain[i] == '\\' {
				i++
			}
			b.WriteByte(plain[i])
		}
		plain = b.String()
	}
	if isAtoms(plain) {
		return plain
	}
	return local
}

// Split splits at the last @, the one that counts (RFC 5321 section 2.3.11: the receiver interprets
// the part before it). Without an @, everything is the domain.
func Split(s string) (local, domain string) {
	at := strings.LastIndexByte(s, '@')
	return s[:max(at, 0)], s[at+1:]
}

// DomainOf is the part after the last @.
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

// IsDotAtom allows atext and single inner dots (RFC 5322 section 3.2.3), and above ASCII only
// visible characters: an address never contains whitespace or a direction override.
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

// isAtoms is IsDotAtom, but the dots may be anywhere.
func isAtoms(s string) bool {
	atoms := false
	for _, r := range s {
		if r != '.' && !isAtext(r) {
			return false
		}
		atoms = atoms || r != '.'
	}
	return atoms
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

// isQuoted reports whether local is a quoted string of printable ASCII and of the characters that
// isAtext allows beyond it, RFC 5321 section 4.1.2 and RFC 6531 section 3.3.
func isQuoted(s string) bool {
	if len(s) < 3 || s[0] != '"' || s[len(s)-1] != '"' {
		return false
	}
	escaped := false
	for _, r := range s[1 : len(s)-1] {
		beyond := r >= 0x7f && !isAtext(r)
		if r < ' ' || beyond || r == '"' && !escaped {
			return false
		}
		escaped = r == '\\' && !escaped
	}
	return !escaped
}

// isLiteral reports whether s has the form [1.2.3.4] or [IPv6:::1].
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
