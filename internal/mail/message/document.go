// Package message reads RFC 5322 mail into a Document: text, HTML, the text a person
// would see, headers, attachments within the receiving limits, and links. It refuses to
// know who receives the mail, what a code is, the disk and the network; its input is one
// byte slice, its output a value that is valid UTF-8 throughout, whatever was on the wire.
// Compose goes the other way: a Draft becomes the bytes that are signed and sent.
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

// Header is one header field as received: Value is unfolded and decoded (RFC 2047),
// Name keeps the sender's spelling.
type Header struct {
	Name  string
	Value string
}

// Attachment is the metadata of one file carried by a message (specification, Attachments). Its
// bytes stay in the raw message and are cut out on demand by AttachmentBytes or FindAttachment.
type Attachment struct {
	ID          int    // from 1, in the order of the parts; those that are not recorded count
	Filename    string // base name only, never a path
	ContentType string // type/subtype, lower-case
	Size        int64  // decoded bytes, as far as they were counted
	Truncated   bool   // a receiving limit was exceeded: the file can't be downloaded
	ContentID   string // without angle brackets: HTML refers to it as cid:; empty when there is none
}

// Document is what is read out of one received message. It never changes after Parse. The
// strings of the header share memory: clone one that must outlive the rest.
type Document struct {
	Subject     string
	From        Mailbox
	To          []Mailbox
	Cc          []Mailbox
	ReplyTo     []Mailbox
	Date        time.Time // header Date in UTC; zero when absent or unreadable
	MessageID   string    // without angle brackets
	InReplyTo   string    // without angle brackets
	References  []string  // without angle brackets
	Headers     []Header  // every field, in wire order
	Text        string    // the text part, or the readable text of the HTML (TextFromHTML); lines end in LF
	HTML        string    // empty when there is none; lines end in LF
	HasHTML     bool
	Attachments []Attachment
	Links       []string // every http(s) URL, in order, without doubles

	// AttachmentsOmitted is how many files more there are than Attachments holds.
	AttachmentsOmitted int

	TextFromHTML bool // Text was made of HTML
	TextCut      bool // Text was cut at MaxText
	LinksCut     bool // there were more than Links holds
	HiddenText   bool // the HTML draws text so that nobody sees it; Text, Links and codes are without it
	Degraded     bool // something could not be read; what could be is here
}

// HeaderValues returns the values of every field called name (in any case), in wire order.
func (d *Document) HeaderValues(name string) []string {
	var values []string
	for _, h := range d.Headers {
		if strings.EqualFold(h.Name, name) {
			values = append(values, h.Value)
		}
	}
	return values
}
