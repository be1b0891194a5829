// Package compose writes messages: a Draft becomes the bytes that are signed and sent, in a form
// that package message parses back unchanged. It does not know who may send, what signs, and the
// envelope, blind copies included.
package compose

import (
	"bytes"
	"strings"
	"time"

	"inboxd/internal/mail/message"
)

// Draft is a message to be written. It has no Bcc, because only the envelope contains those
// recipients.
type Draft struct {
	From    message.Mailbox
	To, Cc  []message.Mailbox
	Subject string
	Text    string // line ends of any kind
	HTML    string // empty for a message with text only

	Attachments []File
	Calendar    *CalendarPart // an alternative to Text and HTML; nil for none

	MessageID  string   // without angle brackets
	InReplyTo  string   // without angle brackets; empty if it is not a reply
	References []string // those of the original message, oldest first, without brackets
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

// Write returns the message (RFC 5322, 2045–2049, 2231; RFC 6532 only for addresses whose local
// part is not ASCII). The same Draft always gives the same bytes: only CRLF line endings, no NUL,
// ASCII except for RFC 6532, no line over 998 octets, and none over 78 that can be folded. A body
// ends with a line ending even if its text does not. The error names an invalid address; everything
// else is repaired.
func Write(d Draft) ([]byte, error) {
	h := headerWriter{out: make([]byte, 0, d.roughSize())}
	if err := h.top(d); err != nil {
		return nil, err
	}
	b := builder{out: h.out, seed: d.Seed}
	b.write(d.layout())
	return b.out, nil
}

// ReplyReferences returns the Draft.References of a reply to a message with these fields (RFC 5322
// section 3.6.4): its own References, or else its In-Reply-To.
func ReplyReferences(references []string, inReplyTo string) []string {
	if len(references) == 0 && inReplyTo != "" {
		return []string{inReplyTo}
	}
	return references
}

// roughSize estimates the octets of the message, so that its buffer rarely has to grow.
func (d Draft) roughSize() int {
	n := 2<<10 + len(d.Text)*5/4 + len(d.HTML)*5/4
	for _, f := range d.Attachments {
		n += 512 + len(f.Bytes)*11/8
	}
	return n
}

// layout arranges the parts: alternatives of one content, then the files next to it.
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
// order mark at its start is not text.
func sendable(text string) []byte {
	b := message.NormalizeLines([]byte(strings.ToValidUTF8(text, "\uFFFD")))
	b = bytes.TrimLeft(b, "\ufeff") // behind what NormalizeLines takes away
	if len(b) > 0 && !bytes.HasSuffix(b, []byte("\n")) {
		b = append(b, '\n')
	}
	return b
}
