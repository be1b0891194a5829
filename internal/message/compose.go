package message

import (
	"errors"
	"time"
)

// Draft is a mail to be written. Bcc has no place in it: those recipients are known to the
// envelope alone.
type Draft struct {
	From    Mailbox
	To, Cc  []Mailbox
	Subject string
	Text    string // line ends of any kind
	HTML    string // empty for a mail of text alone

	Attachments []File
	Calendar    *CalendarPart // an alternative to Text and HTML; nil for none

	MessageID  string   // without angle brackets
	InReplyTo  string   // without angle brackets; empty when nothing is answered
	References []string // those of the mail that is answered, oldest first, without brackets
	Date       time.Time
	Auto       bool     // Auto-Submitted: auto-generated (RFC 3834 section 5)
	Seed       [16]byte // boundaries are made of it
}

// File is one attachment to be written.
type File struct {
	Filename    string
	ContentType string // type/subtype; empty or unreadable means application/octet-stream
	Bytes       []byte
}

// CalendarPart is an iTIP message (RFC 6047).
type CalendarPart struct {
	Method string // REQUEST, REPLY, CANCEL
	Text   string // the whole iCalendar object
}

// Compose writes the mail (RFC 5322, 2045–2049, 2231; RFC 6532 only for addresses whose
// local part is not ASCII). The same Draft always gives the same bytes: CRLF line ends
// alone, no NUL, and but for RFC 6532 nothing outside of ASCII, no line over 998 octets, none
// over 78 where it can be folded. An error is a fault.Invalid about an address.
func Compose(d Draft) ([]byte, error) { return nil, errors.New("message: not composed yet") }

// NeedsUTF8 reports whether a mail to this address needs SMTPUTF8 (RFC 6531): its local part
// is not ASCII. A domain alone never does, it has A-labels.
func NeedsUTF8(address string) bool { return false }
