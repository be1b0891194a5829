// Package compose writes mail: a Draft becomes the bytes that are signed and sent, in words
// that package message reads back as they were meant. It refuses to know who may send, what
// signs, and the envelope, blind copies included.
package compose

import (
	"bytes"
	"strings"
	"time"

	"inboxd/internal/mail/message"
)

// Draft is a mail to be written. Bcc has no place in it: those recipients are known to the
// envelope alone.
type Draft struct {
	From    message.Mailbox
	To, Cc  []message.Mailbox
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

// Write returns the mail (RFC 5322, 2045–2049, 2231; RFC 6532 only for addresses whose
// local part is not ASCII). The same Draft always gives the same bytes: CRLF line ends
// alone, no NUL, and but for RFC 6532 nothing outside of ASCII, no line over 998 octets, none
// over 78 where it can be folded. A body ends with a line end even if its text does not. The
// error says which address can't be written; everything else is made fit to be.
func Write(d Draft) ([]byte, error) {
	h := headerWriter{out: make([]byte, 0, d.roughSize())}
	if err := h.top(d); err != nil {
		return nil, err
	}
	b := builder{out: h.out, seed: d.Seed}
	b.write(d.layout())
	return b.out, nil
}

// ReplyReferences returns the Draft.References of an answer to a mail with these fields
// (RFC 5322 section 3.6.4): its own References, or for want of them what it answered.
func ReplyReferences(references []string, inReplyTo string) []string {
	if len(references) == 0 && inReplyTo != "" {
		return []string{inReplyTo}
	}
	return references
}

// roughSize guesses at the octets of the mail, so that it is seldom moved while it grows.
func (d Draft) roughSize() int {
	n := 2<<10 + len(d.Text)*5/4 + len(d.HTML)*5/4
	for _, f := range d.Attachments {
		n += 512 + len(f.Bytes)*11/8
	}
	return n
}

// layout arranges the parts: alternatives of one content, then the files beside it.
func (d Draft) layout() node {
	var forms []node
	if d.Text != "" || d.HTML == "" {
		forms = append(forms, textNode("text/plain", d.Text))
	}
	if d.HTML != "" {
		forms = append(forms, textNode("text/html", d.HTML))
	}
	if c := d.Calendar; c != nil {
		n := textNode("text/calendar", c.Text)
		if message.IsToken(c.Method) {
			n.params = append(n.params, "method="+strings.ToUpper(c.Method))
		}
		forms = append(forms, n)
	}
	top := forms[0]
	if len(forms) > 1 {
		top = node{mediaType: "multipart/alternative", parts: forms}
	}
	if len(d.Attachments) == 0 {
		return top
	}
	mixed := node{mediaType: "multipart/mixed", parts: []node{top}}
	for _, f := range d.Attachments {
		mixed.parts = append(mixed.parts, fileNode(f))
	}
	return mixed
}

// sendable makes text of any kind valid UTF-8 with LF line ends and one at its end. A byte
// order mark at its start is no text.
func sendable(text string) []byte {
	b := message.NormalizeLines([]byte(strings.ToValidUTF8(text, "\uFFFD")))
	b = bytes.TrimLeft(b, "\ufeff") // behind what NormalizeLines takes away
	if len(b) > 0 && !bytes.HasSuffix(b, []byte("\n")) {
		b = append(b, '\n')
	}
	return b
}
