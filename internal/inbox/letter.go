package inbox

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"inboxd/internal/account"
	"inboxd/internal/delivery"
	"inboxd/internal/fault"
	"inboxd/internal/message"
)

// Letter is what a client asks to send (specification, Sending). Addresses are as CheckRecipient
// returns them, InReplyTo is without angle brackets.
type Letter struct {
	To        string
	Cc, Bcc   []string
	Subject   string
	Text      string
	HTML      string
	Files     []message.File
	InReplyTo string
}

// To is a recipient that nothing was tried for.
func To(email string) Recipient { return Recipient{Recipient: delivery.Recipient{Email: email}} }

// Recipients lists everybody who gets the letter, each once; who is named in the header is
// no blind copy.
func (l *Letter) Recipients() []Recipient {
	var out []Recipient
	add := func(email string, bcc bool) {
		if !slices.ContainsFunc(out, func(r Recipient) bool { return strings.EqualFold(r.Email, email) }) {
			r := To(email)
			r.Bcc = bcc
			out = append(out, r)
		}
	}
	add(l.To, false)
	for _, email := range l.Cc {
		add(email, false)
	}
	for _, email := range l.Bcc {
		add(email, true)
	}
	return out
}

// Count is what the letter's account must allow.
func (l *Letter) Count() account.CountSend {
	c := account.CountSend{Recipients: 1 + len(l.Cc) + len(l.Bcc), Files: len(l.Files)}
	for _, f := range l.Files {
		c.FileBytes += int64(len(f.Bytes))
	}
	return c
}

// Lengths in octets, RFC 5321 section 4.5.3.1.
const (
	maxLocalPart = 64
	maxAddress   = 254
)

// CheckRecipient returns the form in which mail is sent to an address: its local part as
// given, its domain lower-case and in A-labels. It takes a dot-atom at a domain, outside of
// ASCII too (RFC 6531); the error is a fault.Invalid that names the field it came from.
func CheckRecipient(field, email string) (string, error) {
	bad := func(why string) (string, error) {
		return "", fault.New(fault.Invalid, "Invalid request: '"+field+"' "+why)
	}
	if n := utf8.RuneCountInString(email); n > maxAddress || len(email) > maxAddress {
		return bad(fmt.Sprintf("holds an e-mail address that is too long (%d characters). The limit is %d characters", n, maxAddress))
	}
	at := strings.LastIndexByte(email, '@')
	if at < 1 || at > maxLocalPart || !isDotAtom(email[:at]) {
		return bad("holds an e-mail address that is not of the form name@domain")
	}
	domain, err := idna.Lookup.ToASCII(strings.ToLower(email[at+1:]))
	if err != nil || !isHostname(domain) || isNumber(domain[strings.LastIndexByte(domain, '.')+1:]) {
		return bad("holds an e-mail address without a valid domain")
	}
	if at+1+len(domain) > maxAddress {
		return bad("holds an e-mail address that is too long once its domain is in ASCII")
	}
	return email[:at+1] + domain, nil
}

// isDotAtom allows atext and single inner dots (RFC 5322 section 3.2.3), above ASCII the
// visible characters only.
func isDotAtom(s string) bool {
	prev := '.'
	for _, r := range s {
		switch {
		case r == '.' && prev == '.':
			return false
		case r == '.', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("!#$%&'*+-/=?^_`{|}~", r):
		case r < utf8.RuneSelf, !unicode.IsGraphic(r), unicode.IsSpace(r), r == utf8.RuneError:
			return false
		}
		prev = r
	}
	return prev != '.'
}

// isNumber tells the last label of an IP address from that of a name (RFC 3696 section 2).
func isNumber(label string) bool { return strings.Trim(label, "0123456789") == "" }

// isHostname allows labels of letters, digits, inner hyphens and underscores.
func isHostname(s string) bool {
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		if strings.IndexFunc(label, func(r rune) bool { return r == '.' || notPrefixRune(r) }) >= 0 {
			return false
		}
	}
	return true
}
