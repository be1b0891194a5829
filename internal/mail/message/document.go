// Package message parses RFC 5322 messages into a ParsedMessage: text, HTML, the text that a person
// would see, headers, attachments within the receiving limits, and links. Its input is one byte
// slice; its output is always valid UTF-8, whatever was received. It does not know who receives the
// message, what a code is, the disk and the network. Package compose does the opposite: it makes
// the bytes that are signed and sent.
package message

import (
	"strings"
	"time"
)

// Mailbox is one address of a header field. Name is decoded and may be empty.
type Mailbox struct {
	Email string
	Name  string
}

// Header is one header field as received: Value is unfolded and decoded (RFC 2047), Name keeps the
// sender's spelling.
type Header struct {
	Name  string
	Value string
}

// Attachment is the metadata of one file in a message (specification, Attachments). Its bytes stay
// in the raw message, and AttachmentBytes or FindAttachment extract them on demand.
type Attachment struct {
	ID          int    // from 1, in the order of the parts; unlisted files count too
	Filename    string // base name only, never a path
	ContentType string // type/subtype, lower-case
	Size        int64  // decoded bytes, as far as they were counted
	Truncated   bool   // a receiving limit was exceeded: the file can't be downloaded
	ContentID   string // without angle brackets: HTML refers to it as cid:; may be empty
}

// ParsedMessage is the parsed form of one received message. It never changes after Parse. The
// strings of the header share memory: clone one that must outlive the rest.
type ParsedMessage struct {
	Subject     string
	From        Mailbox
	To          []Mailbox
	Cc          []Mailbox
	ReplyTo     []Mailbox
	Date        time.Time // header Date in UTC; zero if missing or invalid
	MessageID   string    // without angle brackets
	InReplyTo   string    // without angle brackets
	References  []string  // without angle brackets
	Headers     []Header  // every field, in wire order
	Text        string    // the text part, or the readable text of the HTML (TextFromHTML); lines end in LF
	HTML        string    // may be empty; lines end in LF
	HasHTML     bool
	Attachments []Attachment
	Links       []string // every http(s) URL, in order, without duplicates

	// AttachmentsOmitted is how many files are not in Attachments.
	AttachmentsOmitted int

	TextFromHTML bool // Text was made from HTML
	TextCut      bool // Text was cut at MaxText
	LinksCut     bool // some links did not fit into Links
	HiddenText   bool // the HTML contains invisible text, which Text, Links and codes do not include
	IsDegraded   bool // something could not be parsed; the rest is here
}

// HeaderValues returns the values of every field called name (in any case), in their order.
func (d *ParsedMessage) HeaderValues(name string) []string {
	var values []string
	for _, h := range d.Headers {
		if strings.EqualFold(h.Name, name) {
			values = append(values, h.Value)
		}
	}
	return values
}
